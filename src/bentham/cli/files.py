"""Checks of files before anything is run."""

from collections.abc import Sequence
from pathlib import Path

from bentham.errors import InvalidInput


def check_writable(path: Path, inputs: Sequence[str | Path | None]) -> None:
    """Refuse before anything is run what could not be written after it."""
    if path.is_dir():
        raise InvalidInput(f"{path} is a folder; name a file in it")
    if not path.absolute().parent.is_dir():
        raise InvalidInput(f"{path}: there is no folder {path.parent}; make it first")
    for name in inputs:
        if name is not None and path.exists() and Path(name).exists() and path.samefile(name):
            raise InvalidInput(f"{path} is read by this command; write to another file")
