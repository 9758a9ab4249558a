"""The Service: all reads and writes, each with the token of its caller."""

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
from bentham.service.commands import fits as fit_commands
from bentham.service.commands.devices import NothingToRun, WaitingDevice, lease
from bentham.service.commands.fits import held
from bentham.service.engine.engine import RETRY, Engine
from bentham.service.engine.feeds import FeedEvent, Subscription, Told
from bentham.service.engine.rules import Events
from bentham.service.engine.scope import Caller, caller_of, require
from bentham.service.engine.turn import Look, Turn, roles_of, unchanged_of
from bentham.service.engine.watch import DEVICE_AWAY, DEVICE_BACK, NO_DEVICE
from bentham.service.engine.working_state import WorkingState
from bentham.service.fold import events
from bentham.service.fold.table import BY_KIND
from bentham.service.jobs.uploads import FITTED, Intake, content_key, fitted_key, log_key
from bentham.service.jobs.whatifs import Forecaster, WhatIfs
from bentham.service.refusals import Invalid, Missing, Refusal, TooMany, Unauthenticated, Unready
from bentham.service.views import queries
from bentham.service.views.audit import log_view
from bentham.service.views.baseline import Replays
from bentham.service.views.entities import View, answer, device_view, token_view, trial_view
from bentham.service.views.estimates import Estimates
from bentham.storage import Files, Record
from bentham.training.catalog import Catalog

logger = structlog.get_logger("bentham.service")
Result = TypeVar("Result")
Parameters = ParamSpec("Parameters")
START_SECONDS = 0.5  # between checks whether this instance leads
MISSED_AT_ONCE = 50  # missed events rendered in one turn
MOST_LISTENERS, MOST_OF_TOKEN = 1000, 50


@dataclass(frozen=True, slots=True)
class Stamp:
    """Metadata of a request that changes something."""

    request: str = ""  # the request id in logs
    key: str = ""  # the idempotency key, see `scoped_key`
    device: str = ""  # the device that sent it: the request is a sign of life


class Service:
    """Handles reads and writes one at a time, and replies after the commit."""

    def __init__(
        self,
        engine: Engine,
        files: Files,
        catalog: Catalog,
        forecaster: Forecaster | None = None,
        latency: Callable[[], View | None] = lambda: None,
    ):
        """`forecaster` computes what-ifs; without one they are refused."""
        self.engine = engine
        self.catalog = catalog
        self.intake = Intake(files)
        self.estimates = Estimates()
        self.whatifs = WhatIfs(forecaster)
        self.listeners: Counter[str] = Counter()  # open streams, by token
        self._replays = Replays()
        self._latency = latency
        self._nothing = NothingToRun()
        self._tidying: asyncio.Task[None] | None = None
        engine.describe = describe

    # -- lifecycle

    def start(self) -> None:
        """Start serving, on the running event loop."""
        self.engine.start()
        self._tidying = asyncio.get_running_loop().create_task(self.drop_left_over())

    def begin_stop(self) -> None:
        """Release waiting requests and open streams, so that nothing delays the shutdown."""
        self.engine.begin_stop()

    async def stop(self) -> None:
        """Handle the queued requests, then release all resources."""
        if self._tidying is not None:
            self._tidying.cancel()
        await self.whatifs.close()
        await self.engine.stop()
        self.intake.files.close()
        self._replays.close()

    @property
    def ready(self) -> bool:
        """Whether requests are accepted."""
        return self.engine.ready

    def status(self) -> dict[str, object]:
        """Return the phase of this instance, with its progress while it replays the log."""
        body: dict[str, object] = {"status": self.engine.phase}
        if self.engine.phase == "replaying":
            body["replayed"], body["events"] = self.engine.progress
        return body

    async def drop_left_over(self) -> None:
        """Delete files that belong to no dataset; once, as soon as this instance leads."""
        while not self.ready:
            await asyncio.sleep(START_SECONDS)
        try:
            async with self.intake.keeping:
                # Inside the lock, since its last holder may have added a dataset.
                kept = await self.engine.ask(None, _kept_contents)
                await self.intake.tidy(kept)
        except (Refusal, BenthamError) as error:  # the next start retries
            logger.warning("orphaned dataset files were not deleted", reason=str(error))

    # -- reads and writes

    def caller(self, token: str) -> Caller | None:
        """Return the caller of a token in the committed state; None if the token is invalid."""
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
        """Return the result of a query, once everything it has seen is committed."""
        return await self.engine.ask(token, partial(_read, query, args, options))

    async def write(
        self,
        token: str,
        stamp: Stamp,
        command: Callable[Concatenate[Turn, Parameters], Events],
        *args: Parameters.args,
        **options: Parameters.kwargs,
    ) -> View | None:
        """Run a command and commit its events.

        Returns the view of the last event, or the result of the command's `unchanged` query if
        there was nothing to do.
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
                raise Invalid("this Idempotency-Key was used for another request; use a new one")
            asker = "" if caller.role == "admin" else caller.token
            return answer(pool, leases, now, noted.kind, noted.subject, asker)
        device = pool.devices.get(stamp.device)
        if key and device is not None and device.trial is not None and device.trial.key == key:
            # A client that lost the reply gets it again, however many requests came in between.
            leased = "fit-leased" if device.trial.fits else "trial-leased"
            return answer(pool, leases, now, leased, device.trial.id)
        began = self.engine.clock.instant()
        new_events = command(Turn(working, caller), *args, **options)
        if stamp.device:
            working.saw(stamp.device)
        if not new_events:
            unchanged = unchanged_of(command)
            if unchanged is None:
                return None
            view: View | None = unchanged(Look(working, caller), *args, **options)
            if key and view is not None:  # a repeat must change nothing, either
                noted_event = events.RequestNoted(view["id"])
                working.record([noted_event], now, caller, stamp.request, key)
            return view
        if isinstance(new_events[-1], events.TrialLeased):
            self.engine.observer.decided(self.engine.clock.instant() - began)
        subject = working.record(new_events, now, caller, stamp.request, key)
        if isinstance(new_events[-1], events.TokenIssued):  # the caller adds the secret
            return token_view(pool.tokens[subject])
        return answer(pool, leases, now, events.kind_of(new_events[-1]), subject)

    # -- devices

    async def lease(
        self,
        token: str,
        device: str,
        wait: float,
        stamp: Stamp,
        gone: Callable[[], Awaitable[bool]],
    ) -> View | None:
        """Lease a trial within `wait` seconds; None if there is none, or the client is gone."""
        # A worker counts its lease from when it sent the request: most of it must be left.
        wait = min(wait, self.engine.settings.terms.lease_seconds / 4.0)
        loop = asyncio.get_running_loop()
        give_up, waiting = loop.time() + wait, WaitingDevice(device)
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
        """Renew the lease of a running trial, and record its progress."""
        return await self.engine.ask(token, partial(_heartbeat, trial, body))

    # -- files of datasets and logs of trials

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
        """Receive a file, inspect it and add it as a dataset; a repeat changes nothing."""
        # A caller without permission is refused before the body is read.
        asker, owner = await self.read(token, dataset_commands.uploader, tenant)
        async with self.intake.receive(body, asker) as received:
            if await gone():  # no client waits for the result
                raise Invalid("the upload was interrupted; send it again")
            known = await self.read(
                token, dataset_commands.known_upload, tenant, name, received.hash
            )
            if known is not None:
                return known
            found = await self.intake.inspect(received, name, shape, owner)
            upload = dataset_commands.Upload(name, received.hash, shape, received.bytes, found)
            async with self.intake.keeping:
                await self.read(token, dataset_commands.check_room, tenant, upload)
                await self.intake.keep(content_key(owner, received.hash), received)
                # If this fails or the server stops here, the next start deletes the orphaned
                # file.
                view = await self.write(
                    token, Stamp(request), dataset_commands.add_dataset, tenant, upload
                )
        return view or {}

    async def drop_dataset(self, token: str, request: str, dataset: str) -> View:
        """Delete a dataset permanently, with its file and the logs of its trials."""
        async with self.intake.keeping:
            view = await self.read(token, queries.dataset, dataset)
            await self.write(token, Stamp(request), dataset_commands.drop_dataset, dataset)
            tenant, digest = view["tenant"], view["hash"]
            unused, trials = await self.read(
                token, dataset_commands.left_by, dataset, tenant, digest
            )
            contents = [content_key(tenant, digest)] if unused else []
            await self.intake.drop(*contents, *map(log_key, trials))
            await self._tidy_fitted(tenant)
        return view

    # -- fitted models

    async def keep_fitted(
        self,
        token: str,
        request: str,
        trial: str,
        fence: int,
        versions: list[str],
        body: AsyncIterator[bytes],
    ) -> View:
        """Store the file of a fitted model, without opening it; a repeat changes nothing."""
        if await self.read(token, fit_commands.fitted_before, trial, fence):
            async for _ in body:  # until all is received, no client expects the response
                pass
        else:
            running = await self.read(token, fit_commands.fitting, trial, fence)
            owner = running.study.tenant.name
            receiving = self.intake.receive(body, running.token)
            async with receiving as received, self.intake.keeping:
                await self.read(token, fit_commands.fitting, trial, fence)  # it may have ended
                if not await self.intake.run(received.is_zip):
                    raise Invalid("a fitted model is a zip file; this is none")
                await self.intake.keep(fitted_key(owner, trial), received)
                # If this fails or the server stops here, the file belongs to no fitted model: it
                # is deleted with the next one of its tenant, or at the next start.
                await self.write(
                    token, Stamp(request), fit_commands.complete_fit, trial, fence,
                    received.hash, received.bytes, versions,
                )  # fmt: skip
                await self._tidy_fitted(owner)
        return await self.read(token, queries.trial, trial)

    async def _tidy_fitted(self, tenant: str) -> None:
        """Delete the files of a tenant's fitted models that were replaced or dropped."""
        kept = await self.engine.ask(None, _kept_contents)
        await self.intake.drop_others(fitted_key(tenant, "") if tenant else FITTED, kept)

    async def fitted_content(self, token: str, study: str) -> tuple[Iterator[bytes], str]:
        """Return the file of a study's fitted model, in chunks, and the study's name."""
        tenant, trial, name = await self.read(token, queries.fitted_content, study)
        parts = await self.intake.run(lambda: self.intake.files.load(fitted_key(tenant, trial)))
        if parts is None:
            raise Missing("the file of this fitted model is missing; ask for it again")
        return parts, name

    async def dataset_content(self, token: str, dataset: str) -> tuple[Iterator[bytes], str]:
        """Return a dataset's file as it was uploaded, in chunks, and its format."""
        return await self._content(*await self.read(token, queries.dataset_content, dataset))

    async def trial_content(self, token: str, trial: str) -> tuple[Iterator[bytes], str]:
        """Return the file that a running trial trains on, in chunks, and its format."""
        return await self._content(*await self.read(token, queries.trial_content, trial))

    async def _content(self, tenant: str, digest: str, shape: str) -> tuple[Iterator[bytes], str]:
        files = self.intake.files

        def load() -> Iterator[bytes] | None:
            own = files.load(content_key(tenant, digest))
            return own if own is not None else files.load(content_key("", digest))

        parts = await self.intake.run(load)
        if parts is None:
            raise Missing("the file of this dataset is missing; upload it again")
        return parts, shape

    async def keep_log(
        self, token: str, trial: str, fence: int, body: Callable[[], Awaitable[bytes]]
    ) -> None:
        """Store the log of a trial; a caller without permission is refused before it is read."""
        await self.read(token, held, trial, fence)
        content = await body()
        await self.intake.run(lambda: self.intake.files.save(log_key(trial), [content]))

    async def trial_log(self, token: str, trial: str) -> bytes:
        """Return the log of a trial, as far as its device sent it."""
        await self.read(token, queries.trial, trial)

        def load() -> bytes | None:
            parts = self.intake.files.load(log_key(trial))
            return None if parts is None else b"".join(parts)

        content = await self.intake.run(load)
        if content is None:
            raise Missing(f"trial {trial} has no log: it is still running, or it printed nothing")
        return content

    # -- decisions and the log

    async def decisions(
        self, token: str, study: str | None, limit: int, after: str | None
    ) -> tuple[list[View], str | None]:
        """Return decisions with their justification, newest first."""
        places, following = await self.read(token, queries.decision_places, study, limit, after)
        return await self._decisions(token, places), following

    async def decision(self, token: str, trial: str) -> View:
        """Return the decision to run a trial."""
        place = await self.read(token, queries.decision_place, trial)
        return (await self._decisions(token, [place]))[0]

    async def _decisions(self, token: str, places: Sequence[int]) -> list[View]:
        leased = []
        for record in await self._records(places):
            event = events.decode(record.kind, record.version, record.body)
            assert isinstance(event, events.TrialLeased)
            leased.append((record.time, event))
        return await self.read(token, queries.decisions, leased)

    async def _records(self, places: Sequence[int]) -> list[Record]:
        log = self.engine.log
        return await _reading(
            lambda: [next(iter(log.read(after=place - 1, limit=1))) for place in places]
        )

    async def log_page(self, token: str, after: int, limit: int) -> tuple[list[View], str | None]:
        """Return a page of the log: who did what, and when."""
        head, log = await self.read(token, queries.head), self.engine.log
        records = await _reading(lambda: list(itertools.islice(log.read(after=after), limit + 1)))
        shown = [record for record in records if record.sequence <= head][:limit]
        more = len(shown) == limit and shown[-1].sequence < head
        return [log_view(record) for record in shown], str(shown[-1].sequence) if more else None

    # -- overview of the pool

    async def overview(self, token: str) -> View:
        """Return the regret estimate, device time by tenant, queue and throughput."""
        return await self.read(token, queries.overview, self.estimates, self._latency())

    async def trend(self, token: str, seconds: float | None, points: int) -> View:
        """Return mean regret over time; for an operator, also that of round robin."""
        pending = await self.read(token, queries.begin_replay, self._replays)
        if pending is not None:
            await asyncio.wrap_future(pending)
        return await self.read(token, queries.trend, self.estimates, self._replays, seconds, points)

    async def heatmap(
        self,
        token: str,
        names: list[str] | None,
        state: str | None,
        limit: int,
        after: str | None,
    ) -> View:
        """Return studies by models: observed scores, and the posterior of the others."""
        turns, following = await self.read(token, queries.heatmap_turns, names, state, limit, after)
        models: dict[str, int] = {}
        items: list[View] = []
        for turn in turns:  # other requests are handled in between
            items += await self.read(token, queries.heatmap, turn, models)
        return {"models": list(models), "next": following, "items": items}

    async def gauges(self, token: str) -> dict[str, float | dict[str, float]]:
        """Return the gauges for a monitoring system; a dict has a value for each label."""
        found, head = await self.read(token, queries.gauges, self.estimates)
        lag = self.engine.lag
        return {
            **found,
            "bentham_event_log_lag": lag,
            "bentham_event_log_head": head - lag,
            "bentham_ready": 1.0 if self.ready else 0.0,
        }

    # -- what if

    async def ask_what_if(self, token: str, body: wire.WhatIfCreate, key: str) -> View:
        """Start a what-if, which is computed in the background."""
        moment = await self.read(token, queries.moment, self.estimates)
        return self.whatifs.ask(body, moment, key)

    async def what_ifs(self, token: str) -> list[View]:
        """Return the latest what-ifs, newest first."""
        await self.read(token, queries.admin)
        return self.whatifs.all()

    async def what_if(self, token: str, name: str) -> View:
        """Return one what-if."""
        await self.read(token, queries.admin)
        return self.whatifs.find(name)

    async def cancel_what_if(self, token: str, name: str) -> View:
        """Cancel a what-if."""
        await self.read(token, queries.admin)
        return self.whatifs.cancel(name)

    # -- the stream of events

    def check_listeners(self, caller: Caller) -> None:
        """Refuse another stream if too many are open."""
        if self.listeners[caller.token] >= MOST_OF_TOKEN:
            raise TooMany(
                f"this token has {MOST_OF_TOKEN} open streams, the maximum; close one first",
                (),
                10.0,
            )
        if self.listeners.total() >= MOST_LISTENERS:
            raise TooMany("the server has the maximum number of open streams; try later", (), 10.0)

    @contextlib.contextmanager
    def listening(
        self, caller: Caller, last: int | None
    ) -> Iterator[tuple[Subscription, AsyncIterator[Told] | None]]:
        """Subscribe to events, and get those missed after `last`; None if some are lost."""
        subscription, missed = self.engine.feeds.subscribe(caller.tenant, last)
        self.listeners[caller.token] += 1
        try:
            yield subscription, None if missed is None else self._missed(missed)
        finally:
            self.listeners[caller.token] -= 1
            self.engine.feeds.unsubscribe(caller.tenant, subscription)

    async def _missed(self, missed: list[FeedEvent]) -> AsyncIterator[Told]:
        for start in range(0, len(missed), MISSED_AT_ONCE):
            some = missed[start : start + MISSED_AT_ONCE]
            for message in await self.engine.ask(None, partial(_messages, some)):
                yield message


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
        working.leases.record_progress(running.id, body.progress, tuple(body.scores))
    terms = working.leases.terms
    return {
        "trial": running.id,
        "lease_seconds": terms.lease_seconds,
        "heartbeat_seconds": terms.heartbeat_seconds,
    }


def _kept_contents(working: WorkingState, _: Caller) -> set[str]:
    pool = working.pool
    return {content_key(each.tenant, each.hash) for each in pool.datasets.values()} | {
        fitted_key(tenant.name, study.fit.trial)
        for tenant in pool.tenants.values()
        for study in tenant.fitted.values()
        if study.fit is not None
    }


def _messages(some: list[FeedEvent], working: WorkingState, _: Caller) -> list[Told]:
    return [Told(each.number, each.kind, describe(working, each)) for each in some]


def describe(working: WorkingState, feed_event: FeedEvent) -> View:
    """Return the data of an event that listeners receive."""
    _, kind, subject, time = feed_event
    pool, leases = working.pool, working.leases
    try:
        if kind == "token-issued":
            view = token_view(pool.tokens[subject])
        elif kind in (DEVICE_AWAY, DEVICE_BACK):
            view = device_view(pool.devices[subject], leases)
        elif kind == NO_DEVICE:
            view = {"no_device": working.watch.no_device(subject)}
        elif BY_KIND[kind].starts_trial:  # a lease is for its device: its fence counts all trials
            view = trial_view(pool.trial(subject), leases)
        else:
            view = answer(pool, leases, working.now(), kind, subject)
    except (Refusal, KeyError, ValueError):  # deleted since, or without a view
        view = {"name": subject}
    except Exception:  # listeners must not prevent a commit
        logger.exception("failed to build the view of an event", kind=kind)
        view = {"name": subject}
    return {"time": time, **view}


async def _reading(work: Callable[[], Result]) -> Result:
    """Read from the log in a thread, not on the event loop."""
    try:
        return await asyncio.get_running_loop().run_in_executor(None, work)
    except StorageUnavailable as error:
        raise Unready(str(error), retry_after=RETRY) from None


def scoped_key(token: str, route: str, key: str, body: bytes) -> str:
    """Return an idempotency key as stored: for one token and route, with a digest of the body."""
    digest = hashlib.sha256(f"{token}\n{route}\n{key}".encode("utf-8", "replace")).hexdigest()[:32]
    return f"{digest}:{hashlib.sha256(body).hexdigest()[:16]}"
