"""The life of one device, as a generator: register, lease, run, report, and finally leave.

Nothing here blocks. When there is nothing to do, the generator yields the time at which to resume
it; the worker resumes it then, or earlier if a call has finished. So one thread drives all devices,
tests drive it with a fake clock, and the time at which a trial must be killed never depends on the
network.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TypeAlias, TypeVar
from uuid import uuid4

from bentham.errors import Conflict, NotAllowed, NotFound, Refused, ServiceError
from bentham.executors import Broken, Declined, Fitted, Progress, Running, Scored
from bentham.wire import DeviceView, Lease, Renewal, TrialView
from bentham.worker.calls import ANSWERS, ServerCall, pause_after
from bentham.worker.context import LEAVE_SECONDS, Log, WorkerContext
from bentham.worker.guarded import Guarded
from bentham.worker.lifeline import Lifeline

Result = TypeVar("Result")
Steps = Generator[float, None, Result]  # yields the time at which to resume

POLL_SECONDS = 0.1  # between polls of a running trial
PROGRESS_SECONDS = 2.0  # minimum time between heartbeats that report new progress
PROGRESS_SHARE = 0.05  # change in progress that is worth an early heartbeat
LONGEST_SLEEP = 1.0
REQUEST_SECONDS = 1.0  # minimum time between lease requests when there is nothing to run


class GivenUp(Exception):
    """Raised when a call is no longer wanted."""


@dataclass(frozen=True, slots=True)
class GivenBack:
    """The trial is released without an outcome."""

    reason: str
    unable: bool = False  # this device can never run it


Ended: TypeAlias = Scored | Broken | GivenBack


class _Upload:
    """Sends a fitted model to the server, again and again until it answers."""

    def __init__(self, context: WorkerContext, lease: Lease, fitted: Fitted):
        self.failure: Broken | None = None  # what is left to report once it has ended
        self._context, self._bytes = context, len(fitted.content)
        self._call = lambda: context.client.send_model(
            lease.trial, lease.fence, fitted.content, fitted.versions
        )
        self._pending, self._tries, self._next = context.calls.start(self._call), 0, 0.0

    def ended(self, log: Log) -> bool:
        """Whether the server has answered; after an error of the connection, it is sent again."""
        context = self._context
        if not self._pending.done or context.clock() < self._next:
            return False
        if self._next:
            self._pending, self._next = context.calls.start(self._call), 0.0
            return False
        try:
            self._pending.result()
        except (Conflict, NotFound) as error:
            log.warning("trial dropped", reason=str(error))
        except Refused as error:
            self.failure = Broken(f"the server refused the fitted model: {error}", True)
        except NotAllowed:
            raise
        except ServiceError as error:
            context.link.lost(error)
            self._tries += 1
            self._next = context.clock() + pause_after(error, self._tries, context.chance())
            return False
        else:
            log.info("model fitted", bytes=self._bytes)
        return True


class DeviceLife:
    """One device. Call `step` until it returns False."""

    def __init__(self, name: str, kind: str, context: WorkerContext):
        self.name, self._kind, self._context = name, kind, context
        self._log = context.log.bind(device=name)
        self.idle_since: float | None = None  # when the server first had nothing to run
        self.wake = 0.0
        self._registered = 0.0  # when the server registered this device for this worker
        self.failure = ""  # why the device stopped; empty unless it failed
        self._declined = 0  # consecutive trials that the executor declined
        self._retired = False
        self._steps = self._live()

    def step(self) -> bool:
        """Run until the next wait; return False when the device has ended."""
        try:
            self.wake = next(self._steps)
        except StopIteration:
            return False
        return True

    def retire(self) -> None:
        """Release the running trial and leave, because the device's slot no longer exists."""
        self._retired = True

    def abandon(self) -> None:
        """Kill the running trial without notifying the server."""
        self._steps.close()

    def _live(self) -> Steps[None]:
        conflicts, registered = 0, False
        try:
            while not self._draining():
                try:
                    view = yield from self._retry(self._register, self._draining)
                except Conflict as error:
                    if not registered:  # another worker uses the name: waiting does not help
                        raise
                    # Taken while this worker was disconnected: retry; other devices continue.
                    self._log.warning("device name in use: registering again", reason=str(error))
                    conflicts += 1
                    yield from self._pause(min(30.0, conflicts * 1.0), self._draining)
                    continue
                registered, self._registered = True, view.registered
                self._log.info("device registered")
                try:
                    while not self._draining():
                        yield from self._serve_one()
                        conflicts = 0
                except NotFound:
                    self._log.warning("the server does not know this device: registering again")
                except Conflict as error:
                    if (yield from self._taken()):
                        # If both registered again, each would take the other's trials until their
                        # arms have failed.
                        self.failure = (
                            f"another worker uses the device name {self.name} ({error}); give "
                            "each worker a different --name"
                        )
                        self._log.error("device stopped", reason=self.failure)
                        return
                    conflicts += 1
                    # A response was lost, or the server's database was restored from a backup.
                    self._log.warning(
                        "the device counts as running a trial that it does not run: registering "
                        "again",
                        reason=str(error),
                    )
                self.idle_since = None
                yield from self._pause(min(30.0, conflicts * 1.0), self._draining)
        except GivenUp:
            pass
        yield from self._leave()

    def _serve_one(self) -> Steps[None]:
        client, key = self._context.client, str(uuid4())
        sent = self._context.clock()
        request = lambda: client.lease(self.name, self._context.wait, key)  # noqa: E731
        lease = yield from self._retry(request, self._draining)
        if lease is None:
            self.idle_since = sent if self.idle_since is None else self.idle_since
            remaining = REQUEST_SECONDS - (self._context.clock() - sent)
            yield from self._pause(remaining, self._draining)
            return
        self.idle_since = None
        log = self._log.bind(trial=lease.trial, study=lease.study_name, model=lease.model)
        lifeline = Lifeline(lease, sent)
        ended = yield from self._run(lease, lifeline, log)
        if isinstance(ended, Declined):
            # A released trial may be leased again at once: wait, so that others get it first.
            release = GivenBack(ended.reason, ended.unable)
            yield from self._report(lease, release, lifeline.timeout, log)
            self._declined += 1
            # Bounded: this may repeat for days, and a device that is silent for longer is away.
            pause = min(60.0, lease.lease_seconds, 2.0 ** min(self._declined, 10))
            yield from self._pause(pause, self._draining)
        elif ended is not None:
            self._declined = 0
            yield from self._report(lease, ended, lifeline.timeout, log)

    def _run(self, lease: Lease, lifeline: Lifeline, log: Log) -> Steps[Ended | Declined | None]:
        """Run a trial while its lease is valid; return None if the device has lost it."""
        context = self._context
        beat: ServerCall[Renewal] | None = None
        beat_sent = context.clock()
        running: Running | None = None
        upload: _Upload | None = None
        reported = progress = Progress()
        try:
            while True:
                now = context.clock()
                if beat is not None and beat.done:
                    # Once a fitted model has arrived, the trial has ended: the upload tells.
                    if not self._handle_renewal(beat, beat_sent, lifeline, log) and upload is None:
                        return None
                    beat = None
                if running is None and lifeline.fresh(now):
                    if self._draining():
                        return GivenBack("the device is leaving")
                    running = Guarded(context.executor, lease)
                    log.info("trial started", attempt=lease.attempt)
                # Check the outcome first: a late one is still reported, and the server decides.
                outcome = None if running is None else running.poll()
                if running is not None and outcome is not None:
                    if upload is None:
                        yield from self._send_log(lease, running, lifeline.timeout, log)
                    if not isinstance(outcome, Fitted):
                        return outcome
                    # It may take longer than the lease, so the lease is renewed meanwhile.
                    upload = upload or _Upload(context, lease, outcome)
                    if upload.ended(log):
                        return upload.failure
                if context.stop.releasing:
                    return GivenBack("the worker is stopping immediately")
                if self._retired:
                    return GivenBack("the slot of the device no longer exists")
                if now >= lifeline.kill_at:
                    return GivenBack("its lease could not be renewed")
                if running is not None:
                    progress = running.progress()
                early = (
                    _is_worth_reporting(progress, reported) and now >= beat_sent + PROGRESS_SECONDS
                )
                if beat is None and (now >= lifeline.due or (early and lifeline.answered)):
                    beat_sent, reported = now, progress
                    beat = context.calls.start(self._heartbeat(lease, lifeline.timeout, progress))
                yield min(now + POLL_SECONDS, lifeline.kill_at)
        finally:
            if running is not None:
                running.kill()  # no effect if it has ended

    def _handle_renewal(
        self, beat: ServerCall[Renewal], sent: float, lifeline: Lifeline, log: Log
    ) -> bool:
        """Handle the response to a heartbeat; return False if the device has lost it."""
        try:
            lifeline.renewed(sent, beat.result())
            self._context.link.back()
        except (Conflict, NotFound, Refused) as error:
            self._context.link.back()
            log.warning("trial dropped", reason=str(error))
            return False
        except NotAllowed:
            raise
        except ServiceError as error:
            self._context.link.lost(error)
            lifeline.missed(self._context.clock())
        return True

    def _send_log(self, lease: Lease, running: Running, timeout: float, log: Log) -> Steps[None]:
        """Upload the trial's output, without retries; a failure is only logged."""
        content = running.log()
        if not content:
            return
        client, until = self._context.client, self._context.clock() + 2.0 * timeout
        upload = self._context.calls.start(
            lambda: client.send_log(lease.trial, lease.fence, content, timeout)
        )
        while (
            not upload.done and self._context.clock() < until and not self._context.stop.too_late()
        ):
            yield self._context.clock() + POLL_SECONDS
        try:
            if upload.done:
                upload.result()
        except Exception as error:
            log.info("could not upload the trial's log", reason=str(error))

    def _report(self, lease: Lease, ended: Ended, timeout: float, log: Log) -> Steps[None]:
        """Report the end of a trial to the server; retry until it responds."""
        try:
            yield from self._retry(
                self._report_call(lease, ended, timeout), self._context.stop.too_late
            )
        except (Conflict, NotFound) as error:
            log.warning("trial dropped", reason=str(error))
        except Refused as error:
            if isinstance(ended, Scored) and ended.look is not None:
                plain = Scored(ended.score, ended.metrics, ended.scores)
                yield from self._report(lease, plain, timeout, log)
            elif isinstance(ended, Scored):
                broken = Broken(f"the server refused the score {ended.score!r}: {error}", True)
                yield from self._report(lease, broken, timeout, log)
            else:
                log.error("report refused", reason=str(error))
        except GivenUp:
            log.warning("trial dropped", reason="the outcome could not be reported in time")
        else:
            _log_end(log, ended)

    def _leave(self) -> Steps[None]:
        until = self._context.clock() + LEAVE_SECONDS

        def too_late() -> bool:
            return self._context.clock() >= until or self._context.stop.too_late()

        try:
            yield from self._retry(lambda: self._context.client.leave_device(self.name), too_late)
            self._log.info("device left")
        except (NotFound, Conflict):
            self._log.info("device left")
        except GivenUp:
            self._log.warning("could not notify the server that the device is leaving")

    def _retry(self, call: Callable[[], Result], unless: Callable[[], bool]) -> Steps[Result]:
        """Retry a call until the server responds; raise GivenUp once `unless` returns True."""
        context, tries = self._context, 0
        while True:
            try:
                pending = context.calls.start(call)
                while not pending.done:
                    if unless():
                        raise GivenUp
                    yield context.clock() + POLL_SECONDS
                result = pending.result()
            except ANSWERS:
                context.link.back()
                raise
            except ServiceError as error:
                context.link.lost(error)
                self.idle_since = None  # unknown whether there is something to run
                tries += 1
                yield from self._pause(pause_after(error, tries, context.chance()), unless)
                if unless():
                    raise GivenUp from None
            else:
                context.link.back()
                return result

    def _pause(self, seconds: float, unless: Callable[[], bool]) -> Steps[None]:
        until = self._context.clock() + seconds
        while self._context.clock() < until and not unless():
            yield min(until, self._context.clock() + LONGEST_SLEEP)

    def _draining(self) -> bool:
        return self._retired or self._context.stop.draining

    def _register(self) -> DeviceView:
        return self._context.client.register_device(self.name, self._kind)

    def _taken(self) -> Steps[bool]:
        """Whether another worker has registered the device since this one did."""
        try:
            view = yield from self._retry(
                lambda: self._context.client.device(self.name), self._draining
            )
        except NotFound:
            return False
        return view.registered > self._registered

    def _heartbeat(self, lease: Lease, timeout: float, progress: Progress) -> Callable[[], Renewal]:
        return lambda: self._context.client.heartbeat(
            lease.trial, lease.fence, timeout, progress=progress.share, scores=progress.scores
        )

    def _report_call(self, lease: Lease, ended: Ended, timeout: float) -> Callable[[], TrialView]:
        client, key = self._context.client, str(uuid4())
        trial, fence = lease.trial, lease.fence
        match ended:
            case Scored(score, metrics, scores, look):
                more = {} if look is None else {"look": look}
                return lambda: client.complete(
                    trial, fence, score, key, timeout, metrics=metrics, scores=scores, **more
                )
            case Broken(reason, final):
                return lambda: client.fail(trial, fence, reason, final, key, timeout)
            case GivenBack(reason, unable):
                return lambda: client.release(
                    trial, fence, key, timeout, reason=reason, unable=unable
                )


def _is_worth_reporting(progress: Progress, reported: Progress) -> bool:
    """Whether the progress is worth an early heartbeat."""
    if progress.scores != reported.scores:
        return True
    return abs((progress.share or 0.0) - (reported.share or 0.0)) >= PROGRESS_SHARE


def _log_end(log: Log, ended: Ended) -> None:
    match ended:
        case Scored(score):
            log.info("trial complete", score=float(f"{score:.4g}"))
        case Broken(reason, final):
            log.warning("trial failed", reason=reason, final=final)
        case GivenBack(reason):
            log.warning("trial released", reason=reason)
