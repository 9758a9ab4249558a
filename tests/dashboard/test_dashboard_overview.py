"""The overview: live updates, text and tables for pictures, tenancy and empty states."""

import re

from playwright.sync_api import Page, expect
from support.boards import Board
from support.browsers import Visits, axe
from support.dashboards import IMAGE, PARTS, SCRIPT, mark, panel, sign_in, tile, unchanged, visit

MODELS = {SCRIPT: 1.0, IMAGE: 2.0, "plain": 3.0}


def test_it_updates_live(board: Board, page: Page) -> None:
    lab = board.tenant("lab", limits={"running_trials": 3})
    sign_in(page, board.address, board.admin)
    mark(page)
    expect(page.get_by_text("No device is present")).to_be_visible()
    expect(page.get_by_role("heading", name="No studies yet")).to_be_visible()
    board.study(lab, SCRIPT, MODELS)
    gpu = board.device("gpu")
    expect(page.get_by_text("No device is present")).to_have_count(0)
    expect(panel(page, "Tenants").get_by_role("row").nth(1)).to_contain_text("0 of 3")
    board.run(gpu, "gpu", lambda lease: MODELS[lease["model"]] / 4.0, limit=2)
    latest = panel(page, "Latest trials").get_by_role("row")
    expect(latest).to_have_count(3)
    expect(latest.nth(2)).to_contain_text(SCRIPT)
    expect(tile(page, "Trials ended")).to_have_text("2")
    expect(tile(page, "Devices busy")).to_have_text("0 / 1")
    last = board.lease(gpu)
    expect(tile(page, "Devices busy")).to_have_text("1 / 1")
    expect(
        page.get_by_text(re.compile("3 trials in the last .*: 1 running, 2 comp"))
    ).to_be_visible()
    board.report(gpu, last, "fail", reason=f"out of memory {IMAGE}", final=True).ok()
    expect(latest.nth(1)).to_contain_text("failed")
    assert page.title() == "Overview · Bentham"
    assert unchanged(page)


def test_pictures_have_text_tables_and_keyboard_control(board: Board, page: Page) -> None:
    lab, gpu = board.tenant("lab"), board.device("gpu")
    board.study(lab, SCRIPT, MODELS)
    leases = board.run(gpu, "gpu", lambda lease: MODELS[lease["model"]] / 4.0)
    sign_in(page, board.address, board.admin)
    trend = panel(page, "Mean regret over time")
    expect(trend.get_by_role("img")).to_have_accessible_name(re.compile("from their best|No study"))
    trend.get_by_text("As a table").click()
    expect(trend.get_by_role("columnheader", name="Round robin")).to_be_visible()
    devices = panel(page, "Devices")
    devices.get_by_text("As a table").click()
    expect(devices.locator("tbody tr")).to_have_count(3)
    canvas = devices.locator("canvas")
    canvas.focus()
    page.keyboard.press("ArrowRight")
    spoken = page.locator("#spoken")
    expect(spoken).to_contain_text("on gpu")
    expect(spoken).to_contain_text(leases[-1]["model"])
    page.keyboard.press("ArrowLeft")
    expect(spoken).to_contain_text(leases[-2]["model"])
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(leases[-2]["trial"]))


def test_a_tenant_sees_its_own(board: Board, visits: Visits) -> None:
    lab, rival, gpu = board.tenant("lab"), board.tenant("rival"), board.device("gpu")
    board.study(lab, "own", MODELS)
    board.study(rival, "theirs", MODELS)
    board.run(gpu, "gpu", lambda lease: MODELS[lease["model"]] / 4.0)
    page = visits.open()
    sign_in(page, board.address, lab)
    expect(panel(page, "Latest trials").get_by_role("row")).to_have_count(4)
    text = page.inner_text("body")
    assert "own" in text
    for hidden in ("theirs", "rival", "Round robin", "Decision time", "Share", "What if"):
        assert hidden not in text, hidden
    expect(panel(page, "Your tenant")).to_contain_text("lab")


def test_a_tenant_sees_its_studies_first(board: Board, page: Page) -> None:
    lab = board.tenant("lab", limits={"running_trials": 1})
    gpu = board.device("gpu")
    weak = board.study(lab, "weak", {"m": 1.0}, metric="r2", floor=0.5)
    board.study(lab, "good", {"svm": 2.0, "tree": 3.0}, metric="roc-auc", floor=0.5)
    scores = {"m": 0.4, "svm": 0.7, "tree": 0.75}
    done = board.run(gpu, "gpu", lambda lease: scores[lease["model"]], limit=2)
    assert {lease["study_name"] for lease in done} == {"weak", "good"}
    board.lease(gpu)
    board.study(lab, "waits", ["m"])
    sign_in(page, board.address, lab)
    studies = panel(page, "Your studies")
    row = studies.get_by_role("row").filter(has=page.get_by_role("link", name="weak"))
    expect(row).to_contain_text("not beaten")
    expect(row).to_contain_text("r2")
    expect(studies).to_contain_text("+0.2")
    expect(studies).to_contain_text("waits: the tenant's limit of running trials")
    expect(panel(page, "Your tenant")).to_contain_text("1 of 1 at its limit")
    expect(page.get_by_text("Happiness is the share of the way")).to_be_visible()
    assert page.locator("main section").first.get_by_role("heading").inner_text() == "Your studies"
    board.request("PATCH", f"/v1/studies/{weak}", {"name": "renamed"}, token=lab).ok()
    expect(studies.get_by_role("link", name="renamed")).to_be_visible()


# The first minute of regret is far above the last hour.
TREND = """async () => {
  const { trendFigure } = await import("/assets/trend.js");
  const times = Array.from({ length: 61 }, (_, place) => 60 * place);
  const regret = times.map((_, place) => (place ? 0.02 / place : 0.8));
  const shown = trendFigure(false);
  document.body.append(shown.node);
  const studies = times.map(() => 1);
  shown.set({ times, regret, low: regret, high: regret, studies, round_robin: null });
  await new Promise(requestAnimationFrame);
  await new Promise(requestAnimationFrame);
  const line = shown.node.querySelector("path.line.main").getBBox();
  const points = shown.node.querySelector("path.line.main").getAttribute("d").split(/[ML]/).slice(1)
    .map((point) => Number(point.split(" ")[1]));
  const text = shown.node.querySelector(".summary").textContent;
  const gap = times.map((_, place) => (place > 20 && place < 40 ? 0 : 1));
  shown.set({ times, regret, low: regret, high: regret, studies: gap, round_robin: null });
  const parts = (path) => shown.node.querySelector(path).getAttribute("d").split("M").length - 1;
  const share = (points[60] - points[1]) / line.height;
  return [share, text, parts("path.line.main"), parts("path.band.main")];
}"""
# One score is far below the others; the score is computed from an error.
SCORES = """async () => {
  const { learning } = await import("/assets/pages/study_learning.js");
  const shown = learning();
  document.body.append(shown.node);
  const scores = [0.5, 0.6, -1, 0.65, 0.7, 0.55, 0.61, 0.62, 0.63, 0.64, 0.66, 0.8131];
  const record = scores.map((score, place) => ({ trial: `t${place}`, model: "lasso", score,
    seconds: place, device_seconds: place, best: Math.max(...scores.slice(0, place + 1)) }));
  const incumbent = { model: "lasso", score: 0.8131, metrics: { rmse: 30.284 } };
  shown.set({ study: { state: "closed", metric: "rmse", incumbent }, record });
  await new Promise(requestAnimationFrame);
  await new Promise(requestAnimationFrame);
  const count = (kind) => shown.node.querySelectorAll(`.marks ${kind}`).length;
  return [count("circle"), count("path"), shown.node.querySelector(".summary").textContent];
}"""


def test_the_last_hour_is_legible_after_a_spike(board: Board, page: Page) -> None:
    page.goto(board.address)
    share, summary, lines, bands = page.evaluate(TREND)
    assert share > 0.4  # of the height, for what happened after the first minute
    assert "The scale is logarithmic; values below 0.0008 are drawn at its lower end." in summary
    assert (lines, bands) == (2, 2)  # both break while no study is open
    circles, triangles, summary = page.evaluate(SCORES)
    assert (circles, triangles) == (11, 1)
    assert summary.startswith("0.8131 (score from rmse 30.28) is the best of 12 scores; ")
    assert summary.endswith("A triangle at the lower edge is a score below 0.5000; there is 1.")


def test_every_page_is_accessible(board: Board, visits: Visits) -> None:
    lab, gpu = board.tenant("lab"), board.device("gpu")
    study = board.study(lab, f"{SCRIPT} {IMAGE}", MODELS, dataset=IMAGE)
    leases = board.run(gpu, "gpu", lambda lease: MODELS[lease["model"]] / 4.0, limit=2)
    board.lease(gpu)
    dataset = board.dataset(lab, IMAGE)["id"]
    routes = ["", "studies", "decisions", f"decisions/{leases[0]['trial']}", "heatmap", "new",
              f"new/{dataset}", "whatif", "datasets", f"datasets/{dataset}", "devices", "tenants",
              "tokens", *(f"studies/{study}/{part}" for part in PARTS)]  # fmt: skip
    for scheme, width in (("light", 1280), ("dark", 390)):
        page = visits.open(
            color_scheme=scheme, viewport={"width": width, "height": 844}, reduced_motion="reduce"
        )
        page.goto(board.address)
        assert axe(page) == []
        sign_in(page, board.address, board.admin)
        for route in routes:
            visit(page, route)
            assert axe(page) == [], (route, scheme)
            # Nothing is wider than the screen of a phone.
            assert page.evaluate("document.documentElement.scrollWidth") <= width, route
            assert page.locator("img[src=x]").count() == 0
            assert page.title() != "taken"
