"""The life of one device, as a generator: register, ask, run, report, and in the end leave.

Nothing in here waits. Whenever there is nothing to do the generator yields the time at which it
wants to be looked at again; the worker steps it then, or earlier when a call has ended. So one
thread drives all devices, a clock that stands still drives the tests, and the moment at which a
trial must be killed never hangs on the network.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TypeAlias, TypeVar
from uuid import uuid4

from bentham.errors import Conflict, NotAllowed, NotFound, Refused, ServiceError
from bentham.executors import Broken, Declined, Progress, Running, Scored
from bentham.wire import DeviceView, Lease, Renewal, TrialView
from bentham.worker.calls import ANSWERS, ServerCall, pause_after
from bentham.worker.context import FAREWELL_SECONDS, Log, WorkerContext
from bentham.worker.guarded import Guarded
from bentham.worker.lifeline import Lifeline

Result = TypeVar("Result")
Steps = Generator[float, None, Result]  # yields when to be looked at again

LOOK_SECONDS = 0.1  # between looks at a trial that runs
NEWS_SECONDS = 2.0  # between heartbeats of a trial that has news
NEWS_SHARE = 0.05
LONGEST_SLEEP = 1.0
SHORTEST_ASK = 1.0  # an answer of "nothing to run" that came sooner is not asked for again at once


class GivenUp(Exception):
    """A call that is not wanted any more."""


@dataclass(frozen=True, slots=True)
class GivenBack:
    """The trial is returned untried."""

    why: str
    unable: bool = False  # to run it, ever


Ended: TypeAlias = Scored | Broken | GivenBack


class DeviceLife:
    """One device. `step` it until it says that its life is over."""

    def __init__(self, name: str, kind: str, context: WorkerContext):
        self.name, self._kind, self._context = name, kind, context
        self._log = context.log.bind(device=name)
        self.idle_since: float | None = None  # since when the server has had nothing to run
        self.wake = 0.0
        self._trial = ""  # the one that it was given last
        self.failure = ""  # why it ended, unless it was told to
        self._declined = 0  # trials in a row that the executor could not run
        self._gone = False
        self._steps = self._live()

    def step(self) -> bool:
        """Do what can be done now; False when all is done."""
        try:
            self.wake = next(self._steps)
        except StopIteration:
            return False
        return True

    def retire(self) -> None:
        """What the device ran on is gone: give back what runs, and leave."""
        self._gone = True

    def abandon(self) -> None:
        """Kill what runs, and say nothing to anybody."""
        self._steps.close()

    def _live(self) -> Steps[None]:
        conflicts, known = 0, False
        try:
            while not self._draining():
                try:
                    yield from self._insist(self._register, self._draining)
                except Conflict as error:
                    if not known:  # the name is another's: nothing that waiting would mend
                        raise
                    # Taken while we were away: the other devices go on meanwhile.
                    self._log.warning("the device's name is taken for now", reason=str(error))
                    conflicts += 1
                    yield from self._pause(min(30.0, conflicts * 1.0), self._draining)
                    continue
                known = True
                self._log.info("registered")
                try:
                    while not self._draining():
                        yield from self._serve_one()
                        conflicts = 0
                except NotFound:
                    self._log.warning("the server does not know this device: registering again")
                except Conflict as error:
                    if not self._trial or self._trial not in str(error):
                        # Somebody else runs something there. To register again would take his
                        # trial, and he ours next, until the arm has failed.
                        self.failure = (
                            f"another worker runs as {self.name} ({error}); give each worker "
                            "a --name of its own"
                        )
                        self._log.error("this device ends", reason=self.failure)
                        return
                    conflicts += 1
                    self._log.warning("our last trial still counts as running: registering again")
                self.idle_since = None
                yield from self._pause(min(30.0, conflicts * 1.0), self._draining)
        except GivenUp:
            pass
        yield from self._leave()

    def _serve_one(self) -> Steps[None]:
        client, key = self._context.client, str(uuid4())
        sent = self._context.clock()
        ask = lambda: client.lease(self.name, self._context.wait, key)  # noqa: E731
        lease = yield from self._insist(ask, self._draining)
        if lease is None:
            self.idle_since = sent if self.idle_since is None else self.idle_since
            rest = SHORTEST_ASK - (self._context.clock() - sent)
            yield from self._pause(rest, self._draining)
            return
        self.idle_since = None
        self._trial = lease.trial
        log = self._log.bind(trial=lease.trial, study=lease.study, model=lease.model)
        lifeline = Lifeline(lease, sent)
        ended = yield from self._run(lease, lifeline, log)
        if isinstance(ended, Declined):
            # Given back it may come again at once: let others have it first.
            back = GivenBack(ended.reason, ended.unable)
            yield from self._report(lease, back, lifeline.timeout, log)
            self._declined += 1
            pause = min(60.0, 2.0 ** min(self._declined, 10))  # it may go on so for days
            yield from self._pause(pause, self._draining)
        elif ended is not None:
            self._declined = 0
            yield from self._report(lease, ended, lifeline.timeout, log)

    def _run(self, lease: Lease, lifeline: Lifeline, log: Log) -> Steps[Ended | Declined | None]:
        """Run a trial while its lease holds; None when it is no longer ours."""
        context = self._context
        beat: ServerCall[Renewal] | None = None
        beat_sent = context.clock()
        running: Running | None = None
        told = progress = Progress()
        try:
            while True:
                now = context.clock()
                if beat is not None and beat.done:
                    if not self._heard(beat, beat_sent, lifeline, log):
                        return None
                    beat = None
                if running is None and lifeline.fresh(now):
                    if self._draining():
                        return GivenBack("the device leaves")
                    running = Guarded(context.executor, lease)
                    log.info("trial started", attempt=lease.attempt)
                # First the outcome: one that came too late is still offered, and the server judges.
                outcome = None if running is None else running.poll()
                if running is not None and outcome is not None:
                    yield from self._send_log(lease, running, lifeline.timeout, log)
                    return outcome
                if context.stop.hurried:
                    return GivenBack("the worker stops at once")
                if self._gone:
                    return GivenBack("what the device ran on is gone")
                if now >= lifeline.kill_at:
                    return GivenBack("its lease could not be renewed")
                if running is not None:
                    progress = running.progress()
                news = _is_news(progress, told) and now >= beat_sent + NEWS_SECONDS
                if beat is None and (now >= lifeline.due or (news and lifeline.heard)):
                    beat_sent, told = now, progress
                    beat = context.calls.start(self._heartbeat(lease, lifeline.timeout, progress))
                yield min(now + LOOK_SECONDS, lifeline.kill_at)
        finally:
            if running is not None:
                running.kill()  # harmless when it has ended

    def _heard(self, beat: ServerCall[Renewal], sent: float, lifeline: Lifeline, log: Log) -> bool:
        """Take in the answer to a heartbeat; False when the trial is no longer ours."""
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
        """Have the server keep what the trial printed: tried once, and nothing hangs on it."""
        content = running.log()
        if not content:
            return
        client, until = self._context.client, self._context.clock() + 2.0 * timeout
        sent = self._context.calls.start(
            lambda: client.send_log(lease.trial, lease.fence, content, timeout)
        )
        while not sent.done and self._context.clock() < until and not self._context.stop.too_late():
            yield self._context.clock() + LOOK_SECONDS
        try:
            if sent.done:
                sent.result()
        except Exception as error:
            log.info("the trial's log was not kept by the server", reason=str(error))

    def _report(self, lease: Lease, ended: Ended, timeout: float, log: Log) -> Steps[None]:
        """Tell the server what came of a trial, for as long as it takes."""
        try:
            yield from self._insist(self._told(lease, ended, timeout), self._context.stop.too_late)
        except (Conflict, NotFound) as error:
            log.warning("trial dropped", reason=str(error))
        except Refused as error:
            if isinstance(ended, Scored):
                broken = Broken(f"the server refused the score {ended.score!r}: {error}", True)
                yield from self._report(lease, broken, timeout, log)
            else:
                log.error("report refused", reason=str(error))
        except GivenUp:
            log.warning("trial dropped", reason="the server could not be told in time")
        else:
            _note(log, ended)

    def _leave(self) -> Steps[None]:
        until = self._context.clock() + FAREWELL_SECONDS

        def in_vain() -> bool:
            return self._context.clock() >= until or self._context.stop.too_late()

        try:
            yield from self._insist(lambda: self._context.client.leave_device(self.name), in_vain)
            self._log.info("left")
        except (NotFound, Conflict):
            self._log.info("left")
        except GivenUp:
            self._log.warning("the server could not be told that the device leaves")

    def _insist(self, call: Callable[[], Result], unless: Callable[[], bool]) -> Steps[Result]:
        """Call until there is an answer; `unless` it is not wanted any more."""
        context, tries = self._context, 0
        while True:
            try:
                made = context.calls.start(call)
                while not made.done:
                    if unless():
                        raise GivenUp
                    yield context.clock() + LOOK_SECONDS
                result = made.result()
            except ANSWERS:
                context.link.back()
                raise
            except ServiceError as error:
                context.link.lost(error)
                self.idle_since = None  # nobody knows what there is to run
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
        return self._gone or self._context.stop.draining

    def _register(self) -> DeviceView:
        return self._context.client.register_device(self.name, self._kind)

    def _heartbeat(self, lease: Lease, timeout: float, progress: Progress) -> Callable[[], Renewal]:
        return lambda: self._context.client.heartbeat(
            lease.trial, lease.fence, timeout, progress=progress.share, scores=progress.scores
        )

    def _told(self, lease: Lease, ended: Ended, timeout: float) -> Callable[[], TrialView]:
        client, key = self._context.client, str(uuid4())
        trial, fence = lease.trial, lease.fence
        match ended:
            case Scored(score, metrics, scores):
                return lambda: client.complete(
                    trial, fence, score, key, timeout, metrics=metrics, scores=scores
                )
            case Broken(reason, final):
                return lambda: client.fail(trial, fence, reason, final, key, timeout)
            case GivenBack(why, unable):
                return lambda: client.release(trial, fence, key, timeout, reason=why, unable=unable)


def _is_news(progress: Progress, told: Progress) -> bool:
    """Whether it is worth a heartbeat before its time."""
    if progress.scores != told.scores:
        return True
    return abs((progress.share or 0.0) - (told.share or 0.0)) >= NEWS_SHARE


def _note(log: Log, ended: Ended) -> None:
    match ended:
        case Scored(score):
            log.info("trial complete", score=score)
        case Broken(reason, final):
            log.warning("trial failed", reason=reason, final=final)
        case GivenBack(why):
            log.warning("trial given back", reason=why)
