"""Take the dashboard screenshots for the docs: each page, in light and dark mode, in two sizes.

    make screenshots

They show a real server after three busy hours (see `scene`). Their numbers vary slightly between
runs, because they depend on the current time. Takes about two minutes.
"""

import io
import logging
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import structlog
from find_browser import FLAGS, find_browser
from PIL import Image
from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright
from scene import TRAINED, Scene

FOLDER = Path(__file__).parent.parent / "docs" / "images" / "dashboard"
SIZES: dict[str, ViewportSize] = {
    "desktop": {"width": 1280, "height": 860},
    "phone": {"width": 390, "height": 844},
}
LONGEST = 1700  # maximum height in pixels
COLOURS = 192
TABLE = "rooms,area,district,heating,built,price\n" + "".join(
    f"{1 + row % 5},{38 + 7 * row % 97},{('north', 'south', 'west')[row % 3]},"
    f"{('gas', 'district', '', 'electric')[row % 4]},{1950 + row * 13 % 70},"
    f"{160 + row * 37 % 410}\n"
    for row in range(120)
)


def main() -> None:
    """Play the scene, open every page, and save the screenshots."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    FOLDER.mkdir(parents=True, exist_ok=True)
    scene = Scene()
    try:
        scene.play()
        with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
            table = Path(scratch) / "flats.csv"
            table.write_text(TABLE)
            browser = playwright.chromium.launch(executable_path=find_browser(), args=[*FLAGS])
            for name, token, route, ready in shots(scene, table):
                for size in SIZES:
                    for scheme in ("light", "dark"):
                        target = FOLDER / f"{name}-{size}-{scheme}.png"
                        take(
                            browser, scene.board.address, token, route, ready, size, scheme, target
                        )
                        print(f"{target.name}: {target.stat().st_size // 1000} KB", flush=True)
            browser.close()
    finally:
        scene.board.stop()


def shots(scene: Scene, table: Path) -> list[tuple[str, str, str, Callable[[Page], None]]]:
    """Return for each screenshot: name, token, route, and a function that waits until ready."""
    board, admin, tenant = scene.board, scene.board.admin, scene.tokens[TRAINED]
    studies: list[Any] = board.get("/v1/studies", query="state=open&limit=1000")["items"]
    study = max(studies, key=lambda each: each["trials"]["complete"] * (each["untried"] > 4))["id"]
    owned: list[Any] = board.get("/v1/studies", tenant, query="limit=1000")["items"]
    trained = next(each["id"] for each in owned if each["data"])
    dataset = board.get("/v1/datasets", tenant)["items"][0]["id"]
    decisions: list[Any] = board.get("/v1/decisions", query="limit=100")["items"]
    decision = max(decisions, key=lambda each: len(each["changes"]))["id"]
    return [
        ("sign-in", "", "", signing_in),
        ("overview", admin, "", wait_until_loaded),
        ("studies", admin, "studies", wait_until_loaded),
        ("study", admin, f"studies/{study}", wait_until_loaded),
        ("study-candidates", admin, f"studies/{study}/candidates", wait_until_loaded),
        ("study-model", tenant, f"studies/{trained}/model", wait_until_loaded),
        ("study-trials", admin, f"studies/{study}/trials", wait_until_loaded),
        ("study-about", admin, f"studies/{study}/about", wait_until_loaded),
        ("decision", admin, f"decisions/{decision}", wait_until_loaded),
        ("decisions", admin, "decisions", wait_until_loaded),
        ("heatmap", admin, "heatmap", wait_until_loaded),
        ("what-if", admin, "whatif", what_if),
        ("new-study", tenant, "new", lambda page: preview(page, table)),
        ("tenant", tenant, "", wait_until_loaded),
        ("datasets", admin, "datasets", wait_until_loaded),
        ("dataset", tenant, f"datasets/{dataset}", wait_until_loaded),
        ("devices", admin, "devices", wait_until_loaded),
        ("tenants", admin, "tenants", wait_until_loaded),
        ("tokens", admin, "tokens", wait_until_loaded),
    ]


def take(
    browser: Browser,
    address: str,
    token: str,
    route: str,
    ready: Callable[[Page], None],
    size: str,
    scheme: str,
    target: Path,
) -> None:
    """Save one screenshot, with few colours to keep the repository small."""
    viewport = SIZES[size]
    context = browser.new_context(
        viewport=viewport, color_scheme="dark" if scheme == "dark" else "light"
    )
    page = context.new_page()
    page.goto(address)
    if token:
        page.fill("#token", token)
        page.click("button[type=submit]")
        page.wait_for_selector("nav a")
        page.goto(f"{address}/#/{route}")
    ready(page)
    height = min(LONGEST, int(page.evaluate("document.documentElement.scrollHeight")))
    page.set_viewport_size({"width": viewport["width"], "height": max(height, viewport["height"])})
    page.wait_for_timeout(400)  # content that depends on the size is drawn in the next frames
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(target, optimize=True)
    context.close()


def signing_in(page: Page) -> None:
    """Wait for the sign-in page."""
    page.wait_for_selector("#token")


def wait_until_loaded(page: Page) -> None:
    """Wait until the page has loaded."""
    page.wait_for_selector("main h1")
    page.locator("main .waiting").wait_for(state="detached")
    page.wait_for_timeout(600)  # heatmap rows are loaded in pages


def what_if(page: Page) -> None:
    """Wait for a finished forecast; the first call starts it, later calls find it."""
    wait_until_loaded(page)
    if page.locator("main svg").count() == 0:
        page.get_by_role("button", name="Run").click()
        page.wait_for_selector("main svg")
    page.locator("main progress").wait_for(state="hidden", timeout=300_000)
    page.wait_for_timeout(600)


def preview(page: Page, table: Path) -> None:
    """Upload a table and wait for its columns."""
    wait_until_loaded(page)
    page.set_input_files("input[type=file]", table)
    page.wait_for_selector("main tbody tr td select")


if __name__ == "__main__":
    main()
