"""The engine: the only place where the pool is read and changed, and where the log is written.

It runs on one event loop and handles requests in turn. A batch of requests is applied to the pool
in memory, then its events are committed in one transaction, and only then are the replies sent:
whatever a client has received is in the log. While a commit is in progress, requests queue for the
next batch, so that one write to disk serves many.

If a commit fails, the pool is ahead of the log. All requests get 503, and no more are accepted
until the same events are in the log. A client that then repeats a request with its key gets its
reply. If another instance has written in the meantime, the uncommitted events never happened: this
instance discards its pool and goes on standby.
"""

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import structlog

from bentham.core.learning.fit_task import FitTask
from bentham.core.learning.fit_task import Result as FitResult
from bentham.errors import BenthamError, InvalidRecording, SequenceConflict, StorageUnavailable
from bentham.service.engine.clock import Clock, SystemClock
from bentham.service.engine.feeds import Feeds
from bentham.service.engine.leases import Terms
from bentham.service.engine.scope import SERVER, Caller, caller_of
from bentham.service.engine.working_state import Describe, Observer, SilentObserver, WorkingState
from bentham.service.fold import events
from bentham.service.fold.pool import Pool
from bentham.service.fold.recovery import recover
from bentham.service.fold.table import BY_KIND
from bentham.service.refusals import Conflicting, Invalid, Refusal, Unready
from bentham.storage import EventLog

Result = TypeVar("Result")
logger = structlog.get_logger("bentham.engine")

BATCH = 64
# Queries may be many and slow: after this time, the event loop serves connections.
TURN_SECONDS = 0.02
SLOW_SECONDS = 2.0
TICK = 0.25
RETRY = 0.5
STANDBY = 1.0

SNAPSHOT_EVENTS = 100_000


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of an instance; `first` is the first event of a new log.

    `admin` issues an admin token for a new log; with `new_admin`, also for an existing one.
    """

    first: events.PoolCreated
    admin: Callable[[], events.TokenIssued] | None = None
    new_admin: bool = False
    terms: Terms = field(default_factory=Terms)
    patience: int | None = 10_000
    snapshot_events: int = SNAPSHOT_EVENTS


@dataclass(slots=True)
class PendingRequest(Generic[Result]):
    """A queued request."""

    token: str | None  # None for the server itself
    carry_out: Callable[[WorkingState, Caller], Result]
    done: "asyncio.Future[Result]"
    result: Any = None
    refusal: Exception | None = None

    def deliver(self) -> None:
        """Deliver the outcome, unless the caller has gone or already received one."""
        if self.done.done():
            return
        if self.refusal is not None:
            self.done.set_exception(self.refusal)
        else:
            self.done.set_result(self.result)


class Fits(Protocol):
    """Computes fits while the engine continues to make decisions."""

    def begin(self, task: FitTask) -> FitResult:
        """Start a fit; calling the result waits for it."""

    def close(self) -> None:
        """Stop permanently."""


class Engine:
    """One instance of the service, leading or on standby."""

    def __init__(
        self,
        log: EventLog,
        settings: Settings,
        clock: Clock | None = None,
        observer: Observer | None = None,
        snapshot: Callable[[], None] | None = None,
        fits: Fits | None = None,
    ):
        self.phase = "starting"
        self.failure = ""  # why it cannot continue
        self.fail: Callable[[], None] = lambda: None  # called on a failure
        # Returns the data of an event that listeners receive.
        self.describe: Describe = lambda _, feed_event: {"name": feed_event.subject}
        self.progress = (0, 0)
        self.settings = settings
        self.feeds = Feeds()
        self.log = log
        self.clock = clock or SystemClock()
        self.observer = observer or SilentObserver()
        self.working = self._working_state_of(Pool())
        self._followed: Pool | None = None  # on standby: the pool of the log read so far
        self._admitted = False
        self._snapshot = snapshot
        self._snapshot_at = 0
        self._requests: deque[PendingRequest[Any]] = deque()
        self._wake = asyncio.Event()
        self.changed = asyncio.Event()  # set, and replaced, when there may be something to run
        self.stopping = False
        # One thread writes, so that appends keep their order; other threads read.
        self._writer = ThreadPoolExecutor(1, "bentham-log")
        self._fits = fits
        self._task: asyncio.Task[None] | None = None

    # -- requests

    @property
    def ready(self) -> bool:
        """Whether requests are accepted."""
        return self.phase == "serving"

    @property
    def lag(self) -> int:
        """The number of events that are applied but not committed yet."""
        return len(self.working.pending)

    async def ask(
        self, token: str | None, carry_out: Callable[[WorkingState, Caller], Result]
    ) -> Result:
        """Queue a function of the working state; return its result after the commit."""
        if self.phase != "serving":
            raise self._unready()
        done: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._requests.append(PendingRequest(token, carry_out, done))
        self._wake.set()
        return await done

    def _unready(self) -> Unready:
        text = {
            "starting": "the server is starting; try again shortly",
            "standby": "this instance is on standby while another one serves; use that one",
            "replaying": "the server is replaying its log; try again shortly",
            "unavailable": "the storage is unavailable, so nothing can be saved; try again with "
            "the same Idempotency-Key",
        }.get(self.phase, "the server is stopping")
        return Unready(text, retry_after=1.0)

    # -- lifecycle

    def start(self) -> None:
        """Start, on the running event loop."""
        self._task = asyncio.get_running_loop().create_task(self._live(), name="bentham-engine")

    def begin_stop(self) -> None:
        """Release waiting requests and open streams, so that nothing delays the shutdown."""
        self.stopping = True
        self._wake.set()
        self.changed.set()
        self.feeds.close()

    async def stop(self) -> None:
        """Handle the queued requests, then close the log."""
        self.begin_stop()
        if self._task is not None:
            await self._task
        self.phase = "stopped"
        self._writer.shutdown(wait=True)
        if self._fits is not None:
            self._fits.close()
        self.log.close()

    async def _live(self) -> None:
        while not self.stopping:
            try:
                if await self._lead():
                    await self._recover()
                    await self._serve()
            except SequenceConflict as error:
                logger.error("another instance has written; going on standby", reason=str(error))
                self.phase = "starting"
            except InvalidRecording as error:  # a retry would not help
                logger.error("the log cannot be read; the server stops", reason=str(error))
                self.failure = str(error)
                self.fail()
                break
            except StorageUnavailable as error:
                logger.error("the storage is unavailable", reason=str(error))
                await self._pause("unavailable", RETRY)
            except Exception:
                # The pool may be half changed: start again from what is committed.
                logger.exception("internal error in the engine; replaying the log")
                await self._pause("starting", RETRY)
            self._forget()
        self.phase = "stopping"  # later requests would get no reply

    async def _pause(self, phase: str, seconds: float) -> None:
        self.phase = phase
        self._refuse_all()
        self._wake.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._wake.wait()

    async def _lead(self) -> bool:
        while not self.stopping:
            if await self._in_writer(self.log.lead):
                return True
            if self.phase != "standby":
                logger.info("another instance is serving; going on standby")
            await self._pause("standby", STANDBY)
            # So that a takeover has only the last second to read, however long the log is.
            self._followed = await self._in_writer(self._follow)
        return False

    def _follow(self) -> Pool:
        return recover(self.log, known=self._followed, loaded=self._note_snapshot)

    async def _recover(self) -> None:
        self.phase = "replaying"
        began = self.clock.instant()
        known, self._followed = self._followed, None
        pool = await self._in_writer(
            lambda: recover(self.log, self._note_progress, known=known, loaded=self._note_snapshot)
        )
        # After a slow replay, save a snapshot. Otherwise an instance that never runs long enough
        # to be due for one would take longer with every start.
        slow = self.clock.instant() - began > SLOW_SECONDS
        working = self.working = self._working_state_of(pool)
        if pool.created is None:
            working.record([self.settings.first], working.now())
        fresh = pool.sequence == 1 or self.settings.new_admin
        if self.settings.admin is not None and fresh and not self._admitted:
            self._admitted = True  # once, however often this instance becomes the leader
            working.record([self.settings.admin()], working.now())
        if pool.scheduler.patience != self.settings.patience:
            working.record([events.SettingsChanged(self.settings.patience)], working.now())
        if self._fits is not None:
            pool.scheduler.fit_by(self._fits.begin)
        await self._commit()
        logger.info("serving", events=pool.sequence, studies=len(pool.studies))
        if slow and self._snapshot is not None:
            self._snapshot()

    def _note_snapshot(self, sequence: int) -> None:
        self._snapshot_at = sequence

    def _note_progress(self, done: int, total: int) -> None:
        self.progress = done, total

    def _forget(self) -> None:
        """Discard the state in memory: what is not in the log never happened."""
        self.working = self._working_state_of(Pool())
        self.feeds.forget()
        self._followed = None
        self._refuse_all()

    def _working_state_of(self, pool: Pool) -> WorkingState:
        return WorkingState(pool, self.settings.terms, self.clock, self.observer)

    def _refuse_all(self) -> None:
        refusal = self._unready()
        while self._requests:
            request = self._requests.popleft()
            if not request.done.done():
                request.done.set_exception(refusal)

    async def _serve(self) -> None:
        self.phase = "serving"
        next_tick = self.clock.instant()
        while not (self.stopping and not self._requests):
            if not self._requests:
                self._wake.clear()
                left = next_tick - self.clock.instant()
                if left > 0.0:
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(min(left, TICK)):
                            await self._wake.wait()
            if self.clock.instant() >= next_tick:
                next_tick = self.clock.instant() + TICK
                self._tick()
            await self._take()
            if self._requests:
                await asyncio.sleep(0)

    async def _take(self) -> None:
        """Carry out a batch of requests, commit, reply."""
        batch: list[PendingRequest[Any]] = []
        until = time.perf_counter() + TURN_SECONDS
        try:
            while (
                self._requests and len(batch) < BATCH and (not batch or time.perf_counter() < until)
            ):
                batch.append(self._requests.popleft())
                self._carry_out(batch[-1])
            if self.working.pending:
                await self._commit_or_wait(batch)
            self.working.announce(self.feeds, self.describe)
        except BaseException:
            for request in batch:
                request.refusal = Unready(
                    "the server is replaying its log; try again", retry_after=1.0
                )
            raise
        finally:
            for request in batch:
                request.deliver()

    def _carry_out(self, request: PendingRequest[Any]) -> None:
        working = self.working
        try:
            caller = SERVER
            if request.token is not None:
                caller = caller_of(working.pool.tokens, request.token, working.now())
            request.result = request.carry_out(working, caller)
        except Refusal as refusal:
            request.refusal = refusal
        except BenthamError as error:  # refused by the core, before any change
            working.applying = False
            status = Invalid if isinstance(error, ValueError) else Conflicting
            request.refusal = status(str(error))
        except Exception as error:
            if working.applying:
                raise
            logger.exception("internal error in a request, which changed nothing")
            request.refusal = error

    def _tick(self) -> None:
        # Another instance may have written events since: read the whole log again.
        if not self.log.leads():
            raise SequenceConflict("this instance is no longer the leader")
        self.working.pass_time()
        due = self.working.pool.sequence - self._snapshot_at >= self.settings.snapshot_events
        if due and self._snapshot is not None:
            self._snapshot_at = self.working.pool.sequence
            self._snapshot()

    async def _commit_or_wait(self, batch: list[PendingRequest[Any]]) -> None:
        try:
            await self._commit()
            return
        except StorageUnavailable as error:
            logger.error("the commit failed; refusing all requests", reason=str(error))
        self.phase = "unavailable"
        for request in batch:
            request.refusal = self._unready()
            request.deliver()
        while True:
            await self._pause("unavailable", RETRY)
            if self.stopping:
                return
            try:
                await self._commit()
                break
            except StorageUnavailable:
                continue
        logger.info("the storage is available again")
        self.working.renew_all()  # leases could not be renewed in the meantime
        self.phase = "serving"

    async def _commit(self) -> None:
        records = self.working.pending
        if records:
            began = self.clock.instant()
            await self._in_writer(lambda: self.log.append(records))
            self.observer.committed(len(records), self.clock.instant() - began)
            self.working.committed(self.feeds, self.describe)
            if any(BY_KIND[record.kind].opens for record in records):
                changed, self.changed = self.changed, asyncio.Event()
                changed.set()

    async def _in_writer(self, work: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._writer, work)
