"""Results are kept run by run: what was stopped goes on, what is stale is made again."""

import json
import shutil
from pathlib import Path

import pytest

import bentham
from bentham.reproduce import store as stores
from bentham.reproduce.runs import TableCell
from bentham.reproduce.store import Store
from bentham.tables import Table, load_table

CELL = TableCell("spread:3", "paper", 1)


@pytest.fixture(scope="module")
def tables() -> dict[str, Table]:
    return {CELL.table: load_table(CELL.table)}


def test_runs_are_read_back(tmp_path: Path, tables: dict[str, Table]) -> None:
    store = Store(tmp_path, tables)
    assert store.read(CELL) == {}
    result = CELL.run(1, tables)
    store.add(CELL, result)
    store.add(CELL, CELL.run(0, tables))
    assert Store(tmp_path, tables).read(CELL)[1] == result


def test_a_line_that_was_cut_off_costs_that_run_alone(
    tmp_path: Path, tables: dict[str, Table]
) -> None:
    store = Store(tmp_path, tables)
    for seed in range(3):
        store.add(CELL, {"seed": seed, "curve": []})
    path = tmp_path / f"{CELL.name}.jsonl"
    path.write_text(path.read_text()[:-9])  # stopped while it wrote
    assert sorted(store.read(CELL)) == [0, 1]
    store.add(CELL, {"seed": 2, "curve": [1]})
    assert store.read(CELL)[2] == {"seed": 2, "curve": [1]}


def test_settled_files_are_in_the_order_of_seeds(tmp_path: Path, tables: dict[str, Table]) -> None:
    store = Store(tmp_path, tables)
    for seed in (2, 0, 1, 0):
        store.add(CELL, {"seed": seed})
    assert [result["seed"] for result in store.settle(CELL)] == [0, 1, 2]
    header, *lines = (tmp_path / f"{CELL.name}.jsonl").read_text().split("\n")
    assert json.loads(header)["cell"] == {"table": "spread:3", "variant": "paper", "devices": 1}
    assert [json.loads(line)["seed"] for line in lines] == [0, 1, 2]
    store.add(CELL, {"seed": 3})
    assert sorted(store.read(CELL)) == [0, 1, 2, 3]


def test_what_other_code_or_another_table_made_is_not_used(
    tmp_path: Path, tables: dict[str, Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    Store(tmp_path, tables).add(CELL, {"seed": 0})
    other = {CELL.table: load_table("spread:4")}
    assert Store(tmp_path, tables).read(CELL)
    assert Store(tmp_path, other).read(CELL) == {}
    Store(tmp_path, tables).add(CELL, {"seed": 0})
    monkeypatch.setattr(stores, "fingerprint", lambda: "changed")
    assert Store(tmp_path, tables).read(CELL) == {}


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"{}", b"not json\n{}"])
def test_a_spoiled_file_is_begun_anew(
    tmp_path: Path, tables: dict[str, Table], content: bytes
) -> None:
    store = Store(tmp_path, tables)
    (tmp_path / f"{CELL.name}.jsonl").write_bytes(content)
    assert store.read(CELL) == {}
    store.add(CELL, {"seed": 0})
    assert store.read(CELL) == {0: {"seed": 0}}


@pytest.mark.parametrize(
    ("file", "counts"),
    [("core/regret.py", True), ("reproduce/runs.py", True), ("reproduce/page.py", False)],
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
