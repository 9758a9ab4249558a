"""Results on disk, so that an interrupted reproduction can be continued.

Each cell has a file of JSON lines: a header with the cell and a hash of the code, then one line per
run, appended when the run ends. Results of other code or of another table are not reused.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from importlib import resources
from pathlib import Path
from typing import Any

from bentham.reproduce.runs import Cell, Result, TableCell
from bentham.tables import Table

FORMAT = 1
# A change to any of these packages and files can change a run.
PACKAGES = ("core", "sim", "tables")
FILES = (
    "experiments/rivals.py",
    "experiments/variants.py",
    "reproduce/problems.py",
    "reproduce/runs.py",
)


class Store:
    """The directory of results."""

    def __init__(self, folder: Path, tables: Mapping[str, Table]):
        self._folder = folder
        self.stale: set[Cell] = set()  # cells whose results are from other code or tables
        self._code = fingerprint()
        self._tables = {name: table_hash(table) for name, table in tables.items()}
        folder.mkdir(parents=True, exist_ok=True)

    def read(self, cell: Cell) -> dict[int, Result]:
        """Return the stored runs by seed, without those from other code or tables."""
        try:
            header, *lines = self._path(cell).read_bytes().decode(errors="replace").split("\n")
        except FileNotFoundError:
            return {}
        if header != json.dumps(self._header(cell)):
            self.stale.add(cell)
            return {}
        results: dict[int, Result] = {}
        for line in lines:
            try:
                result = json.loads(line)
                if isinstance(result["seed"], int) and cell.complete(result):
                    results.setdefault(result["seed"], result)
            except (ValueError, KeyError, TypeError):  # an incomplete or damaged line
                continue
        return results

    def add(self, cell: Cell, result: Result) -> None:
        """Store one more run."""
        path = self._path(cell)
        if cell in self.stale:  # the old results are replaced
            path.unlink()
            self.stale.remove(cell)
        exists = path.exists()
        with path.open("a", encoding="utf-8") as file:
            # The line feed comes first, so that an incomplete last line does not spoil this one.
            file.write("" if exists else json.dumps(self._header(cell)))
            file.write("\n" + json.dumps(result, allow_nan=False))

    def sort(self, cell: Cell) -> list[Result]:
        """Return all runs in the order of their seeds, and rewrite the file in that order."""
        results = self.read(cell)
        ordered = [results[seed] for seed in sorted(results)]
        lines = [json.dumps(self._header(cell)), *(json.dumps(result) for result in ordered)]
        self.stale.discard(cell)
        write_whole(self._path(cell), "\n".join(lines))
        return ordered

    def _path(self, cell: Cell) -> Path:
        return self._folder / f"{cell.name}.jsonl"

    def _header(self, cell: Cell) -> dict[str, Any]:
        table = self._tables[cell.table] if isinstance(cell, TableCell) else None
        return {"format": FORMAT, "code": self._code, "table": table, "cell": asdict(cell)}


def fingerprint() -> str:
    """Return a hash of all code that can affect a run."""
    root = Path(str(resources.files("bentham")))
    paths = [path for package in PACKAGES for path in (root / package).rglob("*.py")]
    digest = hashlib.sha256()
    for path in sorted([*paths, *(root / name for name in FILES)]):
        digest.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def write_whole(path: Path, text: str) -> None:
    """Write a file atomically: it is never seen half written, even after an interrupt."""
    part = path.with_suffix(".new")
    part.write_text(text, encoding="utf-8", errors="replace")
    part.replace(path)


def table_hash(table: Table) -> str:
    """Return a hash of a table's studies, models, scores and costs."""
    digest = hashlib.sha256(json.dumps([table.studies, table.models]).encode())
    digest.update(table.scores.tobytes() + table.costs.tobytes())
    return digest.hexdigest()[:16]
