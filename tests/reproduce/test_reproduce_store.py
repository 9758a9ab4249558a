"""Results are stored per run: interrupted work is resumed, stale results are computed again."""

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
    computed = CELL.run(1, tables)
    store.add(CELL, computed)
    store.add(CELL, CELL.run(0, tables))
    assert Store(tmp_path, tables).read(CELL)[1] == computed


def test_a_truncated_line_loses_only_its_run(tmp_path: Path, tables: dict[str, Table]) -> None:
    store = Store(tmp_path, tables)
    for seed in range(3):
        store.add(CELL, result(seed))
    path = tmp_path / f"{CELL.name}.jsonl"
    path.write_text(path.read_text()[:-9])  # interrupted while writing
    assert sorted(store.read(CELL)) == [0, 1]
    store.add(CELL, result(2))
    assert store.read(CELL)[2] == result(2)


def test_sorted_files_are_in_the_order_of_seeds(tmp_path: Path, tables: dict[str, Table]) -> None:
    store = Store(tmp_path, tables)
    for seed in (2, 0, 1, 0):
        store.add(CELL, result(seed))
    assert [one["seed"] for one in store.sort(CELL)] == [0, 1, 2]
    header, *lines = (tmp_path / f"{CELL.name}.jsonl").read_text().split("\n")
    assert json.loads(header)["cell"] == {"table": "spread:3", "variant": "paper", "devices": 1}
    assert [json.loads(line)["seed"] for line in lines] == [0, 1, 2]
    store.add(CELL, result(3))
    assert sorted(store.read(CELL)) == [0, 1, 2, 3]


def test_results_of_other_code_or_tables_are_not_used(
    tmp_path: Path, tables: dict[str, Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    Store(tmp_path, tables).add(CELL, result(0))
    other = Store(tmp_path, {CELL.table: load_table("spread:4")})
    assert other.read(CELL) == {}
    assert other.stale == {CELL}
    assert Store(tmp_path, tables).read(CELL)  # kept until newer results replace them
    other.add(CELL, result(5))
    assert sorted(other.read(CELL)) == [5]
    assert Store(tmp_path, tables).read(CELL) == {}
    monkeypatch.setattr(stores, "fingerprint", lambda: "changed")
    assert Store(tmp_path, tables).read(CELL) == {}


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"{}", b"not json\n{}"])
def test_a_corrupt_file_is_replaced(
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
def test_a_corrupt_line_is_ignored(
    tmp_path: Path, tables: dict[str, Table], change: dict[str, object]
) -> None:
    store = Store(tmp_path, tables)
    store.add(CELL, result(0))
    with (tmp_path / f"{CELL.name}.jsonl").open("a") as file:
        file.write("\n" + json.dumps(result(1) | change))
        file.write("\n" + json.dumps({"seed": 1}))
    assert sorted(store.read(CELL)) == [0]


def test_theory_results_are_validated(tmp_path: Path) -> None:
    cell = TheoryCell("independent", 2, 4, 1, 1.0, bounded=True)
    store = Store(tmp_path, {})
    computed = cell.run(0, {})
    store.add(cell, computed)
    store.add(cell, computed | {"seed": 1, "lemma": None})
    store.add(cell, computed | {"seed": 2, "broken": "no"})
    assert store.read(cell) == {0: computed}


@pytest.mark.parametrize(
    ("file", "counts"),
    [("core/theory/regret.py", True), ("reproduce/runs.py", True), ("reproduce/page.py", False)],
)
def test_the_fingerprint_covers_the_code_of_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, counts: bool
) -> None:
    root = tmp_path / "bentham"
    shutil.copytree(Path(bentham.__file__).parent, root)
    monkeypatch.setattr("importlib.resources.files", lambda _: root)
    before = stores.fingerprint()
    with (root / file).open("a") as changed:
        changed.write("# changed")
    assert (stores.fingerprint() != before) is counts
