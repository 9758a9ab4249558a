"""Actions of a user on the dashboard."""

from playwright.sync_api import Locator, Page, expect

# Names that would be executed if they were parsed as markup.
SCRIPT = "<script>document.title='taken'</script>"
IMAGE = '"><img src=x onerror=document.title="taken">'


# The parts of a study's page.
PARTS = ("progress", "candidates", "model", "trials", "export", "about")


def sign_in(page: Page, address: str, token: str) -> None:
    """Open the dashboard and sign in."""
    page.goto(address)
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("navigation")).to_contain_text("Overview")


def go(page: Page, route: str, title: str) -> None:
    """Go to a page by its address and wait until it is displayed."""
    page.evaluate("route => { location.hash = `#/${route}`; }", route)
    expect(page).to_have_title(f"{title} · Bentham")
    expect(page.locator("main .waiting")).to_have_count(0)


def tab(page: Page, name: str) -> None:
    """Show a tab of the page."""
    page.get_by_role("tab", name=name).click()


def mark(page: Page) -> None:
    """Mark the page, so that `unchanged` can tell whether it was reloaded."""
    page.evaluate("window.remembered = true")


def unchanged(page: Page) -> bool:
    """Whether the page was not reloaded since `mark`."""
    return bool(page.evaluate("window.remembered === true"))


def panel(page: Page, title: str) -> Locator:
    """A panel of the page, by its title."""
    return page.get_by_role("region", name=title, exact=True)


def tile(page: Page, name: str) -> Locator:
    """The value of a tile, by its name."""
    return page.locator(".tile").filter(has_text=name).locator(".value")
