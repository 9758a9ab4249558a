"""What devices ask for: to join and to leave, a trial to run, and what came of it."""

from bentham import wire
from bentham.service import events as happened
from bentham.service.commands import Command, Events, leaving, new_id
from bentham.service.entities import Trial
from bentham.service.pool import Pool
from bentham.service.refusals import Conflicting
from bentham.service.scope import Caller, Scope

MOST_DEVICES = 100_000


def register_device(caller: Caller, asked: wire.DeviceCreate) -> Command:
    """A device joins; one that joins again begins anew."""

    def command(pool: Pool, now: float) -> Events:
        known = pool.devices.get(asked.name)
        owner = None if known is None else pool.tokens.get(known.token)
        taken = known is not None and known.token != caller.token and caller.role != "admin"
        if taken and owner is not None and owner.good(now):
            raise Conflicting(f"the device name {asked.name!r} is taken; pick another")
        if known is None and len(pool.devices) >= MOST_DEVICES:
            raise Conflicting(f"there are {MOST_DEVICES:,} devices, the most that are possible")
        gone = [] if known is None else leaving(known, "the device registered again")
        return [*gone, happened.DeviceRegistered(asked.name, asked.kind, caller.token)]

    return command


def leave_device(caller: Caller, name: str) -> Command:
    """A device leaves; the trial that it runs is lost."""

    def command(pool: Pool, now: float) -> Events:  # noqa: ARG001
        return leaving(Scope(pool, caller).device(name), "the device left")

    return command


def lease(caller: Caller, name: str) -> Command:
    """An idle device asks what to run: nothing, if there is nothing that may be run."""

    def command(pool: Pool, now: float) -> Events:
        device = Scope(pool, caller).device(name)
        if device.trial is not None:
            raise Conflicting(
                f"device {name!r} runs trial {device.trial.id}; report or release that one, or "
                "register the device again"
            )
        barred = pool.barred(now)
        decision = pool.scheduler.decide(device.name, barred)
        if decision is None:
            return []
        tried = pool.studies[decision.study].shared.tried.get(decision.model)
        attempt = 1 if tried is None else tried.losses + 1
        return [happened.TrialLeased(new_id("t"), decision, attempt, barred)]

    return command


# -- trials


def held(pool: Pool, caller: Caller, name: str, fence: int) -> Trial:
    """A trial that the caller's device runs under a lease that still holds."""
    trial = Scope(pool, caller).trial(name)
    if trial.number != fence:
        raise Conflicting(f"the fence {fence} is not that of trial {name}; this changes nothing")
    if trial.state != "running":
        reason = f" ({trial.reason})" if trial.reason else ""
        raise Conflicting(f"trial {name} is {trial.state}{reason}; this changes nothing")
    return trial


def complete_trial(caller: Caller, name: str, asked: wire.Complete) -> Command:
    """A score; the same again, for whoever lost the answer, changes nothing."""

    def command(pool: Pool, now: float) -> Events:  # noqa: ARG001
        trial = Scope(pool, caller).trial(name)
        same = trial.number == asked.fence and trial.score == asked.score
        if same and trial.state == "complete":
            return []
        trial = held(pool, caller, name, asked.fence)
        return [happened.TrialCompleted(trial.id, asked.score, asked.metrics, asked.scores)]

    return command


def fail_trial(caller: Caller, name: str, asked: wire.Fail) -> Command:
    """No score."""

    def command(pool: Pool, now: float) -> Events:  # noqa: ARG001
        trial = held(pool, caller, name, asked.fence)
        return [happened.TrialFailed(trial.id, asked.reason, asked.final)]

    return command


def release_trial(caller: Caller, name: str, asked: wire.Release) -> Command:
    """Given back untried."""

    def command(pool: Pool, now: float) -> Events:  # noqa: ARG001
        trial = held(pool, caller, name, asked.fence)
        unable = trial.study.shared.tried[trial.model].unable
        others = (each for each in pool.devices if each != trial.device)
        if asked.unable and all(each in unable for each in others):
            # Nobody can run it: else it would be handed out and given back for good.
            return [happened.TrialFailed(trial.id, asked.reason, True)]
        return [happened.TrialReleased(trial.id, asked.reason, asked.unable)]

    return command
