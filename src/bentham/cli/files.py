"""Files that commands write: checked before the command runs, and never left half-written."""

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from uuid import uuid4

from bentham.errors import BenthamError, InvalidInput


def check_writable(path: Path, inputs: Sequence[str | Path | None]) -> None:
    """Raise InvalidInput if `path` cannot be written; called before the command does its work."""
    if path.is_dir():
        raise InvalidInput(f"{path} is a directory; name a file in it")
    if not path.absolute().parent.is_dir():
        raise InvalidInput(f"{path}: there is no directory {path.parent}; create it first")
    for name in inputs:
        if name is not None and path.exists() and Path(name).exists() and path.samefile(name):
            raise InvalidInput(f"{path} is an input of this command; write to another file")


def check_new(path: Path, force: bool) -> None:
    """Raise InvalidInput if `path` cannot be written, or exists and `force` is not set."""
    if path.exists() and not force:
        raise InvalidInput(
            f"{path} exists; name another file with --out, or overwrite it with --force"
        )
    check_writable(path, [])


def write_verified(path: Path, chunks: Iterable[bytes], sha256: str) -> None:
    """Write a file and check its SHA-256. If it does not match, raise and leave `path` as is."""
    part = path.with_name(f".{path.name[:100]}.{uuid4().hex[:8]}.part")
    digest = hashlib.sha256()
    try:
        with part.open("wb") as file:
            for chunk in chunks:
                digest.update(chunk)
                file.write(chunk)
        if digest.hexdigest() != sha256:
            raise BenthamError(
                f"the content received for {path} does not match its SHA-256; try again"
            )
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
