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


def visit(page: Page, route: str) -> None:
    """Go to a page by its address, and wait until it is displayed instead of the one before."""
    # Pages have headings and messages in common, so what the page before shows is marked.
    page.evaluate(
        """route => {
            for (const each of document.querySelector("main").children) each.dataset.before = "";
            location.hash = `#/${route}`;
        }""",
        route,
    )
    expect(page.locator("main > [data-before]")).to_have_count(0)
    expect(page.locator("main .waiting")).to_have_count(0)
    expect(page.locator("main h1").first).to_be_visible()


def go(page: Page, route: str, title: str) -> None:
    """Go to a page by its address, and check its title."""
    visit(page, route)
    expect(page).to_have_title(f"{title} · Bentham")


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
