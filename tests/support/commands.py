"""Runs the command line in this process, as a shell would."""

import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from bentham.cli import main
from bentham.tables import Table, load_table

HEADER = "study,model,score,cost\n"


class Done(NamedTuple):
    code: int
    out: str
    err: str


class Bentham:
    """Call it with arguments to get the exit code and the output."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
        self._monkeypatch, self._capsys = monkeypatch, capsys

    def __call__(self, *arguments: object) -> Done:
        self._monkeypatch.setattr(sys, "argv", ["bentham", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = self._capsys.readouterr()
        code = ended.value.code
        return Done(code if isinstance(code, int) else 0, captured.out, captured.err)


@pytest.fixture
def bentham(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Bentham:
    """The command line."""
    monkeypatch.setenv("COLUMNS", "80")
    return Bentham(monkeypatch, capsys)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A real table of 12 studies x 8 models."""
    return write_table(tmp_path / "small.csv", load_table("oboe:8").only(range(0, 360, 30)))


def assert_refused(bentham: Bentham, *arguments: object, contains: list[str]) -> None:
    """Assert that a command fails with exit code 2 and one line on standard error only."""
    done = bentham(*arguments)
    assert done.code == 2
    assert done.out == ""
    assert done.err.startswith("bentham: ")
    assert done.err.count("\n") == 1
    for words in contains:
        assert words in done.err


def write_table(path: Path, table: Table) -> Path:
    """Write the table to a CSV file with all digits."""
    rows = [
        f'"{study}",{model},{float(table.scores[i, j])!r},{float(table.costs[i, j])!r}\n'
        for i, study in enumerate(table.studies)
        for j, model in enumerate(table.models)
        if np.isfinite(table.scores[i, j])
    ]
    path.write_text(HEADER + "".join(rows))
    return path
