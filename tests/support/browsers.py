"""A real Chromium for tests of the pages, which also sees whatever goes wrong in them.

`page` is a page in a browser's fresh context; `visits.open()` makes another, of somebody else.
Errors in the console, in scripts, of requests and of the content policy fail the test at its end,
unless it said by `visits.expect` that they would come.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from find_browser import FLAGS, find_browser
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Request,
    WebError,
    expect,
    sync_playwright,
)

# Chromium's console tells of it, too, but not for every directive.
VIOLATIONS = """document.addEventListener("securitypolicyviolation", event => console.error(
    `content policy: ${event.violatedDirective} against ${event.blockedURI} ` +
    `at ${event.sourceFile}:${event.lineNumber}`))"""
GRAVE = ("serious", "critical")
PATIENCE = 20_000  # milliseconds
expect.set_options(timeout=PATIENCE)


class Visits:
    """Pages of a test, each in a context of its own, and what went wrong in them."""

    def __init__(self, browser: Browser):
        self._browser = browser
        self._contexts: list[BrowserContext] = []
        self._expected: list[str] = []
        self._allowed: list[str] = []
        self.troubles: list[str] = []

    def open(self, **options: Any) -> Page:
        """A page of somebody who was never here; with Playwright's options of a context."""
        context = self._browser.new_context(**options)
        self._contexts.append(context)
        context.set_default_timeout(PATIENCE)
        context.add_init_script(VIOLATIONS)
        context.on("console", self._on_console)
        context.on("weberror", self._on_error)
        context.on("request", self._on_request)
        context.on("requestfailed", self._on_failure)
        return context.new_page()

    def expect(self, text: str) -> None:
        """Troubles with this text are meant to come; it fails the test if none does."""
        self._expected.append(text)

    def allow(self, text: str) -> None:
        """Troubles with this text may come."""
        self._allowed.append(text)

    def close(self) -> None:
        """Close all pages."""
        for context in self._contexts:
            context.close()

    def check(self) -> None:
        """Nothing went wrong but what was expected."""
        unexpected = [
            trouble
            for trouble in self.troubles
            if not any(text in trouble for text in (*self._expected, *self._allowed))
        ]
        assert not unexpected, "in the browser:\n" + "\n".join(unexpected)
        for text in self._expected:
            assert any(text in trouble for trouble in self.troubles), f"there was no {text!r}"

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            place = message.location
            where = f"{place['url']}:{place['lineNumber']}"
            self.troubles.append(f"console {message.type}: {message.text} ({where})")

    def _on_error(self, error: WebError) -> None:
        self.troubles.append(f"script: {error.error.stack or error.error}")

    def _on_request(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in ("data", "blob") and parts.hostname != "127.0.0.1":
            self.troubles.append(f"left the machine: {request.method} {request.url}")

    def _on_failure(self, request: Request) -> None:
        # What a page gave up itself, or left behind when it was left, did not fail.
        if request.failure != "net::ERR_ABORTED":
            self.troubles.append(f"request: {request.method} {request.url}: {request.failure}")


def axe(page: Page) -> list[str]:
    """What axe finds that is serious or critical, with the elements concerned."""
    found = Axe().run(page).response["violations"]
    return [
        f"{each['id']} ({each['impact']}): {each['help']}: "
        + "; ".join(f"{node['target']} {node['html']}" for node in each["nodes"])
        for each in found
        if each["impact"] in GRAVE
    ]


class Chromium:
    """A browser that runs from the first test that needs one until the last test of all.

    Playwright's event loop counts as running in this thread as long as it is there: between the
    tests that use it, it is set aside, so that others can have loops of their own.
    """

    def __init__(self) -> None:
        self._playwright = sync_playwright().start()
        self._browser = self._playwright.chromium.launch(executable_path=find_browser(), args=FLAGS)
        self._loop = asyncio.get_running_loop()
        asyncio._set_running_loop(None)

    @contextmanager
    def in_use(self) -> Iterator[Browser]:
        """The browser, and its loop as the one that runs."""
        asyncio._set_running_loop(self._loop)
        try:
            yield self._browser
        finally:
            asyncio._set_running_loop(None)

    def close(self) -> None:
        """End the browser."""
        asyncio._set_running_loop(self._loop)
        self._browser.close()
        self._playwright.stop()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    """One browser for all tests of this process."""
    started = Chromium()
    yield started
    started.close()


@pytest.fixture
def visits(chromium: Chromium) -> Iterator[Visits]:
    """Pages, checked for troubles at the end."""
    with chromium.in_use() as browser:
        made = Visits(browser)
        try:
            yield made
        finally:
            made.close()
        made.check()


@pytest.fixture
def page(visits: Visits) -> Page:
    """A page of somebody who was never here."""
    return visits.open()
