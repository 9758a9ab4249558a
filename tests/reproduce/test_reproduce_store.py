"""Results are kept run by run: what was stopped goes on, what is stale is made again."""

import json
import shutil
from pathlib import Path

import pytest

import bentham
from bentham.reproduce import store as stores
from bentham.reproduce.problems import TheoryCell
from bentham.reproduce.runs import Result, TableCell
from bentham.reproduce.store import Store
from bentham.tables import Table, load_table

CELL = TableCell("spread:3", "paper", 1)


def result(seed: int) -> Result:
    curve = [[0.0, 0.5], [1.0, 0.0]]
    return {"seed": seed, "cumulative_regret": 0.5, "regret_then": 0.1, "curve": curve}


@pytest.fixture(scope="module")
def tables() -> dict[str, Table]:
    return {CELL.table: load_table(CELL.table)}


def test_runs_are_read_back(tmp_path: Path, tables: dict[str, Table]) -> None:
    store = Store(tmp_path, tables)
    assert store.read(CELL) == {}
    made = CELL.run(1, tables)
    store.add(CELL, made)
    store.add(CELL, CELL.run(0, tables))
    assert Store(tmp_path, tables).read(CELL)[1] == made


def test_a_line_that_was_cut_off_costs_that_run_alone(
    tmp_path: Path, tables: dict[str, Table]
) -> None:
    store = Store(tmp_path, tables)
    for seed in range(3):
        store.add(CELL, result(seed))
    path = tmp_path / f"{CELL.name}.jsonl"
    path.write_text(path.read_text()[:-9])  # stopped while it wrote
    assert sorted(store.read(CELL)) == [0, 1]
    store.add(CELL, result(2))
    assert store.read(CELL)[2] == result(2)


def test_settled_files_are_in_the_order_of_seeds(tmp_path: Path, tables: dict[str, Table]) -> None:
    store = Store(tmp_path, tables)
    for seed in (2, 0, 1, 0):
        store.add(CELL, result(seed))
    assert [one["seed"] for one in store.settle(CELL)] == [0, 1, 2]
    header, *lines = (tmp_path / f"{CELL.name}.jsonl").read_text().split("\n")
    assert json.loads(header)["cell"] == {"table": "spread:3", "variant": "paper", "devices": 1}
    assert [json.loads(line)["seed"] for line in lines] == [0, 1, 2]
    store.add(CELL, result(3))
    assert sorted(store.read(CELL)) == [0, 1, 2, 3]


def test_what_other_code_or_another_table_made_is_not_used(
    tmp_path: Path, tables: dict[str, Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    Store(tmp_path, tables).add(CELL, result(0))
    other = Store(tmp_path, {CELL.table: load_table("spread:4")})
    assert other.read(CELL) == {}
    assert other.stale == {CELL}
    assert Store(tmp_path, tables).read(CELL)  # still there, until there is something better
    other.add(CELL, result(5))
    assert sorted(other.read(CELL)) == [5]
    assert Store(tmp_path, tables).read(CELL) == {}
    monkeypatch.setattr(stores, "fingerprint", lambda: "changed")
    assert Store(tmp_path, tables).read(CELL) == {}


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"{}", b"not json\n{}"])
def test_a_spoiled_file_is_begun_anew(
    tmp_path: Path, tables: dict[str, Table], content: bytes
) -> None:
    store = Store(tmp_path, tables)
    (tmp_path / f"{CELL.name}.jsonl").write_bytes(content)
    assert store.read(CELL) == {}
    store.add(CELL, result(0))
    assert store.read(CELL) == {0: result(0)}


@pytest.mark.parametrize(
    "change",
    [
        {"cumulative_regret": float("nan")},
        {"cumulative_regret": "much"},
        {"curve": []},
        {"curve": [[0.0, 1.0], [2.0]]},
        {"curve": 5},
        {"regret_then": None},
        {"seed": "0"},
    ],
)
def test_a_spoiled_line_is_made_again(
    tmp_path: Path, tables: dict[str, Table], change: dict[str, object]
) -> None:
    store = Store(tmp_path, tables)
    store.add(CELL, result(0))
    with (tmp_path / f"{CELL.name}.jsonl").open("a") as file:
        file.write("\n" + json.dumps(result(1) | change))
        file.write("\n" + json.dumps({"seed": 1}))
    assert sorted(store.read(CELL)) == [0]


def test_results_of_the_theory_are_checked_too(tmp_path: Path) -> None:
    cell = TheoryCell("independent", 2, 4, 1, 1.0, bounded=True)
    store = Store(tmp_path, {})
    made = cell.run(0, {})
    store.add(cell, made)
    store.add(cell, made | {"seed": 1, "lemma": None})
    store.add(cell, made | {"seed": 2, "broken": "no"})
    assert store.read(cell) == {0: made}


@pytest.mark.parametrize(
    ("file", "counts"),
    [("core/theory/regret.py", True), ("reproduce/runs.py", True), ("reproduce/page.py", False)],
)
def test_the_fingerprint_is_of_the_code_that_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, counts: bool
) -> None:
    root = tmp_path / "bentham"
    shutil.copytree(Path(bentham.__file__).parent, root)
    monkeypatch.setattr("importlib.resources.files", lambda _: root)
    before = stores.fingerprint()
    with (root / file).open("a") as changed:
        changed.write("# changed")
    assert (stores.fingerprint() != before) is counts
