"""Ask and tell: which arm to run on a free device, and what came of it.

    scheduler = Scheduler(prior)
    scheduler.add_study("wine", {"svm": 3.0, "forest": 12.0})
    scheduler.add_device("gpu-0")
    decision = scheduler.ask("gpu-0")
    scheduler.tell(decision.trial, score=0.91)

Two verbs are underneath: `decide` answers and changes nothing, `apply` takes in one event. A
service that must not lose anything commits the event between the two; `ask` does both at once.
No clock, no I/O, no threads: a scheduler is a plain object, to be called from one thread.
"""

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from bentham.core.blocks import StudyState
from bentham.core.decision import RUNNERS_UP, Decision, DeviceName, Gain, Reason, RunnerUp
from bentham.core.events import (
    DeviceAdded,
    DeviceRemoved,
    Event,
    StudyAdded,
    StudyRemoved,
    TrialCompleted,
    TrialFailed,
    TrialLost,
    TrialStarted,
)
from bentham.core.policies import Option, PolicyMaker, make_policy
from bentham.core.prior import Prior
from bentham.core.problem import Study
from bentham.core.state import State
from bentham.core.warm_start import WarmStart
from bentham.errors import IllegalEvent, InvalidInput

DEFAULT_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Belief:
    """What is believed of one model of a study."""

    mean: float
    sigma: float
    expected_improvement: float


class Scheduler:
    """Shares devices among studies.

    `policy` is a name, or what makes a Policy of one's own from the seed. `attempts` is how often
    an arm may be started when its trials get lost. `record` is called with every event after it
    was applied.
    """

    def __init__(
        self,
        prior: Prior,
        policy: str | PolicyMaker = "mdmt",
        *,
        warm_start: str = "fastest:2",
        seed: int = 0,
        attempts: int = DEFAULT_ATTEMPTS,
        record: Callable[[Event], None] | None = None,
    ):
        if attempts < 1:
            raise InvalidInput(f"attempts is {attempts}; an arm needs at least one")
        if seed < 0:
            raise InvalidInput(f"the seed is {seed}; it must be zero or above")
        self._policy = make_policy(policy, seed) if isinstance(policy, str) else policy(seed)
        self._state = State(prior, WarmStart.parse(warm_start), attempts)
        self._record = record

    # -- studies and devices come and go

    def add_study(
        self,
        name: str,
        costs: Mapping[str, float],
        *,
        dataset: str = "",
        weight: float = 1.0,
        floor: float = 0.0,
        time: float = 0.0,
    ) -> None:
        """Serve a study from now on; `costs` maps its candidate models to what they cost."""
        self.apply(StudyAdded(float(time), Study(name, costs, dataset, weight, floor)))

    def remove_study(self, name: str, *, time: float = 0.0) -> None:
        """Serve a study no longer; its running trials go on, and what they show is kept."""
        self.apply(StudyRemoved(float(time), name))

    def add_device(self, device: DeviceName, *, time: float = 0.0) -> None:
        """Let a device ask."""
        self.apply(DeviceAdded(float(time), device))

    def remove_device(self, device: DeviceName, *, time: float = 0.0) -> None:
        """Let a device go; the trial that it runs is lost."""
        trial = self._state.device_trial(device)
        if trial is not None:
            self.lose(trial, time=time)
        self.apply(DeviceRemoved(float(time), device))

    # -- ask and tell

    def ask(self, device: DeviceName, *, time: float = 0.0) -> Decision | None:
        """What the idle device is to run now; None if nothing is left to try."""
        decision = self.decide(device)
        if decision is not None:
            self.apply(TrialStarted(float(time), decision))
        return decision

    def tell(self, trial: int, score: float, *, time: float = 0.0) -> None:
        """A trial ended with a score; larger is better."""
        self.apply(TrialCompleted(float(time), operator.index(trial), float(score)))

    def fail(self, trial: int, reason: str = "", *, time: float = 0.0) -> None:
        """A trial ended without a score; its arm is not tried again."""
        self.apply(TrialFailed(float(time), operator.index(trial), reason))

    def lose(self, trial: int, *, time: float = 0.0) -> None:
        """A trial will never be heard of; its arm may be tried again."""
        self.apply(TrialLost(float(time), operator.index(trial)))

    # -- the two verbs underneath

    def decide(self, device: DeviceName) -> Decision | None:
        """What the device would be given now. Changes nothing."""
        state = self._state
        busy = state.device_trial(device)
        if busy is not None:
            raise IllegalEvent(f"device {device!r} runs trial {busy}; tell, fail or lose it first")
        options = self._policy.rank(state)
        planned = state.warm_queue.first()
        if planned is not None:
            study, column = planned
            others = [
                option
                for option in options
                if (option.study.block, option.column) != (study.block, column)
            ]
            return self._decision(device, Reason.WARM_START, None, study, column, others)
        if not options:
            return None
        best, *others = options
        return self._decision(device, Reason.POLICY, best.value, best.study, best.column, others)

    def apply(self, event: Event) -> None:
        """Take in an event, made here or read from a record."""
        block = self._state.apply(event)
        if block is not None:
            self._policy.touch(block)
        if self._record is not None:
            self._record(event)

    # -- what is known

    @property
    def studies(self) -> tuple[str, ...]:
        """The studies being served, in the order they were added."""
        return tuple(self._state.studies)

    @property
    def finished(self) -> bool:
        """Whether nothing runs and nothing is left to try."""
        return not self._state.running and not self._state.open_orders

    @property
    def devices(self) -> dict[DeviceName, int | None]:
        """Each device with the trial that it runs, None if idle."""
        return dict(self._state.devices)

    def incumbent(self, study: str) -> tuple[str, float] | None:
        """A study's best model so far and its score; None before the first observation."""
        known = self._state.study(study)
        if known.incumbent_column is None:
            return None
        return self._state.model_name(known.block, known.incumbent_column), known.incumbent

    def beliefs(self, study: str) -> dict[str, Belief]:
        """The posterior of each model that a study lists, and its weighted EI for the study."""
        known = self._state.study(study)
        posterior = known.block.posterior
        gains = known.block.study_gains(known)
        known.block.rest()
        return {
            self._state.model_name(known.block, column): Belief(
                float(posterior.mean[column]),
                float(np.sqrt(posterior.variance[column])),
                float(gain),
            )
            for column, gain in zip(known.columns, gains, strict=True)
        }

    def _decision(
        self,
        device: DeviceName,
        reason: Reason,
        value: float | None,
        study: StudyState,
        column: int,
        others: list[Option],
    ) -> Decision:
        state, block = self._state, study.block
        expected_improvement = float(block.totals()[column])
        cost = float(block.cost[column])
        return Decision(
            trial=state.next_trial,
            device=device,
            study=study.name,
            dataset=study.dataset,
            model=state.model_name(block, column),
            reason=reason,
            value=value,
            cost=cost,
            gains=tuple(Gain(other.name, gain) for other, gain in block.gains(column)),
            expected_improvement=expected_improvement,
            rate=expected_improvement / cost,
            runners_up=tuple(
                RunnerUp(
                    option.study.name,
                    option.study.dataset,
                    state.model_name(option.study.block, option.column),
                    option.value,
                )
                for option in others[:RUNNERS_UP]
            ),
        )
