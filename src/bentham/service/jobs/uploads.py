"""Takes in files: looks into them in a process of its own, and keeps those that are datasets.

A file is hostile until it is parsed. So it is parsed by a process with little memory and time that
knows nothing, and what comes back is read as any other input.
"""

import asyncio
import hashlib
import os
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import structlog
from pydantic import ValidationError

from bentham.errors import StorageUnavailable
from bentham.service.refusals import Invalid, TooMany, Unready
from bentham.storage import Files
from bentham.training.dataset import Inspection

logger = structlog.get_logger("bentham.intake")
# Uploads at a time, of one token and of all; and files looked into at a time, one of each tenant:
# the others wait in turn.
UPLOADS_OF_TOKEN, UPLOADS, INSPECTIONS = 4, 64, 2
PREFIX = "bentham-upload-"
SECONDS, MEMORY_MIB = 60.0, 4096
PART = 2**18
LARGEST_ANSWER = 2**24
# What a process that parses hostile files is told of this one's environment.
PASSED = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "PYTHONPATH", "LD_LIBRARY_PATH", "TMPDIR", "TZ")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Taken:
    """A file on disk, until the intake is left."""

    path: Path
    hash: str
    bytes: int


def content_key(tenant: str, digest: str) -> str:
    """Where a tenant's content is kept: nobody can tell by time whether another has it, too."""
    return f"data/{tenant}/{digest}"


def log_key(trial: str) -> str:
    """Where what a trial printed is kept."""
    return f"log/{trial}"


class Intake:
    """Where uploads arrive. `keeping` is held by whoever adds or drops content."""

    def __init__(self, files: Files):
        self.files = files
        self.keeping = asyncio.Lock()
        self._uploads: Counter[str] = Counter()  # by token
        self._inspections = asyncio.Semaphore(INSPECTIONS)
        self._turns: dict[str, asyncio.Lock] = {}  # of tenants

    @asynccontextmanager
    async def receive(self, body: AsyncIterator[bytes], token: str) -> AsyncIterator[Taken]:
        """Write an upload to a file that is gone in the end."""
        if self._uploads[token] >= UPLOADS_OF_TOKEN or self._uploads.total() >= UPLOADS:
            raise TooMany("too many uploads at a time; send one after the other", retry_after=2.0)
        self._uploads[token] += 1
        path: Path | None = None
        try:
            try:
                handle, name = tempfile.mkstemp(prefix=f"{PREFIX}{os.getpid()}-")
                path, digest, size = Path(name), hashlib.sha256(), 0
                with os.fdopen(handle, "wb") as file:
                    async for part in body:
                        file.write(part)
                        digest.update(part)
                        size += len(part)
            except OSError as error:
                what = error.strerror or "an error of the disk"
                raise Unready(f"uploads cannot be taken now ({what})", retry_after=5.0) from None
            yield Taken(path, digest.hexdigest(), size)
        finally:
            self._uploads -= Counter({token: 1})
            if path is not None:
                path.unlink(missing_ok=True)

    async def inspect(self, taken: Taken, shape: str, tenant: str) -> Inspection:
        """What is in a file; refused if it is no dataset. One of a tenant's is looked at a time."""
        async with self._turns.setdefault(tenant, asyncio.Lock()), self._inspections:
            said = await _inspected(taken.path, shape)
        try:
            found = Inspection.model_validate_json(said)
        except ValidationError:
            # Not what it said: that is a tenant's data.
            logger.warning("an inspection failed", bytes=taken.bytes, said_bytes=len(said))
            raise Invalid(
                "the file cannot be read within the memory and time there is; send a smaller one, "
                "or save it again as plain CSV"
            ) from None
        if found.refusal:
            raise Invalid(found.refusal)
        return found

    async def keep(self, tenant: str, taken: Taken) -> None:
        """Store a file by its hash; durable on return."""
        key = content_key(tenant, taken.hash)
        await self.run(lambda: self.files.save(key, _parts(taken.path)))

    async def drop(self, *keys: str) -> None:
        """Forget contents or logs."""

        def work() -> None:
            for key in keys:
                self.files.drop(key)

        await self.run(work)

    async def tidy(self, kept: set[str]) -> None:
        """Forget contents but those kept: what uploads and drops that were cut off have left.

        For the instance that leads, and for whoever holds `keeping`.
        """

        def work() -> int:
            _forget_uploads()
            self.files.tidy()
            left = [key for key in self.files.keys("data/") if key not in kept]
            for key in left:
                self.files.drop(key)
            return len(left)

        if found := await self.run(work):
            logger.info("contents that no dataset has were dropped", contents=found)

    async def run(self, work: Callable[[], Result]) -> Result:
        """Do something with files, away from the event loop."""
        try:
            return await asyncio.get_running_loop().run_in_executor(None, work)
        except StorageUnavailable as error:
            raise Unready(str(error), retry_after=1.0) from None


def _forget_uploads() -> None:
    """Remove the files of servers that were killed while they took something in."""
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        owner = path.name.removeprefix(PREFIX).partition("-")[0]
        try:
            os.kill(int(owner), 0)
        except ProcessLookupError:
            path.unlink(missing_ok=True)
        except (ValueError, OSError):
            continue  # not ours, or of somebody who lives


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
        env=_environment(),
    )  # fmt: skip
    assert process.stdout is not None
    said = b""
    try:
        async with asyncio.timeout(SECONDS + 10.0):
            while len(said) < LARGEST_ANSWER and (part := await process.stdout.read(PART)):
                said += part
        return said
    except TimeoutError:
        return b""
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def _environment() -> dict[str, str]:
    passed = {name: os.environ[name] for name in PASSED if name in os.environ}
    return {**passed, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
