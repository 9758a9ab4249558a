"""The commands of devices: register, leave, lease a trial, and report its outcome."""

from dataclasses import dataclass
from typing import Any

from bentham import wire
from bentham.service.commands.fits import held, lease_fit, next_fit
from bentham.service.commands.tenants import new_id
from bentham.service.engine.rules import REGISTERED_AGAIN, Events, leaving
from bentham.service.engine.turn import Turn, allowed
from bentham.service.fold import events
from bentham.service.fold.entities import Device
from bentham.service.fold.pool import Pool
from bentham.service.refusals import Conflicting
from bentham.service.views import queries

MOST_DEVICES = 100_000
RUNNERS = ("device", "admin")


@allowed(*RUNNERS)
def register_device(turn: Turn, body: wire.DeviceCreate) -> Events:
    """Register a device; if it is registered already, it leaves first."""
    pool, caller = turn.whole(), turn.caller
    known = pool.devices.get(body.name)
    owner = None if known is None else pool.tokens.get(known.token)
    taken = known is not None and known.token != caller.token and caller.role != "admin"
    if taken and owner is not None and owner.good(turn.now):
        raise Conflicting(f"the device name {body.name!r} is taken; pick another name")
    if known is None and len(pool.devices) >= MOST_DEVICES:
        raise Conflicting(f"there are already {MOST_DEVICES:,} devices, the maximum")
    gone = [] if known is None else leaving(known, REGISTERED_AGAIN)
    return [*gone, events.DeviceRegistered(body.name, body.kind, caller.token)]


@allowed(*RUNNERS)
def leave_device(turn: Turn, name: str) -> Events:
    """Remove a device; the trial that it runs is lost."""
    return leaving(turn.scope.device(name), "the device left")


@dataclass(slots=True)
class WaitingDevice:
    """A device's request for a trial, which may take several turns.

    A worker that died may leave an open request behind. Once the device has registered again,
    that request is refused: it must not take a trial in the name of the new worker.
    """

    name: str
    device: Device | None = None

    def check(self, found: Device) -> None:
        """Refuse a device that has registered again since the first turn."""
        if self.device is None:
            self.device = found
        if self.device is not found:
            raise Conflicting(
                f"device {self.name!r} has registered again since this request; repeat it"
            )


class NothingToRun:
    """Remembers that there was nothing to run.

    That holds for all devices: hundreds that wait do not each make the same decision.
    """

    def __init__(self) -> None:
        self._known: tuple[Pool, int, tuple[str, ...]] | None = None

    def holds(self, pool: Pool, barred: dict[str, str]) -> bool:
        """Whether there was nothing to run, and nothing has happened since."""
        return self._known == (pool, pool.sequence, tuple(barred))

    def note(self, pool: Pool, barred: dict[str, str], found: bool) -> None:
        """Remember whether a decision found something to run."""
        self._known = None if found else (pool, pool.sequence, tuple(barred))


@allowed(*RUNNERS)
def lease(turn: Turn, waiting: WaitingDevice, nothing: NothingToRun) -> Events:
    """Lease a trial to an idle device; no event if there is nothing to run."""
    pool, device = turn.whole(), turn.scope.device(waiting.name)
    waiting.check(device)
    if device.trial is not None:
        raise Conflicting(
            f"device {waiting.name!r} is running trial {device.trial.id}; report or release that "
            "one, or register the device again"
        )
    barred = pool.barred(turn.now)
    fit = next_fit(pool, device, barred, turn.now)
    if fit is not None:
        return lease_fit(fit, device)
    if nothing.holds(pool, barred):
        return []
    decision = pool.scheduler.decide(device.name, barred)
    nothing.note(pool, barred, decision is not None)
    if decision is None:
        return []
    tried = pool.studies[decision.study].shared.tried.get(decision.model)
    attempt = 1 if tried is None else tried.losses + 1
    return [events.TrialLeased(new_id("t"), decision, attempt, barred)]


# -- trials


@allowed(*RUNNERS, unchanged=queries.trial)
def complete_trial(turn: Turn, name: str, body: wire.Complete) -> Events:
    """Complete a trial with a score; a repeat with the same score changes nothing."""
    trial = turn.scope.trial(name)
    same = trial.number == body.fence and trial.score == body.score
    if same and trial.state == "complete":
        return []
    trial = held(turn, name, body.fence)
    if trial.fits:
        raise Conflicting(f"trial {name} fits a model; upload the file of the model")
    look: dict[str, Any] = {}
    shared = trial.study.shared
    if body.look is not None and body.score > shared.best_above(trial.model, trial.study):
        look = body.look.model_dump(mode="json", exclude_none=True)
    return [events.TrialCompleted(trial.id, body.score, body.metrics, body.scores, look)]


@allowed(*RUNNERS)
def fail_trial(turn: Turn, name: str, body: wire.Fail) -> Events:
    """End a trial without a score."""
    trial = held(turn, name, body.fence)
    return [events.TrialFailed(trial.id, body.reason, body.final)]


@allowed(*RUNNERS)
def release_trial(turn: Turn, name: str, body: wire.Release) -> Events:
    """Release a trial untried; it fails if no device can run its model."""
    trial = held(turn, name, body.fence)
    fit = trial.study.fit if trial.fits else None
    unable = (fit or trial.study.shared.tried[trial.model]).unable
    others = (each for each in turn.whole().devices if each != trial.device)
    if body.unable and all(each in unable for each in others):
        # No device can run it: otherwise it would be leased and released forever.
        return [events.TrialFailed(trial.id, body.reason, True)]
    return [events.TrialReleased(trial.id, body.reason, body.unable)]
