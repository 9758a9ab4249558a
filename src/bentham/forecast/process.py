"""Computes forecasts in separate processes, so that other requests to the server do not wait."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bentham.errors import ForecastFailed
from bentham.service import Question

COMMAND = (sys.executable, "-m", "bentham.forecast")
# The timeout. The process ends earlier by itself, unless it is stuck.
SECONDS = 600.0
LONGEST_LINE = 4 * 2**20
# One core is enough: the server and its devices need the others.
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class ForecastProcess:
    """Starts a process for every question, which reads the log that the server writes."""

    def __init__(
        self,
        data: Path,
        database: str | None,
        command: Sequence[str] = COMMAND,
        seconds: float = SECONDS,
    ):
        self._location = {"data": str(data), "database": database}
        self._command, self._seconds = command, seconds

    async def __call__(self, question: Question) -> AsyncGenerator[dict[str, Any], None]:
        """Yield the result piece by piece; closing the generator ends the process."""
        request = {**self._location, "question": asdict(question)}
        process = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=asyncio.subprocess.PIPE,  # arguments are public, and a database URL is secret
            stdout=asyncio.subprocess.PIPE,
            limit=LONGEST_LINE,
            env={**os.environ, **dict.fromkeys(_ONE_THREAD, "1")},
        )
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            with suppress(ConnectionError):  # it has ended: its exit code is reported below
                process.stdin.write(json.dumps(request).encode() + b"\n")
                await process.stdin.drain()
            loop = asyncio.get_running_loop()
            deadline = loop.time() + self._seconds
            while line := await _line(process.stdout, deadline - loop.time()):
                yield _piece(line)
            code = await process.wait()
            if code:
                raise ForecastFailed(
                    f"the forecast process ended with code {code}; use fewer draws, and see the "
                    "server's log"
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
        raise ForecastFailed("it took too long and was stopped; use fewer draws") from None
    except ValueError:
        raise ForecastFailed("the forecast process sent a line that is too long") from None


def _piece(line: bytes) -> dict[str, Any]:
    try:
        piece = json.loads(line)
    except ValueError:
        piece = None
    if not isinstance(piece, dict):
        raise ForecastFailed("the forecast process sent unexpected output")
    if "failed" in piece:
        raise ForecastFailed(str(piece["failed"]))
    return piece
