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
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bentham.core.costs.learned import PastCosts
from bentham.core.gaussian.prior import Prior
from bentham.core.gaussian.shortfall import Shortfall
from bentham.core.learning.fit_task import Begin
from bentham.core.learning.prior import LearnedPrior
from bentham.core.policies import Option, PolicyMaker, make_policy
from bentham.core.problem.decision import (
    RUNNERS_UP,
    WEIGHTS,
    Change,
    Decision,
    DeviceName,
    Gain,
    Reason,
    RunnerUp,
    figure,
)
from bentham.core.problem.events import (
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
from bentham.core.problem.study import ModelDescription, Study
from bentham.core.scheduler import queries as looks
from bentham.core.scheduler.belief import Belief, defaults_of
from bentham.core.state.state import State
from bentham.core.state.study_state import StudyState
from bentham.core.state.warm_start import WarmStart
from bentham.errors import IllegalEvent, InvalidInput

DEFAULT_ATTEMPTS = 3
LARGEST_EXPONENT = 10.0


class Scheduler:
    """Shares devices among studies.

    Without a prior, everything is learned while serving. With a learned prior the policy is
    `joint` and there is no warm start, with any other they are the paper's, unless given.
    `cost_exponent` is the power of the cost in the rate: 1 in the paper, 0 to ignore cost.
    `past_costs`, by dataset and model, help to learn costs that studies do not give. With
    `correct_costs`, those that they give are taken for estimates, as good as they prove to be;
    that is the default with a learned prior.

    `policy` is a name, or what makes a Policy of one's own from the seed. `attempts` is how often
    an arm may be started when its trials get lost. With `patience`, no study with something left
    to try is passed over by more decisions than that, as long as fewer studies are open. `record`
    is called with every event after it was applied.
    """

    def __init__(
        self,
        prior: Prior | LearnedPrior | None = None,
        policy: str | PolicyMaker | None = None,
        *,
        warm_start: str | None = None,
        cost_exponent: float = 1.0,
        past_costs: PastCosts | None = None,
        correct_costs: bool | None = None,
        seed: int = 0,
        attempts: int = DEFAULT_ATTEMPTS,
        patience: int | None = None,
        record: Callable[[Event], None] | None = None,
    ):
        if attempts < 1:
            raise InvalidInput(f"attempts is {attempts}; an arm needs at least one")
        if seed < 0:
            raise InvalidInput(f"the seed is {seed}; it must be zero or above")
        number = isinstance(cost_exponent, int | float)
        if not number or not 0.0 <= cost_exponent <= LARGEST_EXPONENT:
            raise InvalidInput(
                f"the cost exponent is {cost_exponent}; it is a number from 0 (cost does not "
                f"count) over 1 (the paper's) to {LARGEST_EXPONENT:g}"
            )
        if isinstance(prior, str):
            raise InvalidInput(
                f"the prior is the text {prior!r}; pass a prior, or none to learn one"
            )
        given = LearnedPrior() if prior is None else prior
        defaults = defaults_of(given)
        policy = defaults.policy if policy is None else policy
        start = WarmStart.parse(defaults.warm_start if warm_start is None else warm_start)
        self._policy = make_policy(policy, seed) if isinstance(policy, str) else policy(seed)
        correct = defaults.correct_costs if correct_costs is None else correct_costs
        self._state = State(given, start, attempts, cost_exponent, past_costs, correct)
        self.patience = patience
        self._record = record

    def __getstate__(self) -> dict[str, Any]:
        # Whom to tell of events belongs to the process, not to what is known.
        return {**self.__dict__, "_record": None}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self.__dict__.update(kept)
        # What the policy computed is not kept: it looks at every block anew.
        for block in self._state.blocks():
            self._policy.touch(block)

    # -- studies and devices come and go

    def add_study(
        self,
        name: str,
        costs: Mapping[str, float | None] | list[str] | tuple[str, ...],
        *,
        dataset: str = "",
        weight: float = 1.0,
        floor: float = 0.0,
        rows: int | None = None,
        columns: int | None = None,
        tenant: str = "",
        descriptions: Mapping[str, ModelDescription] | None = None,
        time: float = 0.0,
    ) -> None:
        """Serve a study from now on.

        `costs` maps its candidate models to what they cost, None where that is to be learned; a
        list of models leaves all costs to be learned. `descriptions` say which models are alike.
        """
        given = dict.fromkeys(costs) if isinstance(costs, list | tuple) else costs
        described = {} if descriptions is None else descriptions
        spec = Study(name, given, dataset, weight, floor, rows, columns, tenant, described)
        self.apply(StudyAdded(float(time), spec))

    def remove_study(self, name: str, *, time: float = 0.0) -> None:
        """Serve a study no longer; its running trials go on, and what they show is kept."""
        self.apply(StudyRemoved(float(time), name))

    def add_device(self, device: DeviceName, *, kind: str = "", time: float = 0.0) -> None:
        """Let a device ask; devices of one kind are equally fast."""
        self.apply(DeviceAdded(float(time), device, kind))

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

    def decide(
        self, device: DeviceName, barred: Mapping[str, str] | None = None
    ) -> Decision | None:
        """What the device would be given now. Changes nothing.

        `barred` are tenants that may not be served now, each with the name of the limit that it
        has reached, by which the decision says so if that changes it.
        """
        state = self._state
        busy = state.device_trial(device)
        if busy is not None:
            raise IllegalEvent(f"device {device!r} runs trial {busy}; tell, fail or lose it first")
        limits = barred or {}
        options = self._policy.rank(state, limits)
        planned = state.warm_queue.first(limits)
        if planned is not None:
            study, column = planned
            arm = Option(0.0, study, column)
            others = [option for option in options if not option.same_arm(arm)]
            return self._decision(device, Reason.WARM_START, None, study, column, others, [])
        if not options:
            return None
        chosen, guarded = self._outcome(options[0], limits)
        changes = self._changes(chosen, limits)
        if guarded:
            changes.append(Change(Reason.GUARD.value, self._runner_up(options[0])))
        others = [option for option in options if not option.same_arm(chosen)]
        reason = Reason.GUARD if guarded else Reason.POLICY
        value, study, column = chosen
        return self._decision(device, reason, value, study, column, others, changes)

    def apply(self, event: Event) -> None:
        """Take in an event, made here or read from a record."""
        for block in self._state.apply(event):
            self._policy.touch(block)
        if self._record is not None:
            self._record(event)

    def fit_by(self, begin: Begin) -> None:
        """Have fits computed by somebody else until they are needed; decisions stay the same."""
        self._state.fit_by(begin)

    # -- what is known

    @property
    def studies(self) -> tuple[str, ...]:
        """The studies being served, in the order they were added."""
        return tuple(self._state.studies)

    @property
    def finished(self) -> bool:
        """Whether nothing runs and nothing is left to try."""
        return not self._state.running and not self._state.waiting.orders

    @property
    def devices(self) -> dict[DeviceName, int | None]:
        """Each device with the trial that it runs, None if idle."""
        return dict(self._state.devices)

    def incumbent(self, study: str) -> tuple[str, float] | None:
        """A study's best model so far and its score; None before the first observation."""
        return looks.incumbent(self._state, study)

    def beliefs(self, study: str) -> dict[str, Belief]:
        """The posterior of each model that a study lists, and its weighted EI for the study."""
        return looks.beliefs(self._state, study)

    def survey(self, studies: Sequence[str]) -> list[looks.Beliefs]:
        """What is believed of the models of several studies, as columns."""
        return looks.survey(self._state, studies)

    def shortfall(self, study: str) -> Shortfall:
        """How far a study's best model is believed to be above its best score so far."""
        return looks.expected_shortfall(self._state, study)

    def changes(self, study: str) -> int:
        """A number that grows whenever something else is believed of the study's scores."""
        return self._state.study(study).block.changes

    def first(self, study: str) -> looks.First | None:
        """What the study would run first; None if it has nothing left to try."""
        return looks.first(self._state, self._policy, study)

    def prospect(self, study: str) -> float:
        """The most that an untried model is expected to add to the study's best, unweighted."""
        return looks.prospect(self._state, study)

    @property
    def patience(self) -> int | None:
        """How many decisions may pass over a study; None: any number."""
        return self._patience

    @patience.setter
    def patience(self, decisions: int | None) -> None:
        if decisions is not None and decisions < 1:
            raise InvalidInput(f"the patience is {decisions}; it is at least one decision, or none")
        self._patience = decisions

    def _decision(
        self,
        device: DeviceName,
        reason: Reason,
        value: float | None,
        study: StudyState,
        column: int,
        others: list[Option],
        changes: list[Change],
    ) -> Decision:
        state, block = self._state, study.block
        expected_improvement = figure(block.gains.totals()[column])
        cost = figure(block.costs.expected[column], 1.0)
        return Decision(
            trial=state.next_trial,
            device=device,
            study=study.name,
            dataset=study.dataset,
            model=state.model_name(block, column),
            reason=reason,
            value=value,
            cost=cost,
            gains=tuple(
                Gain(other.name, figure(gain), other.weight)
                for other, gain in block.gains.of_arm(column)
            ),
            expected_improvement=expected_improvement,
            rate=figure(expected_improvement / cost),
            runners_up=tuple(self._runner_up(option) for option in others[:RUNNERS_UP]),
            changes=tuple(changes),
        )

    def _runner_up(self, option: Option) -> RunnerUp:
        study = option.study
        model = self._state.model_name(study.block, option.column)
        return RunnerUp(study.name, study.dataset, model, option.value)

    def _outcome(self, best: Option, limits: Mapping[str, str]) -> tuple[Option, bool]:
        """The policy's first, or what the guard puts in its place; whether it does."""
        starved = self._starved(limits)
        if starved is None or starved in best.listing():
            return best, False
        return self._policy.rank_study(self._state, starved)[0], True

    def _changes(self, chosen: Option, limits: Mapping[str, str]) -> list[Change]:
        """The limits and the weights without which something else would have been run."""
        changes = []
        if limits:
            free, _ = self._outcome(self._policy.rank(self._state)[0], {})
            if not free.same_arm(chosen):
                # What came first then is barred now: else it would have come first again.
                rule = limits.get(free.study.tenant, next(iter(limits.values())))
                changes.append(Change(rule, self._runner_up(free)))
        first = self._policy.unweighted(self._state, limits)
        if first is not None:
            plain, _ = self._outcome(first, limits)
            if not plain.same_arm(chosen):
                changes.append(Change(WEIGHTS, self._runner_up(plain)))
        return changes

    def _starved(self, limits: Mapping[str, str]) -> StudyState | None:
        if self._patience is None:
            return None
        state = self._state
        order = state.waiting.starved(state.next_trial, self._patience, limits)
        return None if order is None else state.by_order[order]
