"""Without a session, a connection or content, the dashboard says so and what to do."""

from playwright.sync_api import Page, expect
from support.boards import Board
from support.browsers import Visits
from support.dashboards import mark, sign_in, unchanged, visit


def test_signing_in_and_out(board: Board, page: Page, visits: Visits) -> None:
    page.goto(board.address)
    token = page.get_by_label("Token")
    expect(token).to_be_focused()
    visits.expect("401 (Unauthorized)")
    visits.expect("403 (Forbidden)")
    for wrong, message in (
        ("bth_nonsense", "unknown"),
        (board.token("device"), "a device token cannot sign in"),
    ):
        token.fill(wrong)
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_contain_text(message)
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


def test_a_revoked_token_ends_the_session(board: Board, page: Page, visits: Visits) -> None:
    token = board.tenant("lab")
    sign_in(page, board.address, token)
    visits.expect("401 (Unauthorized)")
    board.request("DELETE", f"/v1/tokens/{token.split('_')[1]}").ok()
    expect(page.get_by_text("Your session has ended. Sign in again to continue.")).to_be_visible()
    expect(page.get_by_label("Token")).to_be_focused()


def test_a_server_that_restarts(board: Board, page: Page, visits: Visits) -> None:
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
    # Sessions do not survive a restart: the page asks to sign in instead of showing old data.
    expect(page.get_by_text("Your session has ended")).to_be_visible()
    page.get_by_label("Token").fill(lab)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    expect(page.locator("#pulse")).to_have_text("Live")
    assert unchanged(page)


def test_missing_pages(board: Board, page: Page, visits: Visits) -> None:
    sign_in(page, board.address, board.admin)
    visits.expect("404 (Not Found)")
    for route, message in (("studies/s_nothing", "Not found"), ("decisions/t_nothing", "Not found"),
                        ("nothing", "There is no such page")):  # fmt: skip
        visit(page, route)
        expect(page.get_by_role("alert")).to_contain_text(message)
    page.get_by_role("link", name="Go to the overview").click()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()


def test_keyboard_and_colour_theme(board: Board, page: Page) -> None:
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
    backgrounds = []
    for _ in range(2):  # from the system setting to light, then to dark
        button.press("Enter")
        backgrounds.append(page.evaluate(colours))
    assert backgrounds[0] != backgrounds[1]
    page.reload()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    assert page.evaluate(colours) == backgrounds[1]


def test_a_cookie_alone_does_not_sign_in(board: Board, page: Page) -> None:
    sign_in(page, board.address, board.admin)
    page.evaluate("localStorage.clear()")
    page.reload()
    expect(page.get_by_text("Sign in again: this browser has lost the CSRF token")).to_be_visible()
    page.get_by_label("Token").fill(board.admin)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_text("You have signed out.")).to_be_visible()
