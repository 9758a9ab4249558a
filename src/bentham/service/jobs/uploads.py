"""Receives files, inspects them in a separate process, and stores those that are datasets.

A file is hostile until it is parsed. So it is parsed by a process with limited memory and time and
without secrets, and the output of that process is validated like any other input.
"""

import asyncio
import hashlib
import os
import signal
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
# Concurrent uploads, of one token and of all; and concurrent inspections, at most one per tenant:
# the others wait.
UPLOADS_OF_TOKEN, UPLOADS, INSPECTIONS = 4, 64, 2
PREFIX = "bentham-upload-"
DATA, FITTED = "data/", "fitted/"  # the keys of stored files start with these
SECONDS, MEMORY_MIB = 60.0, 4096
PART = 2**18
LARGEST_ANSWER = 2**24
# The environment variables that the process which parses hostile files gets.
PASSED = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "PYTHONPATH", "LD_LIBRARY_PATH", "TMPDIR", "TZ")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class ReceivedFile:
    """A received file on disk, deleted when `receive` is left."""

    path: Path
    hash: str
    bytes: int

    def is_zip(self) -> bool:
        """Whether it begins like a zip file; its content is not looked at."""
        with self.path.open("rb") as file:
            return file.read(2) == b"PK"


def content_key(tenant: str, digest: str) -> str:
    """Return the storage key of a tenant's file.

    Keys of tenants differ: otherwise timing would reveal that another tenant has the same file.
    """
    return f"{DATA}{tenant}/{digest}"


def fitted_key(tenant: str, trial: str) -> str:
    """Return the storage key of the fitted model that a trial made."""
    return f"{FITTED}{tenant}/{trial}"


def log_key(trial: str) -> str:
    """Return the storage key of a trial's log."""
    return f"log/{trial}"


class Intake:
    """Receives uploads. Hold `keeping` while adding or deleting files."""

    def __init__(self, files: Files):
        self.files = files
        self.keeping = asyncio.Lock()
        self._uploads: Counter[str] = Counter()  # by token
        self._inspections = asyncio.Semaphore(INSPECTIONS)
        self._turns: dict[str, asyncio.Lock] = {}  # by tenant

    @asynccontextmanager
    async def receive(self, body: AsyncIterator[bytes], token: str) -> AsyncIterator[ReceivedFile]:
        """Write an upload to a temporary file, which is deleted at the end."""
        if self._uploads[token] >= UPLOADS_OF_TOKEN or self._uploads.total() >= UPLOADS:
            raise TooMany("too many concurrent uploads; send one after the other", retry_after=2.0)
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
                cause = error.strerror or "a disk error"
                raise Unready(
                    f"uploads cannot be accepted now ({cause})", retry_after=5.0
                ) from None
            yield ReceivedFile(path, digest.hexdigest(), size)
        finally:
            self._uploads -= Counter({token: 1})
            if path is not None:
                path.unlink(missing_ok=True)

    async def inspect(
        self, received: ReceivedFile, name: str, shape: str, tenant: str
    ) -> Inspection:
        """Return what a file contains; refuse one that is no dataset. One at a time per tenant."""
        async with self._turns.setdefault(tenant, asyncio.Lock()), self._inspections:
            output, reason = await _inspected(received.path, shape)
        try:
            found = Inspection.model_validate_json(output)
        except ValidationError:
            # Without the output: that is a tenant's data.
            logger.warning(
                "an inspection failed",
                tenant=tenant,
                file=name,
                format=shape,
                bytes=received.bytes,
                reason=reason or "its output is cut off",
            )
            raise Invalid(
                "the file cannot be read within the limits on memory and time; send a smaller one, "
                "or save it again as plain CSV"
            ) from None
        if found.refusal:
            raise Invalid(found.refusal)
        return found

    async def keep(self, key: str, received: ReceivedFile) -> None:
        """Store a file; durable on return."""
        await self.run(lambda: self.files.save(key, _parts(received.path)))

    async def drop(self, *keys: str) -> None:
        """Delete files or logs."""

        def work() -> None:
            for key in keys:
                self.files.drop(key)

        await self.run(work)

    async def tidy(self, kept: set[str]) -> None:
        """Delete all files but `kept`: those left by interrupted uploads and drops.

        Only for the instance that leads, while it holds `keeping`.
        """

        def work() -> None:
            _delete_abandoned_uploads()
            self.files.tidy()

        await self.run(work)
        found = await self.drop_others(DATA, kept) + await self.drop_others(FITTED, kept)
        if found:
            logger.info("orphaned files were deleted", contents=found)

    async def drop_others(self, prefix: str, kept: set[str]) -> int:
        """Delete all files with this prefix but `kept`; return their number."""

        def work() -> int:
            left = [key for key in self.files.keys(prefix) if key not in kept]
            for key in left:
                self.files.drop(key)
            return len(left)

        return await self.run(work)

    async def run(self, work: Callable[[], Result]) -> Result:
        """Run an operation on files in a thread, not on the event loop."""
        try:
            return await asyncio.get_running_loop().run_in_executor(None, work)
        except StorageUnavailable as error:
            raise Unready(str(error), retry_after=1.0) from None


def _delete_abandoned_uploads() -> None:
    """Delete temporary files of servers that were killed during an upload."""
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        owner = path.name.removeprefix(PREFIX).partition("-")[0]
        try:
            os.kill(int(owner), 0)
        except ProcessLookupError:
            path.unlink(missing_ok=True)
        except (ValueError, OSError):
            continue  # not ours, or of a running process


def _parts(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while part := file.read(PART):
            yield part


async def _inspected(path: Path, shape: str) -> tuple[bytes, str]:
    """Return the output of the inspecting process, and why it has none, if so."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bentham.training.inspect", "--format", shape,
        "--memory", str(MEMORY_MIB), "--seconds", f"{SECONDS:g}", str(path),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=_environment(),
    )  # fmt: skip
    assert process.stdout is not None
    output = b""
    try:
        async with asyncio.timeout(SECONDS + 10.0):
            while len(output) < LARGEST_ANSWER and (part := await process.stdout.read(PART)):
                output += part
            if len(output) >= LARGEST_ANSWER:
                return b"", f"its output is larger than {LARGEST_ANSWER:,} bytes"
            code = await process.wait()
        return output, _ending(code) if code else ""
    except TimeoutError:
        return b"", f"it took longer than {SECONDS + 10.0:g} s"
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def _ending(code: int) -> str:
    """Return how a process ended whose exit code is not 0."""
    if code > 0:
        return f"the process ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    causes = {"SIGKILL": " (out of CPU time or memory)", "SIGXCPU": " (out of CPU time)"}
    return f"the process was ended by {name}{causes.get(name, '')}"


def _environment() -> dict[str, str]:
    passed = {name: os.environ[name] for name in PASSED if name in os.environ}
    return {**passed, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
