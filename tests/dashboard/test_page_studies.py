"""The pages of studies and decisions, in a real browser on a real server."""

import csv
import re
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page, ViewportSize, expect
from support.boards import Board
from support.browsers import Visits, axe
from support.dashboards import IMAGE, SCRIPT, go, mark, sign_in, tab, unchanged

PHONE: ViewportSize = {"width": 390, "height": 844}
FORMULA = "=1+1"


def panel(page: Page, title: str) -> Locator:
    return page.get_by_role("region", name=title, exact=True)


def tile(page: Page, name: str) -> Locator:
    return page.locator(".tile").filter(has_text=name).locator(".value")


def save(page: Page, button: str, folder: Path) -> Path:
    """Press a button that saves a file; return its path."""
    with page.expect_download() as download:
        panel(page, "Export").get_by_role("button", name=button).click()
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


def score(lease: Any) -> float:
    return {SCRIPT: 0.7, IMAGE: 0.8, FORMULA: 0.75}[lease["model"]]


def test_a_study_until_its_end_and_its_export(
    board: Board, visits: Visits, page: Page, tmp_path: Path
) -> None:
    visits.expect("404")  # a trial without a log
    lab, gpu = board.tenant("lab"), board.device()
    study = board.study(lab, SCRIPT, {SCRIPT: 1.0, IMAGE: 2.0, FORMULA: 3.0})
    sign_in(page, board.address, lab)
    go(page, f"studies/{study}", SCRIPT)
    mark(page)
    expect(page.get_by_role("heading", level=1)).to_have_text(SCRIPT)
    expect(tile(page, "Models tried")).to_have_text("0 of 3")
    next_model = board.get(f"/v1/studies/{study}/next", lab)
    expect(panel(page, "Next model")).to_contain_text(next_model["model"])
    expect(panel(page, "Next model")).to_contain_text(next_model["reason"])

    tab(page, "Trials")
    lease = board.lease(gpu)
    trials = panel(page, "Trials").get_by_role("row")
    expect(trials.nth(1)).to_contain_text("running")
    expect(page.get_by_text("1 running", exact=True)).to_be_visible()
    expect(tile(page, "Models tried")).to_have_text("0 of 3")
    board.request(
        "PUT", f"/v1/trials/{lease['trial']}/log", b"epoch 1 <b>of</b> 1", token=gpu,
        query=f"fence={lease['fence']}",
    ).ok(204)  # fmt: skip
    board.report(gpu, lease, score=score(lease), metrics={"loss": 0.25}).ok()
    expect(trials.nth(1)).to_contain_text("complete")
    expect(tile(page, "Best so far")).to_have_text(f"{score(lease):.4f}")
    failing = board.lease(gpu)
    board.report(gpu, failing, "fail", reason="out of <b>memory</b>", final=True).ok()
    expect(trials.nth(1)).to_contain_text("out of <b>memory</b>")
    for model, words in ((lease["model"], "epoch 1 <b>of</b> 1"), (failing["model"], "nothing")):
        page.get_by_role("button", name=f"Log of {model}", exact=True).click()
        log = page.get_by_role("dialog", name=f"Log of {model}")
        expect(log).to_contain_text(words)
        assert axe(page) == []
        log.get_by_role("button", name="Close").click()
        expect(log).to_have_count(0)
    (last,) = board.run(gpu, "gpu", score)
    expect(page.locator(".heading .badge")).to_have_text("closed")
    expect(tile(page, "Models tried")).to_have_text("3 of 3")
    best = max((lease, last), key=score)
    tab(page, "Best model")
    expect(page.get_by_label("Configuration as JSON")).to_contain_text(str(score(best)))
    assert axe(page) == []
    tab(page, "Candidates")
    beliefs = page.get_by_role("img", name="3 models: 2 observed, 1 failed")
    assert beliefs.locator(".belief").count() == 3
    rows = panel(page, "Candidates").get_by_role("row")
    expect(rows.nth(1)).to_contain_text(best["model"])  # the best first, what has no score last
    expect(rows.nth(3)).to_contain_text(failing["model"])
    assert axe(page) == []
    assert unchanged(page)

    tab(page, "Candidates")
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("tab", name="Export")).to_be_focused()
    expect(page).to_have_url(re.compile(f"studies/{study}/export$"))
    page.reload()
    expect(panel(page, "Export")).to_be_visible()

    with save(page, "Learning record", tmp_path).open(newline="") as file:
        record = list(csv.DictReader(file))
    assert [float(line["score"]) for line in record] == [score(lease), score(last)]
    with save(page, "Candidates", tmp_path).open(newline="") as file:
        states = {line["model"]: line["state"] for line in csv.DictReader(file)}
    # Text that begins like a formula is not evaluated by a spreadsheet.
    assert set(states) == {SCRIPT, IMAGE, f"'{FORMULA}"}
    assert sorted(states.values()) == ["failed", "observed", "observed"]
    assert str(score(best)) in save(page, "Best configuration", tmp_path).read_text()


def test_a_decision_is_explained(board: Board, page: Page) -> None:
    lab, gpu = board.tenant("lab"), board.device()
    board.study(lab, IMAGE, {f"m{each}": 1.0 + each for each in range(6)})
    board.study(lab, "twin", {"m0": 1.0, "m5": 6.0}, dataset=IMAGE)
    board.run(gpu, "gpu", lambda lease: 0.5 + 0.01 * len(lease["model"]), limit=3)
    lease = board.lease(gpu)
    decision = board.get(f"/v1/decisions/{lease['trial']}", lab)
    sign_in(page, board.address, lab)
    go(page, "decisions", "Decisions")
    expect(page.get_by_role("row")).to_have_count(5)
    assert axe(page) == []
    page.get_by_role("row").nth(1).get_by_role("link", name=lease["model"]).click()
    expect(page).to_have_title(f"Why {lease['model']} · Bentham")
    mark(page)
    words = page.locator(".because")
    expect(words).to_contain_text(f"Training {decision['model']} for {decision['study_name']} ")
    gains = panel(page, "Expected gain by study")
    gains.get_by_text("As a table").click()
    expect(gains.get_by_role("row")).to_have_count(1 + len(decision["gains"]))
    runners = panel(page, "Runners-up")
    expect(runners.locator(".bar")).to_have_count(1 + len(decision["runners_up"]))
    expect(panel(page, "Outcome")).to_contain_text("running")
    assert axe(page) == []
    board.report(gpu, lease, score=0.625).ok()
    expect(panel(page, "Outcome")).to_contain_text("0.6250")
    expect(words).to_contain_text(f"Trained {decision['model']} for ")
    assert unchanged(page)
    page.locator("main").get_by_role("link", name=decision["study_name"]).first.click()
    expect(page).to_have_title(f"{decision['study_name']} · Bentham")


def test_the_list_of_studies_is_live_and_can_be_searched(board: Board, page: Page) -> None:
    lab, gpu = board.tenant("lab"), board.device()
    page.set_viewport_size(PHONE)
    sign_in(page, board.address, lab)
    go(page, "studies", "Studies")
    mark(page)
    expect(page.get_by_role("heading", name="No studies yet")).to_be_visible()
    board.study(lab, "first")
    board.study(lab, "second")
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(2)
    first = page.get_by_role("link", name="first")
    first.focus()
    board.run(gpu, "gpu", lambda _: 0.6)
    expect(page.get_by_text("2 studies: 0 open, 0 trials running.")).to_be_visible()
    expect(rows.first).to_contain_text("0.6000")
    expect(first).to_be_focused()  # in a row that was redrawn
    page.get_by_label("Find").fill("SEC")
    expect(rows).to_have_count(1)
    expect(rows.first).to_contain_text("second")
    page.get_by_role("button", name="Open").click()
    expect(page.get_by_text("No study matches.")).to_be_visible()
    page.get_by_role("button", name="Closed").click()
    expect(rows.first).to_contain_text("second")
    assert axe(page) == []
    assert unchanged(page)
    wide = page.evaluate("document.documentElement.scrollWidth > innerWidth")
    assert not wide


def test_the_state_of_a_study_is_changed(board: Board, page: Page) -> None:
    lab = board.tenant("lab")
    study = board.study(lab, "mine")
    sign_in(page, board.address, lab)
    go(page, f"studies/{study}", "mine")
    state = page.locator(".heading .badge")
    page.get_by_role("button", name="Pause").click()
    expect(state).to_have_text("paused")
    expect(page.get_by_role("button", name="Resume")).to_be_focused()
    page.keyboard.press("Enter")
    expect(state).to_have_text("open")
    page.get_by_role("button", name="Rename").click()
    page.get_by_label("New name").fill(SCRIPT)
    page.get_by_role("dialog").get_by_role("button", name="Rename").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(SCRIPT)
    page.get_by_role("button", name="Close").click()
    expect(state).to_have_text("closed")
    expect(page.get_by_text("Closed: closed by request.", exact=True)).to_be_visible()
    assert axe(page) == []
    expect(page.get_by_role("button", name="Reopen")).to_be_focused()
    page.keyboard.press("Enter")
    expect(state).to_have_text("open")
    assert board.get(f"/v1/studies/{study}", lab)["state"] == "open"


def test_another_tenant_sees_nothing_of_it(board: Board, page: Page, visits: Visits) -> None:
    lab, other, gpu = board.tenant("lab"), board.tenant("other"), board.device()
    study = board.study(lab, "secret")
    (lease,) = board.run(gpu, "gpu", lambda _: 0.5, limit=1)
    visits.expect("404 (Not Found)")
    sign_in(page, board.address, other)
    for route in (f"studies/{study}", f"decisions/{lease['trial']}"):
        go(page, route, "Error")
        expect(page.get_by_role("heading", name="Not found")).to_be_visible()
    for route, title in (("studies", "Studies"), ("decisions", "Decisions")):
        go(page, route, title)
        expect(page.get_by_role("heading", name=f"No {title.lower()} yet")).to_be_visible()
    assert "secret" not in page.content()
