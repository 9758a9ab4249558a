"""The pages of datasets, devices, tenants and tokens, and what is changed there."""

from playwright.sync_api import Page, expect
from support.boards import Board
from support.browsers import Visits, axe
from support.dashboards import IMAGE, SCRIPT, go, panel, sign_in


def test_a_dataset_is_renamed_used_and_deleted(board: Board, page: Page, visits: Visits) -> None:
    lab = board.tenant("lab")
    study = board.data_study(lab, SCRIPT)["id"]
    dataset = board.get("/v1/datasets", lab)["items"][0]
    sign_in(page, board.address, lab)
    go(page, "datasets", "Datasets")
    page.get_by_role("link", name=dataset["name"]).click()
    expect(page).to_have_title(f"{dataset['name']} · Bentham")
    columns = panel(page, "What was understood of its columns").get_by_role("row")
    expect(columns).to_have_count(1 + dataset["width"])
    expect(panel(page, "Studies on it").get_by_role("row").nth(1)).to_contain_text(SCRIPT)

    page.get_by_role("button", name="Rename").click()
    assert axe(page) == []
    page.get_by_label("New name").fill(IMAGE)
    page.get_by_role("dialog").get_by_role("button", name="Rename").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(IMAGE)
    assert board.get(f"/v1/studies/{study}", lab)["data"] == IMAGE

    page.get_by_role("button", name="Delete").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text(f"close {SCRIPT} first")
    visits.expect("409 (Conflict)")
    dialog.get_by_role("button", name="Delete it").click()
    expect(dialog.get_by_role("alert")).to_contain_text("close it first")
    dialog.get_by_role("button", name="Cancel").click()
    board.post(f"/v1/studies/{study}/close", None, lab).ok()
    expect(panel(page, "Studies on it")).to_contain_text("closed by request")
    page.get_by_role("button", name="Delete").click()
    expect(dialog).to_contain_text("1 closed study was on it")
    dialog.get_by_role("button", name="Delete it").click()
    expect(page.get_by_role("heading", name="No datasets yet")).to_be_visible()
    assert board.get("/v1/datasets", lab)["items"] == []


def test_devices_show_what_they_run_and_for_whom(board: Board, page: Page) -> None:
    lab, gpu = board.tenant("lab"), board.device("gpu")
    board.device("spare", gpu)
    sign_in(page, board.address, board.admin)
    go(page, "devices", "Devices")
    rows = page.locator("tbody tr")
    expect(rows.first).to_contain_text("idle")
    board.study(lab, SCRIPT, [IMAGE])
    board.lease(gpu)
    for text in ("busy", IMAGE, SCRIPT, "lab"):
        expect(rows.first).to_contain_text(text)
    expect(rows.nth(1)).to_contain_text("idle")


def test_tenants_are_created_and_changed(board: Board, page: Page, visits: Visits) -> None:
    board.tenant("lab")
    sign_in(page, board.address, board.admin)
    go(page, "tenants", "Tenants")
    page.get_by_role("button", name="New tenant").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("lab")
    visits.expect("409 (Conflict)")
    dialog.get_by_role("button", name="Create").click()
    expect(dialog.get_by_role("alert")).to_contain_text("already exists")
    dialog.get_by_label("Name").fill("shop")
    dialog.get_by_label("Weight").fill("2")
    dialog.get_by_label("Running trials, at most").fill("3")
    dialog.get_by_role("button", name="Create").click()
    row = page.locator("tbody tr").filter(has_text="shop")
    expect(row).to_contain_text("0 of 3")
    row.get_by_role("button", name="Change").click()
    dialog.get_by_label("Running trials, at most").fill("")
    dialog.get_by_label("Device hours per day, at most").fill("1.5")
    dialog.get_by_role("button", name="Change").click()
    expect(row).to_contain_text("0 s of 1 h 30 min")
    changed = board.get("/v1/tenants/shop")
    assert changed["weight"] == 2.0
    assert changed["limits"] == {"running_trials": None, "device_seconds_per_day": 5400.0}
    board.request("PATCH", "/v1/tenants/shop", {"limits": {"running_trials": 0}}).ok()
    expect(row).to_contain_text("0 of 0 at its limit")


def test_a_token_is_shown_once_and_revoked(board: Board, page: Page) -> None:
    board.tenant("lab")
    sign_in(page, board.address, board.admin)
    go(page, "tokens", "Tokens")
    page.get_by_role("button", name="New token").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Label").fill(SCRIPT)
    dialog.get_by_label("Expires after (days)").fill("1")
    dialog.get_by_role("button", name="Create").click()
    secret = page.locator("main .notice code").inner_text()
    assert board.get("/v1/tenants", secret)["items"][0]["name"] == "lab"
    page.reload()
    row = page.locator("tbody tr").filter(has_text=SCRIPT)
    expect(row).to_be_visible()
    assert secret not in page.content()
    row.get_by_role("button", name="Revoke").click()
    dialog.get_by_role("button", name="Revoke it").click()
    expect(row).to_have_count(0)  # only valid ones are shown
    page.get_by_role("button", name="All").click()
    expect(row).to_contain_text("revoked")
    board.request("GET", "/v1/tenants", token=secret).refused(401)
