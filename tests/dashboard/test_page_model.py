"""The look at a study's best model, and the fitted model, in a real browser on a real server."""

from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page, expect
from support.boards import Board
from support.browsers import Visits, axe
from support.dashboards import SCRIPT, go, sign_in

LOOK: dict[str, Any] = {
    "rows": 40,
    "confusion": {"classes": [SCRIPT[:60], "small"], "merged": 0, "counts": [[19, 1], [4, 16]]},
    "thresholds": {
        "positive": "small", "rows": 40,
        "points": [[0.1, 0.5, 1.0, 1.0], [0.5, 0.94, 0.8, 0.05], [0.9, 1.0, 0.1, 0.0]],
    },
    "importance": {
        "rows": 40, "score": 0.9, "columns": [["length", 0.4, 0.3, 0.5], [SCRIPT[:60], 0, 0, 0]],
        "omitted": 0, "unmeasured": ["width"], "unmeasured_count": 1,
    },
}  # fmt: skip


def panel(page: Page, title: str) -> Locator:
    return page.get_by_role("region", name=title, exact=True)


def test_the_best_model_is_shown_and_can_be_downloaded(
    board: Board, visits: Visits, page: Page
) -> None:
    del visits  # it checks at the end that the page reported no errors
    lab, gpu = board.tenant("lab"), board.device()
    study = board.data_study(lab, "flowers")["id"]
    board.report(gpu, board.lease(gpu), score=0.9, look=LOOK).ok()
    sign_in(page, board.address, lab)
    go(page, f"studies/{study}", "flowers")
    page.get_by_role("tab", name="Best model").click()
    errors = panel(page, "Where the best model errs")
    expect(errors.get_by_role("row")).to_have_count(3)
    expect(errors.get_by_role("row").nth(2)).to_contain_text("416")
    expect(errors).to_contain_text("35 of 40 held-out rows correctly")
    expect(errors).to_contain_text(f"4 rows of small predicted as {SCRIPT[:60]}")
    expect(panel(page, "Thresholds")).to_contain_text("At 0.5, where precision and recall balance")
    matters = panel(page, "Columns that matter")
    expect(matters).to_contain_text("most for length, by 0.4")
    expect(matters).to_contain_text("There was no time to measure 1 column: width.")
    assert not axe(page)

    fitted = panel(page, "Fitted model")
    fitted.get_by_role("button", name="Fit the best model").click()
    expect(fitted.get_by_role("status")).to_contain_text("is to be fitted: waiting for a device")
    lease = board.lease(gpu)
    expect(fitted.get_by_role("status")).to_contain_text("on all rows")
    query = f"fence={lease['fence']}&version=numpy%3D%3D2.3.0"
    path = f"/v1/trials/{lease['trial']}/model"
    board.request("PUT", path, b"PK model", token=gpu, query=query).ok()
    expect(fitted).to_contain_text("numpy==2.3.0")
    expect(fitted.get_by_role("button")).to_have_count(0)
    with page.expect_download() as download:
        fitted.get_by_role("link", name="Download").click()
    assert download.value.suggested_filename == "flowers.pyz"
    assert Path(download.value.path()).read_bytes() == b"PK model"
