"""The test helpers: the browser records errors in a page, and a board serves it."""

import asyncio
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, Route
from support.boards import Board, wait_for
from support.browsers import Visits, axe

STRICT = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'"
DOCUMENT = "<!doctype html><html lang='en'><title>t</title><main><h1>t</h1>{}</main></html>"


def show(page: Page, inner: str, script: str = "") -> None:
    """Show a page with a script under a strict content security policy."""

    def fulfil(route: Route) -> None:
        path = urlsplit(route.request.url).path
        if path == "/":
            body, kind = DOCUMENT.format(inner), "text/html"
        elif path == "/own.js":
            body, kind = script, "text/javascript"
        else:
            route.abort("connectionrefused")
            return
        headers = {"content-security-policy": STRICT, "content-type": kind}
        route.fulfill(body=body, headers=headers)

    page.route("http://127.0.0.1:9/**", fulfil)
    page.goto("http://127.0.0.1:9/")


@pytest.mark.parametrize(
    ("inner", "script", "error"),
    [
        ("<script src='own.js'></script>", "console.error('oh')", "console error: oh"),
        ("<script src='own.js'></script>", "nothing.at.all", "nothing is not defined"),
        ("<script src='own.js'></script>", "fetch('http://127.0.0.1:9/x').catch(() => 0)",
         "request: GET http://127.0.0.1:9/x: net::ERR_"),
        ("<p style='color: red'>x</p>", "", "content policy: style-src"),
        ("<img alt='' src='x' onerror='alert(1)'>", "", "content policy: img-src"),
        ("<script src='https://example.com/x.js'></script>", "", "https://example.com/x.js"),
    ],
    ids=["console", "script", "request", "style", "image", "elsewhere"],
)  # fmt: skip
def test_errors_of_a_page_are_recorded(
    visits: Visits, page: Page, inner: str, script: str, error: str
) -> None:
    show(page, inner, script)
    wait_for(lambda: page.evaluate("1") and any(error in each for each in visits.errors))
    with pytest.raises(AssertionError, match="in the browser"):
        visits.check()
    for text in list(visits.errors):
        visits.expect(text)


def test_an_expected_error_must_occur(visits: Visits, page: Page) -> None:
    show(page, "<p>All is well</p>")
    visits.check()
    visits.expect("something")
    with pytest.raises(AssertionError, match="there was no 'something'"):
        visits.check()
    page.evaluate("console.error('something')")
    wait_for(lambda: page.evaluate("1") and visits.errors)


def test_axe_runs_under_a_strict_policy(page: Page) -> None:
    show(page, "<p>All is well</p>")
    assert axe(page) == []
    show(page, "<button></button>")
    assert [each.split(":")[0] for each in axe(page)] == ["button-name (critical)"]


@pytest.mark.outside
def test_other_event_loops_run_after_a_browser_test(request: pytest.FixtureRequest) -> None:
    """Playwright's loop is unset between tests, so the next test may run its own."""
    chromium = request.getfixturevalue("chromium")
    with chromium.in_use() as browser:
        visits = Visits(browser)
        assert visits.open().evaluate("6 * 7") == 42
        visits.close()
    assert asyncio.run(asyncio.sleep(0, "ran")) == "ran"


def test_a_board_serves_a_browser_and_restarts(board: Board, page: Page) -> None:
    lab = board.tenant("lab")
    study = board.study(lab, models={"svm": 1.0, "forest": 2.0})
    device = board.device("gpu-0")
    page.route("**/favicon.ico", lambda route: route.fulfill(status=204))
    page.goto(f"{board.address}/")
    count = """async token => {
        const answer = await fetch("/v1/trials", {headers: {authorization: `Bearer ${token}`}});
        return (await answer.json()).items.map(each => each.state);
    }"""
    assert page.evaluate(count, lab) == []
    leases = board.run(device, "gpu-0", lambda _: 0.5, limit=1)
    assert [lease["study"] for lease in leases] == [study]
    assert page.evaluate(count, lab) == ["complete"]
    board.stop()
    board.start()
    assert len(board.run(device, "gpu-0", lambda _: 0.5)) == 1
    assert page.evaluate(count, lab) == ["complete", "complete"]
