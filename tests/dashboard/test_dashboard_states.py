"""When there is no session, no connection, nothing there: the dashboard says so, and what to do."""

from playwright.sync_api import Page, expect
from support.boards import Board
from support.browsers import Visits
from support.dashboards import mark, sign_in, unchanged


def test_signing_in_and_out(board: Board, page: Page, visits: Visits) -> None:
    page.goto(board.address)
    token = page.get_by_label("Token")
    expect(token).to_be_focused()
    visits.expect("401 (Unauthorized)")
    visits.expect("403 (Forbidden)")
    for wrong, told in (
        ("bth_nonsense", "unknown"),
        (board.token("device"), "a device token cannot sign in"),
    ):
        token.fill(wrong)
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_contain_text(told)
    token.fill(board.admin)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    expect(page.locator("#pulse")).to_have_text("Live")
    page.reload()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_text("You have signed out.")).to_be_visible()
    page.reload()
    expect(page.get_by_label("Token")).to_be_visible()


def test_a_session_that_ended_elsewhere(board: Board, page: Page, visits: Visits) -> None:
    token = board.tenant("lab")
    sign_in(page, board.address, token)
    visits.expect("401 (Unauthorized)")
    board.request("DELETE", f"/v1/tokens/{token.split('_')[1]}").ok()
    expect(page.get_by_text("Your session has ended. Sign in again to continue.")).to_be_visible()
    expect(page.get_by_label("Token")).to_be_focused()


def test_a_server_that_goes_and_comes(board: Board, page: Page, visits: Visits) -> None:
    lab = board.tenant("lab")
    sign_in(page, board.address, lab)
    mark(page)
    visits.allow("ERR_")
    board.stop()
    expect(page.get_by_text("The connection was lost")).to_be_visible()
    expect(page.locator("#pulse")).to_have_text("Reconnecting")
    visits.expect("401 (Unauthorized)")
    visits.allow("503 (Service Unavailable)")
    board.start()
    # A server that was started again knows nobody: it says so instead of showing old things.
    expect(page.get_by_text("Your session has ended")).to_be_visible()
    page.get_by_label("Token").fill(lab)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    expect(page.locator("#pulse")).to_have_text("Live")
    assert unchanged(page)


def test_what_is_not_there(board: Board, page: Page, visits: Visits) -> None:
    sign_in(page, board.address, board.admin)
    visits.expect("404 (Not Found)")
    for route, told in (("studies/s_nothing", "Not found"), ("decisions/t_nothing", "Not found"),
                        ("nothing", "There is no such page")):  # fmt: skip
        page.evaluate("route => { location.hash = `#/${route}`; }", route)
        expect(page.get_by_role("alert")).to_contain_text(told)
    page.get_by_role("link", name="Go to the overview").click()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()


def test_by_keyboard_alone_and_in_the_dark(board: Board, page: Page) -> None:
    board.tenant("lab")
    sign_in(page, board.address, board.admin)
    page.reload()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to content")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    colours = "getComputedStyle(document.body.parentNode).backgroundColor"
    button = page.get_by_role("button", name="Colour theme")
    seen = []
    for _ in range(2):  # from what the system has to light, and to dark
        button.press("Enter")
        seen.append(page.evaluate(colours))
    assert seen[0] != seen[1]
    page.reload()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    assert page.evaluate(colours) == seen[1]


def test_a_cookie_alone_does_not_sign_in(board: Board, page: Page) -> None:
    sign_in(page, board.address, board.admin)
    page.evaluate("localStorage.clear()")
    page.reload()
    expect(page.get_by_text("Sign in again: this browser has lost the CSRF token")).to_be_visible()
    page.get_by_label("Token").fill(board.admin)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_text("You have signed out.")).to_be_visible()
