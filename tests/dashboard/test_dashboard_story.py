"""The dashboard end to end, with a real server, worker, training and browser."""

import re
from pathlib import Path

from playwright.sync_api import expect
from support.browsers import Visits, axe
from support.dashboards import go, mark, panel, sign_in, tab, tile, unchanged, visit
from support.service_cast import FLOWERS
from support.sites import PATIENCE, Site


def test_from_a_table_to_a_training_script(site: Site, visits: Visits, tmp_path: Path) -> None:
    table = tmp_path / "flowers.csv"
    table.write_bytes(FLOWERS)
    with site.client() as admin:
        tokens = {}
        for name in ("lab", "rival"):
            admin.create_tenant(name)
            tokens[name] = admin.issue_token("tenant", name).secret
    operator = (site.folder / "bentham-data" / "admin.token").read_text().strip()
    site.trainer("--devices", 1)
    expect.set_options(timeout=1000.0 * PATIENCE)

    # Upload a table, check its columns, create a study.
    page = visits.open()
    sign_in(page, site.address, tokens["lab"])
    mark(page)
    page.get_by_role("link", name="New study").first.click()
    page.get_by_label("Drop a CSV or Parquet file here").set_input_files(table)
    expect(page.locator("main").get_by_text("40 rows, 3 columns")).to_be_visible()
    page.get_by_label("Column to predict").select_option("kind")
    page.get_by_label("Number of candidate models").fill("4")
    page.get_by_role("button", name="Create the study").click()
    expect(page).to_have_title("flowers: kind · Bentham")

    # Trials appear without reloading.
    expect(tile(page, "Models tried")).to_have_text(re.compile(r"[1-4] of 4"))
    tab(page, "Trials")
    expect(panel(page, "Trials").get_by_text("complete").first).to_be_visible()
    expect(page.get_by_text(re.compile("^Closed: "))).to_be_visible()
    assert unchanged(page)

    # The decision behind a trial.
    panel(page, "Trials").get_by_role("link", name=re.compile("^Why")).first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Why")
    expect(page.get_by_text("expected to add").first).to_be_visible()
    expect(panel(page, "Outcome")).to_contain_text("complete")
    page.go_back()
    expect(page).to_have_title("flowers: kind · Bentham")

    # Download the result.
    tab(page, "Export")
    with page.expect_download() as download:
        panel(page, "Export").get_by_role("button", name="Training script").click()
    script = Path(download.value.path()).read_text()
    tab(page, "Best model")
    best = panel(page, "Best configuration").locator("pre").inner_text()
    compile(script, "best.py", "exec")
    assert re.findall(r'"score": ([0-9.]+)', best)[0] in script
    assert unchanged(page)

    # Another tenant sees none of it.
    other_page = visits.open()
    study, trial = page.evaluate("location.hash").rpartition("/")[2], _newest(site)
    sign_in(other_page, site.address, tokens["rival"])
    expect(other_page.get_by_text("No studies yet")).to_be_visible()
    for route in ("", "studies", "datasets", "decisions", "heatmap", "new"):
        visit(other_page, route)
        assert not {"flowers", "lab"} & set(re.findall(r"\w+", other_page.inner_text("body")))
    visits.expect("404 (Not Found)")
    for route in (f"studies/{study}", f"decisions/{trial}"):
        visit(other_page, route)
        expect(other_page.get_by_role("alert")).to_contain_text("Not found")
    visit(other_page, "whatif")
    expect(other_page.get_by_role("heading", name="For operators only")).to_be_visible()

    # The operator sees it, and simulates more devices.
    operator_page = visits.open()
    with site.client() as admin:
        admin.create_study("left open", [f"m{each}" for each in range(6)], tenant="rival")
    sign_in(operator_page, site.address, operator)
    expect(panel(operator_page, "Tenants")).to_contain_text("lab")
    expect(panel(operator_page, "Latest trials")).to_contain_text("flowers: kind")
    go(operator_page, "whatif", "What if")
    operator_page.get_by_label("Devices", exact=True).fill("8")
    operator_page.get_by_text("More options", exact=True).click()
    operator_page.get_by_label("Draws").fill("2")
    operator_page.get_by_role("button", name="Run the simulation").click()
    answer = panel(operator_page, "The answer")
    expect(answer).to_contain_text("With 8 devices instead of 1, mean regret")
    assert axe(operator_page) == []


def _newest(site: Site) -> str:
    with site.client() as admin:
        return next(iter(admin.trials())).id
