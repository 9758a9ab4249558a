"""The heatmap: content, tenancy, live updates, keyboard and screen reader."""

import re

import pytest
from playwright.sync_api import Page, expect
from support.boards import Board
from support.browsers import Visits, axe
from support.dashboards import IMAGE, SCRIPT, go, mark, sign_in, unchanged


def open_heatmap(page: Page, board: Board, token: str) -> None:
    """Sign in and open the heatmap."""
    sign_in(page, board.address, token)
    go(page, "heatmap", "Heatmap")


def spoken(page: Page) -> str:
    """Return the text of the selected cell for screen readers."""
    script = "() => document.activeElement.getAttribute('aria-activedescendant')"
    return page.locator(f"#{page.evaluate(script)}").inner_text()


def test_a_tenant_navigates_its_studies_and_sees_live_updates(board: Board, visits: Visits) -> None:
    ada, bob = board.tenant("ada"), board.tenant("bob")
    study = board.study(ada, SCRIPT, {IMAGE: 1.0, "tree": 2.0, "svm": 3.0})
    board.study(bob, "the secret of bob", {"hidden": 1.0})
    device = board.device("gpu")
    page = visits.open()
    open_heatmap(page, board, ada)
    summary = page.locator(".summary")
    expect(summary).to_contain_text("1 study by 3 models: 0 observed, 0 running, 0 failed, 3 untr")
    assert "bob" not in page.content()
    assert "hidden" not in page.locator("main").inner_text()

    mark(page)
    board.run(device, "gpu", lambda lease: 0.5 + 0.1 * (lease["model"] == "tree"))
    expect(summary).to_contain_text("3 observed, 0 running")
    expect(summary).to_contain_text("Observed score: 0.5000 to 0.6000")
    assert unchanged(page)

    grid = page.get_by_role("grid")
    expect(grid).to_have_attribute("aria-colcount", "3")
    page.keyboard.press("Tab")
    while not page.evaluate("document.activeElement.getAttribute('role') === 'grid'"):
        page.keyboard.press("Tab")
    assert spoken(page) == f"{SCRIPT}, {IMAGE}, observed 0.5000"
    page.keyboard.press("ArrowRight")
    assert spoken(page) == f"{SCRIPT}, tree, observed 0.6000"
    page.keyboard.press("End")
    assert spoken(page) == f"{SCRIPT}, svm, observed 0.5000"
    page.get_by_text("The selected study as a table").click()
    rows = page.get_by_role("region", name="Models of the selected study").locator("tbody tr")
    expect(rows.filter(has_text=IMAGE)).to_contain_text("0.5000")
    link = page.get_by_role("link", name=SCRIPT)
    expect(link).to_have_attribute("href", f"#/studies/{study}")
    assert axe(page) == []
    grid.press("Enter")
    expect(page).to_have_title(f"{SCRIPT} · Bentham")


def test_kinds_order_filter_and_zoom(board: Board, page: Page) -> None:
    tokens = [board.tenant(name) for name in ("ada", "bob")]
    for number in range(60):  # more than one page of rows
        board.study(tokens[number % 2], f"study-{number}", {"m": 1.0, f"only-{number % 3}": 1.0})
    open_heatmap(page, board, board.admin)
    summary = page.locator(".summary")
    expect(summary).to_contain_text("60 studies by 4 models")
    # Names are drawn on the canvas; the selected cell tells which row is where.
    grid = page.get_by_role("grid")

    def first() -> str:
        grid.focus()
        page.keyboard.press("Control+Home")
        return spoken(page)

    assert first().startswith("study-59 (bob)")
    page.get_by_label("Order").select_option("name")
    assert first().startswith("study-0 (ada)")
    page.get_by_label("Filter").fill("STUDY-41")
    expect(summary).to_contain_text("1 study by 2 models")
    page.get_by_label("Filter").fill("nobody")
    expect(page.get_by_text("No study matches")).to_be_visible()
    page.get_by_role("button", name="Show all").click()
    expect(summary).to_contain_text("60 studies by 4 models")
    for kind in ("Posterior mean", "Uncertainty", "EI rate alone"):
        page.get_by_role("button", name=kind).click()
        expect(summary).to_contain_text(re.compile(rf"{kind}: [\d.e-]+ to [\d.e-]+ for"))
    page.get_by_label("Colour scale per study").check()
    expect(page.locator(".heat-scale")).to_contain_text("each study's lowest")
    widths = []
    for name in ("Smaller cells", "Smaller cells", "Larger cells", "Fit to width"):
        page.get_by_role("button", name=name).click()
        widths.append(int(re.sub(r"\D", "", page.locator("#spoken").inner_text())))
    assert widths[1] < widths[0] == widths[2] < widths[3]


def test_one_metric_at_a_time(board: Board, page: Page) -> None:
    lab, gpu = board.tenant("lab"), board.device("gpu")
    scores = {"a": -3.0, "b": 0.5, "c": 0.75}
    for name, measured in (("a", "r2"), ("b", "accuracy"), ("c", "accuracy")):
        board.study(lab, name, ["m"], metric=measured)
    board.run(gpu, "gpu", lambda lease: scores[lease["study_name"]])
    open_heatmap(page, board, lab)
    summary, scale = page.locator(".summary"), page.locator(".heat-scale")
    metric = page.get_by_label("Metric")
    expect(metric.locator("option")).to_have_text(
        ["accuracy (2 studies)", "r2 (1 study)", "All metrics"]
    )
    expect(summary).to_contain_text("2 studies by 1 model")
    expect(summary).to_contain_text("0.5000 to 0.7500")
    metric.select_option("r2")
    expect(summary).to_contain_text("-3.0000 to -3.0000")
    metric.select_option("All metrics")
    expect(summary).to_contain_text("3 studies by 1 model")
    expect(scale).to_contain_text("each study's lowest")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_increase_with_values(board: Board, visits: Visits, scheme: str) -> None:
    """Larger values always contrast more with the background, in both themes."""
    ada = board.tenant("ada")
    board.study(ada, "s", {f"m{place}": 1.0 for place in range(4)})
    device = board.device("gpu")
    board.run(device, "gpu", lambda lease: 0.25 * int(lease["model"][1]))
    page = visits.open(color_scheme=scheme, viewport={"width": 1000, "height": 700})
    open_heatmap(page, board, ada)
    expect(page.locator(".summary")).to_contain_text("4 observed")
    lightness = page.evaluate(
        """async () => {
            await new Promise(requestAnimationFrame);
            await new Promise(requestAnimationFrame);
            const canvas = document.querySelector(".heat canvas");
            // Just below the upper edge of the cells of 60 pixels, above their values. The first
            // sample is left of the cells.
            const line = canvas.getContext("2d").getImageData(130, 108, 300, 1).data;
            return [0, 1, 2, 3, 4].map((place) => {
                const [red, green, blue] = line.slice(4 * (60 * place + 5));
                return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
            });
        }"""
    )
    background, *cells = lightness
    distances = [abs(cell - background) for cell in cells]
    assert distances == sorted(distances)
    assert distances[3] > distances[0] + 100


def test_an_empty_heatmap_says_what_to_do(board: Board, page: Page) -> None:
    open_heatmap(page, board, board.tenant("ada"))
    expect(page.get_by_text("No studies yet")).to_be_visible()
    expect(page.get_by_role("link", name="Create a study")).to_be_visible()
    assert axe(page) == []
