"""What tests do on the dashboard, as a person would."""

from playwright.sync_api import Locator, Page, expect

# Names that would be more than names if anybody took them for markup.
SCRIPT = "<script>document.title='taken'</script>"
IMAGE = '"><img src=x onerror=document.title="taken">'


def sign_in(page: Page, address: str, token: str) -> None:
    """Come to the page and sign in."""
    page.goto(address)
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("navigation")).to_contain_text("Overview")


def go(page: Page, route: str, title: str) -> None:
    """Go to a page by its address and wait until it shows itself."""
    page.evaluate("route => { location.hash = `#/${route}`; }", route)
    expect(page).to_have_title(f"{title} · Bentham")
    expect(page.locator("main .waiting")).to_have_count(0)


def mark(page: Page) -> None:
    """Remember the page as it is now: `unchanged` tells whether it was loaded again."""
    page.evaluate("window.remembered = true")


def unchanged(page: Page) -> bool:
    """Whether nothing was reloaded since."""
    return bool(page.evaluate("window.remembered === true"))


def panel(page: Page, title: str) -> Locator:
    """A part of a page by its title."""
    return page.get_by_role("region", name=title, exact=True)


def tile(page: Page, name: str) -> Locator:
    """What a tile says."""
    return page.locator(".tile").filter(has_text=name).locator(".value")
