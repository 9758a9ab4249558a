"""Inspects each distinct file once per test process, since the real process imports pandas.

The first upload of a file is inspected by the process that the service starts. Later uploads of the
same content get the same output, unless it was empty: then the process failed.
"""

import hashlib
from pathlib import Path

from bentham.service.jobs import uploads

_inspect = uploads._inspected
_outputs: dict[tuple[str, str], tuple[bytes, str]] = {}


async def inspect_once(path: Path, shape: str) -> tuple[bytes, str]:
    """Return the output of an inspection, from the process or from an earlier inspection."""
    key = hashlib.sha256(path.read_bytes()).hexdigest(), shape
    found = _outputs.get(key) or await _inspect(path, shape)
    if found[0]:
        _outputs[key] = found
    return found


def install() -> None:
    """Use `inspect_once` for all services of this process."""
    uploads._inspected = inspect_once
