"""Forecasts by a process of their own, so that whoever else asks the server does not wait."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from bentham.errors import ForecastFailed
from bentham.wire.whatif import WhatIfCreate

COMMAND = (sys.executable, "-m", "bentham.forecast")
# The process itself ends before that; one that does not is stuck.
SECONDS = 600.0
LONGEST_LINE = 4 * 2**20
# One core is enough: others have work to do on this machine.
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class ForecastProcess:
    """Starts a process for every question; it reads the log that the server writes."""

    def __init__(
        self,
        data: Path,
        database: str | None,
        command: Sequence[str] = COMMAND,
        seconds: float = SECONDS,
    ):
        self._where = {"data": str(data), "database": database}
        self._command, self._seconds = command, seconds

    async def __call__(
        self, asked: WhatIfCreate, now: float
    ) -> AsyncGenerator[dict[str, Any], None]:
        """What is found out, piece by piece; closing it ends the process."""
        request = {**self._where, **asked.model_dump(), "now": now, "seed": 0}
        process = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=asyncio.subprocess.PIPE,  # where the database is must not stand among arguments
            stdout=asyncio.subprocess.PIPE,
            limit=LONGEST_LINE,
            env={**os.environ, **dict.fromkeys(_ONE_THREAD, "1")},
        )
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            with suppress(ConnectionError):  # who ended already is heard of below
                process.stdin.write(json.dumps(request).encode() + b"\n")
                await process.stdin.drain()
            loop = asyncio.get_running_loop()
            until = loop.time() + self._seconds
            while line := await _line(process.stdout, until - loop.time()):
                yield _piece(line)
            code = await process.wait()
            if code:
                raise ForecastFailed(
                    f"the process that computes it ended with code {code}; try fewer draws, and "
                    "see the server's log"
                )
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


async def _line(stream: asyncio.StreamReader, left: float) -> bytes:
    try:
        async with asyncio.timeout(left):
            return await stream.readline()
    except TimeoutError:
        raise ForecastFailed("it took too long, and was given up; ask for fewer draws") from None
    except ValueError:
        raise ForecastFailed("the process that computes it said too much at once") from None


def _piece(line: bytes) -> dict[str, Any]:
    try:
        piece = json.loads(line)
    except ValueError:
        piece = None
    if not isinstance(piece, dict):
        raise ForecastFailed("the process that computes it did not say what was expected")
    if "failed" in piece:
        raise ForecastFailed(str(piece["failed"]))
    return piece
