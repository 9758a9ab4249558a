"""The page that creates a study: upload, columns, target and options."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from support.boards import Board
from support.browsers import Visits, axe
from support.dashboards import IMAGE, SCRIPT, go, sign_in
from support.service_cast import FLOWERS


def choose(page: Page, path: Path) -> None:
    page.get_by_label("Drop a CSV or Parquet file here").set_input_files(path)


@pytest.fixture
def markup_table(tmp_path: Path) -> Path:
    """Write a table whose column names contain markup; return its path."""
    path = tmp_path / "odd names.csv"
    quoted = ",".join('"{}"'.format(name.replace('"', '""')) for name in (SCRIPT, IMAGE))
    rows = (f"{row % 7},{'ab'[row % 2]},{row % 3 - 0.5},{'yn'[row % 2]}" for row in range(40))
    path.write_text(f"{quoted},width,left\n" + "\n".join(rows) + "\n")
    return path


def test_a_file_becomes_a_study(
    board: Board, page: Page, visits: Visits, markup_table: Path
) -> None:
    lab = board.tenant("lab")
    sign_in(page, board.address, lab)
    go(page, "new", "New study")
    choose(page, markup_table)
    expect(
        page.get_by_text("40 rows, 4 columns: 3 numbers, 0 dates, 1 category, 0 ignored.")
    ).to_be_visible()
    for name in (SCRIPT, IMAGE):
        expect(page.get_by_role("rowheader", name=name)).to_be_visible()
    page.get_by_label("Column to predict").select_option("left")
    expect(page.get_by_text("Inferred: classification.")).to_be_visible()
    expect(page.get_by_label("Study name")).to_have_value("odd names: left")
    page.get_by_label("Metric").select_option("roc-auc")
    page.get_by_label("Number of candidate models").fill("3")
    page.get_by_text("More options: stop rules").click()
    page.get_by_label("Trials").fill("2")
    page.get_by_label("Device time (minutes)").fill("1.5")
    page.get_by_label("LightGBM").uncheck()
    page.get_by_label("Split").select_option("folds")
    page.get_by_label("Folds", exact=True).fill("4")
    page.get_by_label("Random seed").fill("7")
    assert axe(page) == []

    wrong = page.get_by_label(f"Type of {IMAGE}")
    wrong.focus()
    wrong.select_option("number")
    expect(wrong).to_be_focused()
    visits.expect("422 (Unprocessable")
    page.get_by_role("button", name="Create the study").click()
    expect(page.get_by_role("alert").filter(has_text="make it a category")).to_be_visible()
    wrong.select_option("ignored")
    page.get_by_role("button", name="Create the study").click()
    expect(page).to_have_title("odd names: left · Bentham")
    (study,) = board.get("/v1/studies", lab)["items"]
    created = board.get(f"/v1/studies/{study['id']}", lab)
    assert (created["metric"], created["models"], created["data"]) == (
        "roc-auc",
        3,
        "odd names.csv",
    )
    assert (created["stop"]["trials"], created["stop"]["cost"]) == (2, 90.0)
    split = created["training"]["split"]
    assert (split["kind"], split["folds"], split["seed"]) == ("folds", 4, 7)
    assert set(created["training"]["columns"]) == {SCRIPT, "width"}
    models = board.get(f"/v1/studies/{study['id']}/candidates", lab)["items"]
    assert "lightgbm" not in {each["algorithm"] for each in models}


def test_a_refused_file_shows_the_reason_and_can_be_replaced(
    board: Board, page: Page, visits: Visits, tmp_path: Path
) -> None:
    lab = board.tenant("lab")
    board.dataset(lab, "flowers.csv", b"a,b\n" + b"1,2\n" * 20)
    ragged, flowers = tmp_path / "ragged.csv", tmp_path / "flowers.csv"
    ragged.write_text("a,b\n1\n")
    flowers.write_bytes(FLOWERS)
    sign_in(page, board.address, lab)
    go(page, "new", "New study")
    visits.expect("422 (Unprocessable")
    choose(page, ragged)
    expect(page.get_by_role("alert")).to_contain_text("line 2 has 1 value,")
    page.get_by_role("button", name="Choose another file").click()
    large = tmp_path / "large.csv"
    with large.open("wb") as file:
        file.truncate(64 * 2**20 + 1)
    choose(page, large)  # it is not sent: the server's refusal would be an error in the console
    expect(page.get_by_role("alert")).to_contain_text("more than the 67,108,864")
    page.get_by_role("button", name="Choose another file").click()
    visits.expect("409 (Conflict)")
    choose(page, flowers)
    expect(page.get_by_role("alert")).to_contain_text("pick another name")
    page.get_by_label("Dataset name").fill("flowers of May")
    page.get_by_role("button", name="Upload again").click()
    expect(page.get_by_text("40 rows, 3 columns: 2 numbers")).to_be_visible()
    names = {each["name"] for each in board.get("/v1/datasets", lab)["items"]}
    assert names == {"flowers.csv", "flowers of May"}


def test_an_operator_creates_a_study_over_an_existing_dataset(board: Board, page: Page) -> None:
    labs = {name: board.tenant(name) for name in ("lab", "other")}
    wide = ",".join(f"column {each}" for each in range(150)) + ",class\n"
    content = wide + "".join(
        ",".join([str(row % 7), str(row % 5)] * 75) + f",{'xy'[row % 2]}\n" for row in range(30)
    )
    for name, token in labs.items():
        board.dataset(token, f"{name}.csv", content.encode())
    sign_in(page, board.address, board.admin)
    go(page, "new", "New study")
    page.get_by_label("Tenant").select_option("other")
    page.get_by_role("button", name="Use an existing dataset").click()
    dataset = page.get_by_label("Dataset")
    expect(dataset.locator("option")).to_have_text(
        ["Choose a dataset", "other.csv (30 rows, 151 columns)"]
    )
    dataset.select_option("other.csv (30 rows, 151 columns)")
    expect(page.get_by_text("And 51 more.")).to_be_visible()
    page.get_by_label("Find a column").fill("column 149")
    expect(page.get_by_label("Type of column 149")).to_be_visible()
    expect(page.get_by_label("Column to predict")).to_have_value("class")
    page.get_by_role("button", name="Create the study").click()
    expect(page).to_have_title("other: class · Bentham")
    (study,) = board.get("/v1/studies")["items"]
    assert study["tenant"] == "other"


def test_columns_show_how_they_are_read(board: Board, page: Page, tmp_path: Path) -> None:
    path = tmp_path / "shop.csv"
    states, answers = ["open", "closed"], ["no", "Yes", "no", "yes "]
    rows = (
        f'"${1000 + 37 * row:,}.50",{row % 28 + 1}.{row % 12 + 1}.2024,'
        f"{states[row % 2]},{answers[row % 4]}"
        for row in range(40)
    )
    path.write_text("price,bought,state,left\n" + "\n".join(rows) + "\n")
    sign_in(page, board.address, board.tenant("lab"))
    go(page, "new", "New study")
    choose(page, path)
    summary = "40 rows, 4 columns: 2 numbers, 1 date, 1 category, 0 ignored."
    expect(page.get_by_text(summary)).to_be_visible()
    expect(page.get_by_text("$1,000.50 = 1000.5")).to_be_visible()
    expect(page.get_by_text("2.2.2024 = 2024-02-02")).to_be_visible()
    expect(page.get_by_label("Type of bought")).to_have_value("day-first")
    page.get_by_label("Column to predict").select_option("left")
    expect(
        page.get_by_text("Values with their numbers of rows: no (20), Yes (20).")
    ).to_be_visible()
    expect(page.get_by_text("predicted almost perfectly by state alone")).to_be_visible()
    expect(page.get_by_text("Inferred: classification.")).to_be_visible()
    assert axe(page) == []
    page.get_by_label("Number of candidate models").fill("2")
    page.get_by_role("button", name="Create the study").click()
    expect(page).to_have_title("shop: left · Bentham")
