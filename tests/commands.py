"""Runs the command line in this process, as a shell would."""

import sys
from typing import NamedTuple

import pytest

from bentham.cli import main


class Done(NamedTuple):
    code: int
    out: str
    err: str


class Bentham:
    """Call it with arguments; get the exit code and what was printed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
        self._monkeypatch, self._capsys = monkeypatch, capsys

    def __call__(self, *arguments: object) -> Done:
        self._monkeypatch.setattr(sys, "argv", ["bentham", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = self._capsys.readouterr()
        code = ended.value.code
        return Done(code if isinstance(code, int) else 0, captured.out, captured.err)
