"""Inspects uploads here: the process that the service starts for each one imports pandas anew.

The tests of uploads use the real process: they call `in_processes`. It inspects each content once
per test process; later uploads of the same content get the same output, unless it was empty: then
the process failed.
"""

import asyncio
import hashlib
from pathlib import Path

import pytest

from bentham.service.jobs import uploads

_inspect = uploads._inspected
_outputs: dict[tuple[str, str], tuple[bytes, str]] = {}


async def inspect_here(path: Path, shape: str) -> tuple[bytes, str]:
    """Return what the inspecting process would print."""
    from bentham.training.inspect import inspect_file  # imports pandas

    inspection = await asyncio.to_thread(inspect_file, path, "csv" if shape == "csv" else "parquet")
    return inspection.model_dump_json().encode(), ""


async def inspect_once(path: Path, shape: str) -> tuple[bytes, str]:
    """Return the output of the inspecting process, from now or from an earlier inspection."""
    key = hashlib.sha256(path.read_bytes()).hexdigest(), shape
    found = _outputs.get(key) or await _inspect(path, shape)
    if found[0]:
        _outputs[key] = found
    return found


def install() -> None:
    """Use `inspect_here` for all services of this process."""
    uploads._inspected = inspect_here


@pytest.fixture
def in_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inspect uploads as the service does."""
    monkeypatch.setattr(uploads, "_inspected", inspect_once)
