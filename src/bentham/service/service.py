"""The front door: everything that may be asked of the service, each with the token of who asks."""

import asyncio
import contextlib
import hashlib
import itertools
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Concatenate, ParamSpec, TypeVar

import structlog

from bentham import wire
from bentham.errors import BenthamError, StorageUnavailable
from bentham.service.commands import datasets as dataset_commands
from bentham.service.commands.devices import NothingToRun, Waiting, held, lease
from bentham.service.engine.engine import RETRY, Engine
from bentham.service.engine.feeds import Happening, Subscription, Told
from bentham.service.engine.rules import Events
from bentham.service.engine.scope import Caller, require
from bentham.service.engine.tokens import caller_of
from bentham.service.engine.turn import Look, Turn, roles_of, unchanged_of
from bentham.service.engine.working_state import WorkingState
from bentham.service.fold import events as happened
from bentham.service.jobs.uploads import Intake, content_key, log_key
from bentham.service.jobs.whatifs import Forecaster, WhatIfs
from bentham.service.refusals import Invalid, Missing, Refusal, TooMany, Unauthenticated, Unready
from bentham.service.views import queries
from bentham.service.views.answers import answer
from bentham.service.views.audit import log_view
from bentham.service.views.baseline import Replays
from bentham.service.views.entities import View, token_view, trial_view
from bentham.service.views.estimates import Estimates
from bentham.storage import Files, Record
from bentham.training.catalog import Catalog

logger = structlog.get_logger("bentham.service")
Result = TypeVar("Result")
Parameters = ParamSpec("Parameters")
START_SECONDS = 0.5  # between looks whether this instance leads
MISSED_AT_ONCE = 50  # missed events shown in one turn
MOST_LISTENERS, MOST_OF_TOKEN = 1000, 50


@dataclass(frozen=True, slots=True)
class Stamp:
    """What else is known of a request that changes something."""

    request: str = ""  # its id in logs
    key: str = ""  # the idempotency key, see `scoped_key`
    device: str = ""  # it is a sign of life of this device


class Service:
    """Reads and writes, one after the other, answered when they are committed."""

    def __init__(
        self,
        engine: Engine,
        files: Files,
        catalog: Catalog,
        forecaster: Forecaster | None = None,
        latency: Callable[[], View | None] = lambda: None,
    ):
        """`forecaster` answers what-ifs; without one they are refused."""
        self.engine = engine
        self.catalog = catalog
        self.intake = Intake(files)
        self.estimates = Estimates()
        self.whatifs = WhatIfs(forecaster, engine.clock.time)
        self.listeners: Counter[str] = Counter()  # open streams, by token
        self._replays = Replays()
        self._latency = latency
        self._nothing = NothingToRun()
        self._tidying: asyncio.Task[None] | None = None
        engine.describe = describe

    # -- its life

    def start(self) -> None:
        """Begin to serve, on the running event loop."""
        self.engine.start()
        self._tidying = asyncio.get_running_loop().create_task(self.drop_left_over())

    def begin_stop(self) -> None:
        """Whoever waits or listens is let go, so that nothing holds up the end."""
        self.engine.begin_stop()

    async def stop(self) -> None:
        """Carry out what is in line, then let go of everything."""
        if self._tidying is not None:
            self._tidying.cancel()
        await self.whatifs.close()
        await self.engine.stop()
        self.intake.files.close()
        self._replays.close()

    @property
    def ready(self) -> bool:
        """Whether requests are taken."""
        return self.engine.ready

    def status(self) -> dict[str, object]:
        """The phase of this instance, and how far it is while it reads its log."""
        body: dict[str, object] = {"status": self.engine.phase}
        if self.engine.phase == "replaying":
            body["replayed"], body["events"] = self.engine.progress
        return body

    async def drop_left_over(self) -> None:
        """Once, when this instance leads: drop contents that no dataset has."""
        while not self.ready:
            await asyncio.sleep(START_SECONDS)
        try:
            async with self.intake.keeping:
                # Only now: who held it may have added one.
                kept = await self.engine.ask(None, _kept_contents)
                await self.intake.tidy(kept)
        except (Refusal, BenthamError) as error:  # the next start will
            logger.warning("left-over contents stay for now", reason=str(error))

    # -- reads and writes

    def caller(self, token: str) -> Caller | None:
        """Who a token belongs to, by what is committed; None if it is not good."""
        if not self.ready:
            return None
        working = self.engine.working
        try:
            return caller_of(working.tokens, token, working.now())
        except Unauthenticated:
            return None

    async def read(
        self,
        token: str,
        query: Callable[Concatenate[Look, Parameters], Result],
        *args: Parameters.args,
        **options: Parameters.kwargs,
    ) -> Result:
        """What a query shows, once everything that can be seen is committed."""
        return await self.engine.ask(token, partial(_read, query, args, options))

    async def write(
        self,
        token: str,
        stamp: Stamp,
        command: Callable[Concatenate[Turn, Parameters], Events],
        *args: Parameters.args,
        **options: Parameters.kwargs,
    ) -> View | None:
        """Have a command carried out and committed.

        The answer is that of its last event, or of the command's `unchanged` query where nothing
        had to happen.
        """
        return await self.engine.ask(token, partial(self._write, stamp, command, args, options))

    def _write(
        self,
        stamp: Stamp,
        command: Callable[..., Events],
        args: tuple[Any, ...],
        options: dict[str, Any],
        working: WorkingState,
        caller: Caller,
    ) -> View | None:
        require(caller, *roles_of(command))
        pool, leases, key, now = working.pool, working.leases, stamp.key, working.now()
        noted = pool.keys.find(key, caller.token) if key else None
        if noted is not None:
            if noted.body != key.partition(":")[2]:
                raise Invalid("this Idempotency-Key was used for another request; take a new one")
            asker = "" if caller.role == "admin" else caller.token
            return answer(pool, leases, now, noted.kind, noted.subject, asker)
        device = pool.devices.get(stamp.device)
        if key and device is not None and device.trial is not None and device.trial.key == key:
            # However many requests came between, who lost the answer gets it again.
            return answer(pool, leases, now, "trial-leased", device.trial.id)
        began = self.engine.clock.instant()
        events = command(Turn(working, caller), *args, **options)
        if stamp.device:
            working.saw(stamp.device)
        if not events:
            unchanged = unchanged_of(command)
            if unchanged is None:
                return None
            view: View | None = unchanged(Look(working, caller), *args, **options)
            if key and view is not None:  # a repeat must find nothing to change, either
                same = happened.RequestNoted(view["id"])
                working.happen([same], now, caller, stamp.request, key)
            return view
        if isinstance(events[-1], happened.TrialLeased):
            self.engine.observer.decided(self.engine.clock.instant() - began)
        subject = working.happen(events, now, caller, stamp.request, key)
        if isinstance(events[-1], happened.TokenIssued):  # only who made the secret knows it
            return token_view(pool.tokens[subject])
        return answer(pool, leases, now, happened.kind_of(events[-1]), subject)

    # -- devices

    async def lease(
        self,
        token: str,
        device: str,
        wait: float,
        stamp: Stamp,
        gone: Callable[[], Awaitable[bool]],
    ) -> View | None:
        """A trial to run, waited for up to `wait` seconds; for nobody, once they are `gone`."""
        # A worker counts its lease from when it asked: most of it must be left.
        wait = min(wait, self.engine.settings.terms.lease_seconds / 4.0)
        loop = asyncio.get_running_loop()
        give_up, waiting = loop.time() + wait, Waiting(device)
        while True:
            changed = self.engine.changed
            found = await self.write(token, stamp, lease, waiting, self._nothing)
            left = give_up - loop.time()
            if found is not None or left <= 0.0 or self.engine.stopping:
                return found
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await changed.wait()
            if self._ending() or await gone():
                return None

    def _ending(self) -> bool:
        return self.engine.stopping

    async def heartbeat(self, token: str, trial: str, body: wire.Heartbeat) -> View:
        """Renew the lease of a trial that still runs, and note how far it is."""
        return await self.engine.ask(token, partial(_heartbeat, trial, body))

    # -- contents and logs of trials

    async def upload(
        self,
        token: str,
        request: str,
        name: str,
        tenant: str | None,
        shape: str,
        body: AsyncIterator[bytes],
        gone: Callable[[], Awaitable[bool]],
    ) -> View:
        """Take a file in, look into it and make a dataset of it; the same again changes nothing."""
        # Who may not, or not for that tenant, learns it before anything is read.
        asker, owner = await self.read(token, dataset_commands.uploader, tenant)
        async with self.intake.receive(body, asker) as taken:
            if await gone():  # nobody waits for what would be found
                raise Invalid("the upload was broken off; send it again")
            known = await self.read(token, dataset_commands.known_upload, tenant, name, taken.hash)
            if known is not None:
                return known
            found = await self.intake.inspect(taken, shape, owner)
            upload = dataset_commands.Upload(name, taken.hash, shape, taken.bytes, found)
            async with self.intake.keeping:
                await self.read(token, dataset_commands.check_room, tenant, upload)
                await self.intake.keep(owner, taken)
                # Should this fail, or the server end here, its next start finds a content of
                # nobody.
                view = await self.write(
                    token, Stamp(request), dataset_commands.add_dataset, tenant, upload
                )
        return view or {}

    async def drop_dataset(self, token: str, request: str, dataset: str) -> View:
        """Forget a dataset for good, with its content and what trials printed of it."""
        async with self.intake.keeping:
            view = await self.read(token, queries.dataset, dataset)
            await self.write(token, Stamp(request), dataset_commands.drop_dataset, dataset)
            tenant, digest = view["tenant"], view["hash"]
            unused, trials = await self.read(
                token, dataset_commands.left_by, dataset, tenant, digest
            )
            contents = [content_key(tenant, digest)] if unused else []
            await self.intake.drop(*contents, *map(log_key, trials))
        return view

    async def dataset_content(self, token: str, dataset: str) -> tuple[Iterator[bytes], str]:
        """A dataset's file as it was uploaded, in parts, and its format."""
        return await self._content(*await self.read(token, queries.dataset_content, dataset))

    async def trial_content(self, token: str, trial: str) -> tuple[Iterator[bytes], str]:
        """The file that a running trial trains on, in parts, and its format."""
        return await self._content(*await self.read(token, queries.trial_content, trial))

    async def _content(self, tenant: str, digest: str, shape: str) -> tuple[Iterator[bytes], str]:
        files = self.intake.files

        def load() -> Iterator[bytes] | None:
            own = files.load(content_key(tenant, digest))
            return own if own is not None else files.load(content_key("", digest))

        parts = await self.intake.run(load)
        if parts is None:
            raise Missing("the content of this dataset is gone; upload it again")
        return parts, shape

    async def keep_log(
        self, token: str, trial: str, fence: int, body: Callable[[], Awaitable[bytes]]
    ) -> None:
        """Keep what a trial printed; who may not is refused before the body is read."""
        await self.read(token, held, trial, fence)
        content = await body()
        await self.intake.run(lambda: self.intake.files.save(log_key(trial), [content]))

    async def trial_log(self, token: str, trial: str) -> bytes:
        """What a trial printed, as far as its device kept it."""
        await self.read(token, queries.trial, trial)

        def load() -> bytes | None:
            parts = self.intake.files.load(log_key(trial))
            return None if parts is None else b"".join(parts)

        content = await self.intake.run(load)
        if content is None:
            raise Missing(f"trial {trial} has no log; it runs, or printed nothing")
        return content

    # -- decisions and the log

    async def decisions(
        self, token: str, study: str | None, limit: int, after: str | None
    ) -> tuple[list[View], str | None]:
        """Decisions with their justification, the newest first."""
        places, following = await self.read(token, queries.decision_places, study, limit, after)
        return await self._decisions(token, places), following

    async def decision(self, token: str, trial: str) -> View:
        """Why a trial was run."""
        place = await self.read(token, queries.decision_place, trial)
        return (await self._decisions(token, [place]))[0]

    async def _decisions(self, token: str, places: Sequence[int]) -> list[View]:
        leased = []
        for record in await self._records(places):
            event = happened.decode(record.kind, record.version, record.body)
            assert isinstance(event, happened.TrialLeased)
            leased.append((record.time, event))
        return await self.read(token, queries.decisions, leased)

    async def _records(self, places: Sequence[int]) -> list[Record]:
        log = self.engine.log
        return await _reading(
            lambda: [next(iter(log.read(after=place - 1, limit=1))) for place in places]
        )

    async def log_page(self, token: str, after: int, limit: int) -> tuple[list[View], str | None]:
        """The audit trail: who did what, when."""
        head, log = await self.read(token, queries.head), self.engine.log
        records = await _reading(lambda: list(itertools.islice(log.read(after=after), limit + 1)))
        shown = [record for record in records if record.sequence <= head][:limit]
        more = len(shown) == limit and shown[-1].sequence < head
        return [log_view(record) for record in shown], str(shown[-1].sequence) if more else None

    # -- the pool at a glance

    async def overview(self, token: str) -> View:
        """Regret estimate, device time by tenant, queue and throughput."""
        return await self.read(token, queries.overview, self.estimates, self._latency())

    async def trend(self, token: str, seconds: float | None, points: int) -> View:
        """Mean regret over time; to an operator also what round robin had reached."""
        begun = await self.read(token, queries.begin_replay, self._replays)
        if begun is not None:
            await asyncio.wrap_future(begun)
        return await self.read(token, queries.trend, self.estimates, self._replays, seconds, points)

    async def heatmap(
        self,
        token: str,
        names: list[str] | None,
        state: str | None,
        limit: int,
        after: str | None,
    ) -> View:
        """Studies by models: scores, and what is believed of the others."""
        turns, following = await self.read(token, queries.heatmap_turns, names, state, limit, after)
        models: dict[str, int] = {}
        items: list[View] = []
        for turn in turns:  # what others ask comes between
            items += await self.read(token, queries.heatmap, turn, models)
        return {"models": list(models), "next": following, "items": items}

    async def gauges(self, token: str) -> dict[str, float]:
        """What a monitoring system plots."""
        found = await self.read(token, queries.gauges, self.estimates)
        lag = self.engine.lag
        return {
            **found,
            "bentham_event_log_lag": lag,
            "bentham_event_log_head": found["bentham_event_log_head"] - lag,
            "bentham_ready": 1.0 if self.ready else 0.0,
        }

    # -- what if

    async def ask_what_if(self, token: str, body: wire.WhatIfCreate, key: str) -> View:
        """Have a question answered in the background."""
        devices, now = await self.read(token, queries.device_count)
        return self.whatifs.ask(body, devices, now, key)

    async def what_ifs(self, token: str) -> list[View]:
        """The latest questions, the newest first."""
        await self.read(token, queries.admin)
        return self.whatifs.all()

    async def what_if(self, token: str, name: str) -> View:
        """One question."""
        await self.read(token, queries.admin)
        return self.whatifs.find(name)

    async def cancel_what_if(self, token: str, name: str) -> View:
        """Give a question up."""
        await self.read(token, queries.admin)
        return self.whatifs.cancel(name)

    # -- the stream of events

    def check_listeners(self, caller: Caller) -> None:
        """Refuse a stream that would be one too many."""
        if self.listeners[caller.token] >= MOST_OF_TOKEN:
            raise TooMany(
                f"{MOST_OF_TOKEN} streams are open with this token, the most it may", (), 10.0
            )
        if self.listeners.total() >= MOST_LISTENERS:
            raise TooMany("as many streams are open as are possible; try later", (), 10.0)

    @contextlib.contextmanager
    def listening(
        self, caller: Caller, last: int | None
    ) -> Iterator[tuple[Subscription, AsyncIterator[Told] | None]]:
        """Hear what happens from now on, and what was missed after `last`: None if not known."""
        subscription, missed = self.engine.feeds.subscribe(caller.tenant, last)
        self.listeners[caller.token] += 1
        try:
            yield subscription, None if missed is None else self._missed(missed)
        finally:
            self.listeners[caller.token] -= 1
            self.engine.feeds.unsubscribe(caller.tenant, subscription)

    async def _missed(self, missed: list[Happening]) -> AsyncIterator[Told]:
        for start in range(0, len(missed), MISSED_AT_ONCE):
            some = missed[start : start + MISSED_AT_ONCE]
            for told in await self.engine.ask(None, partial(_told, some)):
                yield told


def _read(
    query: Callable[..., Result],
    args: tuple[Any, ...],
    options: dict[str, Any],
    working: WorkingState,
    caller: Caller,
) -> Result:
    require(caller, *roles_of(query))
    return query(Look(working, caller), *args, **options)


def _heartbeat(trial: str, body: wire.Heartbeat, working: WorkingState, caller: Caller) -> View:
    require(caller, *roles_of(held))
    running = held(Turn(working, caller), trial, body.fence)
    working.renew(running.id, running.device)
    if body.progress is not None or body.scores:
        working.leases.tell(running.id, body.progress, tuple(body.scores))
    terms = working.leases.terms
    return {
        "trial": running.id,
        "lease_seconds": terms.lease_seconds,
        "heartbeat_seconds": terms.heartbeat_seconds,
    }


def _kept_contents(working: WorkingState, _: Caller) -> set[str]:
    return {content_key(each.tenant, each.hash) for each in working.pool.datasets.values()}


def _told(some: list[Happening], working: WorkingState, _: Caller) -> list[Told]:
    return [Told(each.number, each.kind, describe(working, each)) for each in some]


def describe(working: WorkingState, happening: Happening) -> View:
    """What listeners are told of an event."""
    _, kind, subject, time = happening
    pool, leases = working.pool, working.leases
    try:
        if kind == "token-issued":
            view = token_view(pool.tokens[subject])
        elif kind == "trial-leased":  # the lease itself is its device's, and numbered for all
            view = trial_view(pool.trials[subject], leases)
        else:
            view = answer(pool, leases, working.now(), kind, subject)
    except (Refusal, KeyError, ValueError):  # gone since, or nothing that has a view
        view = {"name": subject}
    except Exception:  # listeners must not keep anything from being committed
        logger.exception("an event cannot be shown", kind=kind)
        view = {"name": subject}
    return {"time": time, **view}


async def _reading(work: Callable[[], Result]) -> Result:
    """Read from the log, away from the event loop."""
    try:
        return await asyncio.get_running_loop().run_in_executor(None, work)
    except StorageUnavailable as error:
        raise Unready(str(error), retry_after=RETRY) from None


def scoped_key(token: str, route: str, key: str, body: bytes) -> str:
    """An idempotency key as it is kept: for one token and address, with a digest of the body."""
    digest = hashlib.sha256(f"{token}\n{route}\n{key}".encode("utf-8", "replace")).hexdigest()[:32]
    return f"{digest}:{hashlib.sha256(body).hexdigest()[:16]}"
