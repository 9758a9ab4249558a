"""A real Chromium for tests of the pages, which records errors in them.

`page` is a page in a new browser context; `visits.open()` opens one for another user. Errors in
the console, in scripts, of requests and of the content security policy fail the test at its end,
unless it called `visits.expect` or `visits.allow`.
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

# Chromium's console reports violations too, but not for every directive.
VIOLATIONS = """document.addEventListener("securitypolicyviolation", event => console.error(
    `content policy: ${event.violatedDirective} against ${event.blockedURI} ` +
    `at ${event.sourceFile}:${event.lineNumber}`))"""
SEVERE = ("serious", "critical")
PATIENCE = 20_000  # milliseconds
expect.set_options(timeout=PATIENCE)


class Visits:
    """The pages of a test, each in its own browser context, and the errors in them."""

    def __init__(self, browser: Browser):
        self._browser = browser
        self._contexts: list[BrowserContext] = []
        self._expected: list[str] = []
        self._allowed: list[str] = []
        self.errors: list[str] = []

    def open(self, **options: Any) -> Page:
        """Open a page in a new browser context; `options` are Playwright's context options."""
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
        """Expect an error with this text; the test fails if there is none."""
        self._expected.append(text)

    def allow(self, text: str) -> None:
        """Ignore errors with this text."""
        self._allowed.append(text)

    def close(self) -> None:
        """Close all pages."""
        for context in self._contexts:
            context.close()

    def check(self) -> None:
        """Assert that there were no errors other than those expected or allowed."""
        unexpected = [
            error
            for error in self.errors
            if not any(text in error for text in (*self._expected, *self._allowed))
        ]
        assert not unexpected, "in the browser:\n" + "\n".join(unexpected)
        for text in self._expected:
            assert any(text in error for error in self.errors), f"there was no {text!r}"

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            location = message.location
            position = f"{location['url']}:{location['lineNumber']}"
            self.errors.append(f"console {message.type}: {message.text} ({position})")

    def _on_error(self, error: WebError) -> None:
        self.errors.append(f"script: {error.error.stack or error.error}")

    def _on_request(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in ("data", "blob") and parts.hostname != "127.0.0.1":
            self.errors.append(f"left the machine: {request.method} {request.url}")

    def _on_failure(self, request: Request) -> None:
        # A request that the page aborted, or that was pending when the user left, did not fail.
        if request.failure != "net::ERR_ABORTED":
            self.errors.append(f"request: {request.method} {request.url}: {request.failure}")


def axe(page: Page) -> list[str]:
    """Return axe's serious and critical findings, with the elements concerned."""
    found = Axe().run(page).response["violations"]
    return [
        f"{each['id']} ({each['impact']}): {each['help']}: "
        + "; ".join(f"{node['target']} {node['html']}" for node in each["nodes"])
        for each in found
        if each["impact"] in SEVERE
    ]


class Chromium:
    """A browser that runs from the first test that needs one until the end of the session.

    Playwright's event loop counts as running in this thread while the browser runs. Between tests
    that use it, it is unset, so that other tests can run their own loops.
    """

    def __init__(self) -> None:
        self._playwright = sync_playwright().start()
        self._browser = self._playwright.chromium.launch(executable_path=find_browser(), args=FLAGS)
        self._loop = asyncio.get_running_loop()
        asyncio._set_running_loop(None)

    @contextmanager
    def in_use(self) -> Iterator[Browser]:
        """Yield the browser, with its loop set as the running one."""
        asyncio._set_running_loop(self._loop)
        try:
            yield self._browser
        finally:
            asyncio._set_running_loop(None)

    def close(self) -> None:
        """Close the browser."""
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
    """Pages, checked for errors at the end."""
    with chromium.in_use() as browser:
        opened = Visits(browser)
        try:
            yield opened
        finally:
            opened.close()
        opened.check()


@pytest.fixture
def page(visits: Visits) -> Page:
    """A page in a new browser context."""
    return visits.open()
