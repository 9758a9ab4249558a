"""Files that commands write: checked before anything is run, and whole or not at all."""

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from uuid import uuid4

from bentham.errors import BenthamError, InvalidInput


def check_writable(path: Path, inputs: Sequence[str | Path | None]) -> None:
    """Refuse before anything is run what could not be written after it."""
    if path.is_dir():
        raise InvalidInput(f"{path} is a folder; name a file in it")
    if not path.absolute().parent.is_dir():
        raise InvalidInput(f"{path}: there is no folder {path.parent}; make it first")
    for name in inputs:
        if name is not None and path.exists() and Path(name).exists() and path.samefile(name):
            raise InvalidInput(f"{path} is read by this command; write to another file")


def check_new(path: Path, force: bool) -> None:
    """Refuse what could not be written, and to write over a file, unless by force."""
    if path.exists() and not force:
        raise InvalidInput(f"{path} exists; name another file with --out, or say --force")
    check_writable(path, [])


def write_verified(path: Path, pieces: Iterable[bytes], sha256: str) -> None:
    """Write a file that is what it should be, or leave all as it was."""
    part = path.with_name(f".{path.name[:100]}.{uuid4().hex[:8]}.part")
    digest = hashlib.sha256()
    try:
        with part.open("wb") as file:
            for piece in pieces:
                digest.update(piece)
                file.write(piece)
        if digest.hexdigest() != sha256:
            raise BenthamError(
                f"what came is not what {path} should be: not its SHA-256; try again"
            )
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
