"""Takes in files: looks into them in a process of its own, and keeps those that are datasets.

A file is hostile until it is parsed. So it is parsed by a process with little memory and time that
knows nothing, and what comes back is read as any other input.
"""

import asyncio
import hashlib
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import structlog
from pydantic import ValidationError

from bentham import wire
from bentham.errors import StorageUnavailable
from bentham.service.refusals import Invalid, Unready
from bentham.storage import Files

logger = structlog.get_logger("bentham.intake")
# Uploads under way, and files looked into, at a time; the others wait.
UPLOADS, INSPECTIONS = 4, 1
SECONDS, MEMORY_MIB = 120.0, 4096
PART = 2**18
LARGEST_ANSWER = 2**24
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Taken:
    """A file on disk, until the intake is left."""

    path: Path
    hash: str
    bytes: int


def log_key(trial: str) -> str:
    """Where what a trial printed is kept."""
    return f"log/{trial}"


class Intake:
    """Where uploads arrive. `keeping` is held by whoever adds or drops content."""

    def __init__(self, files: Files):
        self.files = files
        self.keeping = asyncio.Lock()
        self._uploads = asyncio.Semaphore(UPLOADS)
        self._inspections = asyncio.Semaphore(INSPECTIONS)

    @asynccontextmanager
    async def receive(self, body: AsyncIterator[bytes]) -> AsyncIterator[Taken]:
        """Write an upload to a file that is gone in the end."""
        async with self._uploads:
            handle, name = tempfile.mkstemp(prefix="bentham-upload-")
            try:
                digest, size = hashlib.sha256(), 0
                with os.fdopen(handle, "wb") as file:
                    async for part in body:
                        file.write(part)
                        digest.update(part)
                        size += len(part)
                yield Taken(Path(name), digest.hexdigest(), size)
            finally:
                os.unlink(name)

    async def inspect(self, taken: Taken, shape: str) -> wire.Inspection:
        """What is in a file; refused if it is no dataset."""
        async with self._inspections:
            said = await _inspected(taken.path, shape)
        try:
            found = wire.Inspection.model_validate_json(said)
        except ValidationError:
            logger.warning("an inspection failed", bytes=taken.bytes, said=said[-500:])
            raise Invalid(
                "the file cannot be read within the memory and time there is; send a smaller one, "
                "or save it again as plain CSV"
            ) from None
        if found.refusal:
            raise Invalid(found.refusal)
        return found

    async def keep(self, taken: Taken) -> None:
        """Store a file by its hash; durable on return."""
        await self.run(lambda: self.files.save(taken.hash, _parts(taken.path)))

    async def drop(self, digest: str) -> None:
        """Forget a content."""
        await self.run(lambda: self.files.drop(digest))

    async def run(self, work: Callable[[], Result]) -> Result:
        """Do something with files, away from the event loop."""
        try:
            return await asyncio.get_running_loop().run_in_executor(None, work)
        except StorageUnavailable as error:
            raise Unready(str(error), retry_after=1.0) from None


def _parts(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while part := file.read(PART):
            yield part


async def _inspected(path: Path, shape: str) -> bytes:
    """What the inspecting process says; nothing if it does not end in time."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bentham.training.inspect", "--format", shape,
        "--memory", str(MEMORY_MIB), "--seconds", f"{SECONDS:g}", str(path),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        limit=LARGEST_ANSWER,
        env={**_plain(os.environ), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip
    assert process.stdout is not None
    try:
        async with asyncio.timeout(SECONDS + 10.0):
            said = await process.stdout.read(LARGEST_ANSWER)
            await process.wait()
        return said
    except TimeoutError:
        return b""
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def _plain(environment: "os._Environ[str]") -> dict[str, str]:
    """Without what is secret: this process has no business with it."""
    return {name: value for name, value in environment.items() if "BENTHAM" not in name}
