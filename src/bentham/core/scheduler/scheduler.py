"""The ask-and-tell interface: ask which arm to run on an idle device, then tell its score.

    scheduler = Scheduler(prior)
    scheduler.add_study("wine", {"svm": 3.0, "forest": 12.0})
    scheduler.add_device("gpu-0")
    decision = scheduler.ask("gpu-0")
    scheduler.tell(decision.trial, score=0.91)

Underneath are two methods: `decide` returns a decision and changes nothing, `apply` applies one
event. A service that must not lose events commits the event between the two calls; `ask` does both.
A scheduler has no clock, I/O or threads: it is a plain object that one thread at a time may call.
"""

import copy
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bentham.core.costs.learned import PastCosts
from bentham.core.gaussian.prior import Prior
from bentham.core.gaussian.shortfall import Shortfall
from bentham.core.learning.fit_task import Begin
from bentham.core.learning.prior import LearnedPrior
from bentham.core.policies import Option, PolicyMaker, make_policy
from bentham.core.policies.batch import BATCH, compute_together
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
    ArmFailed,
    ArmLost,
    ArmObserved,
    ArmStarted,
    DeviceAdded,
    DeviceRemoved,
    Event,
    StudyAdded,
    StudyRemoved,
)
from bentham.core.problem.stop_rules import Prospect
from bentham.core.problem.study import ModelDescription, StudySpec
from bentham.core.scheduler import queries
from bentham.core.scheduler.belief import Belief, defaults_of
from bentham.core.state.state import State
from bentham.core.state.study_state import StudyState
from bentham.core.state.warm_start import WarmStart
from bentham.errors import IllegalEvent, InvalidInput

DEFAULT_ATTEMPTS = 3
LARGEST_EXPONENT = 10.0


class Scheduler:
    """Shares devices among studies: decides which arm runs next on each idle device.

    Methods raise IllegalEvent if the state does not allow the call (unknown study, busy device,
    trial already ended) and InvalidInput if a value cannot be used. Nothing is changed then, and
    the message says what to do.

    Args:
        prior: Prior over scores. Default: `LearnedPrior()`, which learns everything while serving.
        policy: Name of a policy in `POLICIES`, or a function that makes a `Policy` from the seed.
            Default: "joint" with a learned prior, else "mdmt" (the paper's).
        warm_start: What each study runs first: "fastest:K" (its K cheapest models), "mean" (the
            model of highest prior mean) or "none". Default: "none" with a learned prior, else
            "fastest:2" (the paper's).
        cost_exponent: Power of the cost in the EI rate, from 0 (ignore cost) to 10. Default: 1,
            as in the paper.
        past_costs: Costs of past runs, by dataset and model, for learning the costs that studies
            do not give. Default: none.
        correct_costs: Treat the costs that studies give as estimates, and correct them by how
            accurate they prove to be. Default: True with a learned prior, else False.
        seed: Random seed for the policy, at least 0. Default: 0.
        attempts: Number of times that an arm may be started if its trials are lost, at least 1.
            Default: 3.
        patience: Maximum number of decisions in a row that may pass over a study with models left
            to try, at least 1; guaranteed while fewer studies than that are open. Default: None,
            no limit.
        record: Function called with every event after it was applied. Default: none.

    Raises:
        InvalidInput: An argument is unknown or out of range; the message says what to give.
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
            raise InvalidInput(f"attempts is {attempts}; give at least 1")
        if seed < 0:
            raise InvalidInput(f"the seed is {seed}; give at least 0")
        number = isinstance(cost_exponent, int | float)
        if not number or not 0.0 <= cost_exponent <= LARGEST_EXPONENT:
            raise InvalidInput(
                f"the cost exponent is {cost_exponent}; give a number from 0 (ignore cost) to "
                f"{LARGEST_EXPONENT:g}; the paper uses 1"
            )
        if isinstance(prior, str):
            raise InvalidInput(
                f"the prior is the string {prior!r}; pass a prior object, or None to learn one"
            )
        chosen_prior = LearnedPrior() if prior is None else prior
        defaults = defaults_of(chosen_prior)
        policy = defaults.policy if policy is None else policy
        start = WarmStart.parse(defaults.warm_start if warm_start is None else warm_start)
        self._policy = make_policy(policy, seed) if isinstance(policy, str) else policy(seed)
        correct = defaults.correct_costs if correct_costs is None else correct_costs
        self._state = State(chosen_prior, start, attempts, cost_exponent, past_costs, correct)
        self.patience = patience
        self._record = record

    def __getstate__(self) -> dict[str, Any]:
        # The recorder belongs to the process, not to the saved state.
        return {**self.__dict__, "_record": None}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self.__dict__.update(kept)
        # The policy's caches are not saved: mark every block as changed.
        for block in self._state.blocks():
            self._policy.touch(block)

    # -- add and remove studies and devices

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
        gain_share: float = 0.0,
        time: float = 0.0,
    ) -> None:
        """Add a study and serve it from now on.

        Args:
            name: Unique name of the study; not empty.
            costs: Cost of each candidate model, above 0; None if it is to be learned. A list of
                models means that all costs are learned.
            dataset: Dataset of the study; studies on one dataset share its arms. Default: `name`.
            weight: Multiplies the study's EI; above 0. Default: 1.
            floor: Baseline score before the first observation. Default: 0.
            rows: Number of rows of the dataset; helps to predict costs. Default: unknown.
            columns: Number of columns of the dataset; helps to predict costs. Default: unknown.
            tenant: Owner of the study; tenants cannot share a dataset. Default: "".
            descriptions: Family and features of models, by model: which models are similar.
                Default: none.
            gain_share: The study gets no more trials once all its untried models together are
                expected to add less than this share of what it has gained over its floor.
                Default: 0, every model is run.
            time: Time of the event, in the unit of the costs. Default: 0.

        Raises:
            InvalidInput: An argument cannot be used, the prior does not cover a model, or another
                study gives another cost for the same arm.
            IllegalEvent: A study of this name is being served; remove it or choose another name.
        """
        by_model = dict.fromkeys(costs) if isinstance(costs, list | tuple) else costs
        described = {} if descriptions is None else descriptions
        spec = StudySpec(
            name, by_model, dataset, weight, floor, rows, columns, tenant, described, gain_share
        )
        self.apply(StudyAdded(float(time), spec))

    def remove_study(self, name: str, *, time: float = 0.0) -> None:
        """Stop serving a study; its running trials continue and their scores are kept."""
        self.apply(StudyRemoved(float(time), name))

    def add_device(self, device: DeviceName, *, kind: str = "", time: float = 0.0) -> None:
        """Add an idle device.

        Args:
            device: Unique name or number of the device.
            kind: Devices of one kind are equally fast. Default: "".
            time: Time of the event, in the unit of the costs. Default: 0.
        """
        self.apply(DeviceAdded(float(time), device, kind))

    def remove_device(self, device: DeviceName, *, time: float = 0.0) -> None:
        """Remove a device; its running trial, if any, is lost."""
        trial = self._state.device_trial(device)
        if trial is not None:
            self.lose(trial, time=time)
        self.apply(DeviceRemoved(float(time), device))

    # -- ask and tell

    def ask(self, device: DeviceName, *, time: float = 0.0) -> Decision | None:
        """Start the next trial on an idle device; returns None if there is nothing to run.

        Args:
            device: An idle device, added with `add_device`.
            time: Time of the event, in the unit of the costs. Default: 0.

        Raises:
            IllegalEvent: The device is unknown or busy; add it, or report its trial first.
        """
        decision = self.decide(device)
        if decision is not None:
            self.apply(ArmStarted(float(time), decision))
        return decision

    def tell(self, trial: int, score: float, *, time: float = 0.0) -> None:
        """Report the score of a completed trial.

        Args:
            trial: Number of the trial, from the decision.
            score: A finite number; larger is better.
            time: Time of the event, in the unit of the costs. Default: 0.

        Raises:
            InvalidInput: The score is NaN or infinite; report the trial with `fail` instead.
            IllegalEvent: The trial is unknown or has ended already.
        """
        self.apply(ArmObserved(float(time), operator.index(trial), float(score)))

    def fail(self, trial: int, reason: str = "", *, time: float = 0.0) -> None:
        """Report that a trial ended without a score; its arm is not tried again."""
        self.apply(ArmFailed(float(time), operator.index(trial), reason))

    def lose(self, trial: int, *, time: float = 0.0) -> None:
        """Report that a trial is lost; its arm may be started up to `attempts` times in all."""
        self.apply(ArmLost(float(time), operator.index(trial)))

    # -- the two methods underneath

    def decide(
        self, device: DeviceName, barred: Mapping[str, str] | None = None
    ) -> Decision | None:
        """Return what an idle device should run next, or None; changes nothing.

        Args:
            device: An idle device, added with `add_device`.
            barred: Tenants that may not be served now, each with the name of the limit that it
                has reached. If a limit changes the outcome, `Decision.changes` names it.
                Default: none.

        Raises:
            IllegalEvent: The device is unknown or busy; add it, or report its trial first.
        """
        state = self._state
        running = state.device_trial(device)
        if running is not None:
            raise IllegalEvent(
                f"device {device!r} runs trial {running}; report it with tell, fail or lose first"
            )
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
        """Apply an event, made by this scheduler or read from a recording.

        Raises:
            IllegalEvent: The state does not allow the event; nothing is changed.
            InvalidInput: The event contains a value that cannot be used; nothing is changed.
        """
        for block in self._state.apply(event):
            self._policy.touch(block)
        if self._record is not None:
            self._record(event)

    def frozen(self, policy: str | None = None, seed: int = 0) -> "Scheduler":
        """Return an independent copy that learns no more across datasets, for what-if.

        Simulated scores are sampled from the current belief, so there is nothing to learn from
        them; without fits a run of thousands of decisions is cheap. The decisions of the original
        stay the same to the bit.

        Args:
            policy: Name of another policy. Default: the same policy.
            seed: Random seed of another policy. Default: 0.
        """
        ready = [block for block in self._state.blocks() if block.has_candidates()]
        for start in range(0, len(ready), BATCH):  # cheaper in batches than one by one
            compute_together(ready[start : start + BATCH])
        made = Scheduler.__new__(Scheduler)
        made._state = self._state.frozen()
        # A copied policy has no cached results, like one from a snapshot.
        made._policy = copy.copy(self._policy) if policy is None else make_policy(policy, seed)
        made._record = None
        made.patience = self.patience
        for block in made._state.blocks():
            made._policy.touch(block)
        return made

    def fit_by(self, begin: Begin) -> None:
        """Compute fits elsewhere, e.g. in another process, before they are needed.

        Decisions do not depend on it.

        Args:
            begin: Starts a fit and returns at once; what it returns is called for the result.
        """
        self._state.fit_by(begin)

    # -- queries

    @property
    def studies(self) -> tuple[str, ...]:
        """Names of the studies being served, in the order they were added."""
        return tuple(self._state.studies)

    @property
    def finished(self) -> bool:
        """Whether no trial is running and nothing is left that is worth running."""
        state = self._state
        studies = (state.by_order[order] for order in state.waiting.orders)
        return not state.running and all(study.block.satisfied(study) for study in studies)

    @property
    def devices(self) -> dict[DeviceName, int | None]:
        """Each device with the number of its running trial, None if idle."""
        return dict(self._state.devices)

    def incumbent(self, study: str) -> tuple[str, float] | None:
        """Return a study's best model so far and its score; None before the first observation."""
        return queries.incumbent(self._state, study)

    def beliefs(self, study: str) -> dict[str, Belief]:
        """Return the belief about each model of a study; EI is weighted."""
        return queries.beliefs(self._state, study)

    def survey(self, studies: Sequence[str]) -> list[queries.Beliefs]:
        """Return the beliefs about the models of several studies, as columns; EI is unweighted."""
        return queries.survey(self._state, studies)

    def shortfall(self, study: str) -> Shortfall:
        """Return how far a study's best model is expected to be above its best score so far."""
        return queries.expected_shortfall(self._state, study)

    def changes(self, study: str) -> int:
        """Return a counter that increases whenever the beliefs about the study's scores change."""
        return self._state.study(study).block.changes

    def first(self, study: str) -> queries.First | None:
        """Return the model that the study would run first; None if nothing is left to try."""
        return queries.first(self._state, self._policy, study)

    def prospect(self, study: str) -> Prospect:
        """Return what the models still to be tried are expected to add to the best score."""
        return queries.prospect(self._state, study)

    def satisfied(self, study: str) -> bool:
        """Return whether what is left is not worth running, by the study's `gain_share`."""
        return queries.satisfied(self._state, study)

    @property
    def patience(self) -> int | None:
        """Maximum number of decisions in a row that may pass over a study; None: no limit."""
        return self._patience

    @patience.setter
    def patience(self, decisions: int | None) -> None:
        if decisions is not None and decisions < 1:
            raise InvalidInput(
                f"the patience is {decisions}; give at least 1 decision, or None for no limit"
            )
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
        """Return the policy's best or the guard's replacement, and whether it was replaced."""
        starved = self._starved(limits)
        if starved is None or starved in best.listing():
            return best, False
        return self._policy.rank_study(self._state, starved)[0], True

    def _changes(self, chosen: Option, limits: Mapping[str, str]) -> list[Change]:
        """Return the limits and weights without which another arm would have been chosen."""
        changes = []
        if limits:
            free, _ = self._outcome(self._policy.rank(self._state)[0], {})
            if not free.same_arm(chosen):
                # Its tenant is barred now; otherwise it would rank first with limits, too.
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
        state, satisfied = self._state, set[int]()
        while True:
            order = state.waiting.starved(state.next_trial, self._patience, limits, satisfied)
            if order is None:
                return None
            study = state.by_order[order]
            if not study.block.satisfied(study):
                return study
            satisfied.add(order)
