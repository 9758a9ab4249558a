"""The state of a scheduler, computed from its events alone.

`apply` checks an event completely before it changes anything, so a rejected event has no effect.
Its cost is that of one block, whatever the number of studies.

With a learned prior, some scores change the belief about every block. The new belief is rolled out:
the block of the score adopts it at once, and every event lets a few more blocks adopt it, so that
no single event pays for all. Which belief a block has depends on the events alone.
"""

from collections import deque
from collections.abc import Callable, Iterable

from bentham.core.costs.learned import CostModel, FrozenCosts, PastCosts, checked_history
from bentham.core.gaussian.prior import Prior
from bentham.core.learning.fit_task import Begin
from bentham.core.learning.prior import LearnedPrior, Learner
from bentham.core.problem.decision import DeviceName, Reason
from bentham.core.problem.events import (
    ArmFailed,
    ArmLost,
    ArmObserved,
    ArmReleased,
    ArmStarted,
    DeviceAdded,
    DeviceRemoved,
    Event,
    HistoryAdded,
    StudyAdded,
    StudyRemoved,
    StudyWeighted,
)
from bentham.core.problem.study import LARGEST, StudySpec
from bentham.core.state.blocks import Block
from bentham.core.state.study_checks import refuse_other_costs, refuse_other_tenant, study_state
from bentham.core.state.study_state import StudyState
from bentham.core.state.trial import ActiveTrial
from bentham.core.state.waiting import Waiting
from bentham.core.state.warm_start import WarmQueue, WarmStart
from bentham.errors import IllegalEvent, InvalidInput

# Number of blocks that adopt the latest belief with every event.
RENEWALS = 16


class State:
    """Studies, arms, devices and running trials."""

    def __init__(
        self,
        prior: Prior | LearnedPrior,
        warm_start: WarmStart,
        attempts: int,
        cost_exponent: float = 1.0,
        past_costs: PastCosts | None = None,
        correct_costs: bool = False,
    ):
        self._learner: Learner | None = None
        if isinstance(prior, LearnedPrior):
            prior = self._learner = prior.learner()
        self.prior: Prior = prior
        self.cost_exponent = cost_exponent
        self._costs = CostModel(past_costs, correct_costs)
        self._rotation: deque[Block] = deque()  # all blocks, least recently renewed first
        self._due = 0  # number of blocks that have not adopted the latest belief
        self.studies: dict[str, StudyState] = {}
        self.by_order: dict[int, StudyState] = {}
        self.waiting = Waiting()
        self.devices: dict[DeviceName, int | None] = {}
        self._kinds: dict[DeviceName, str] = {}
        self.running: dict[int, ActiveTrial] = {}
        self.next_trial = 0
        self.cursor = -1  # the study that the policy served last
        self.warm_queue = WarmQueue()
        self._warm_start = warm_start
        self._attempts = attempts
        self._lost: dict[tuple[int, int], int] = {}
        self._blocks: dict[str, Block] = {}
        self._next_order = 0

    def frozen(self) -> "State":
        """Return a copy that learns no more across datasets, neither scores nor costs.

        Each dataset keeps its current prior and expected costs. Observed scores still condition
        their own dataset. Posteriors are shared until one side observes something, so a copy costs
        some microseconds per dataset.
        """
        made = State(self.prior, self._warm_start, self._attempts, self.cost_exponent)
        made._costs = FrozenCosts()
        blocks = {key: block.copy() for key, block in self._blocks.items()}
        studies = {study.order: study for block in blocks.values() for study in block.studies}
        by_order = {block.order: block for block in blocks.values()}
        made._blocks, made._rotation = blocks, deque(blocks.values())
        made.by_order = {order: studies[order] for order in self.by_order}
        made.studies = {name: studies[study.order] for name, study in self.studies.items()}
        made.waiting, made.warm_queue = self.waiting.copy(), self.warm_queue.copy(studies)
        made.devices, made._kinds = dict(self.devices), dict(self._kinds)
        made.running = {
            number: trial.copy(by_order[trial.block.order], studies)
            for number, trial in self.running.items()
        }
        made.next_trial, made.cursor = self.next_trial, self.cursor
        made._next_order, made._lost = self._next_order, dict(self._lost)
        return made

    def apply(self, event: Event) -> list[Block]:
        """Apply one event and return the blocks that it changed."""
        if not abs(event.time) <= LARGEST:
            raise IllegalEvent(
                f"the event's time is {event.time}; give a number from {-LARGEST:g} to {LARGEST:g}"
            )
        touched = _HANDLERS[type(event)](self, event)
        for _ in range(min(RENEWALS, self._due)):
            self._due -= 1
            self._rotation.rotate(-1)
            block = self._rotation[-1]
            self._renew(block)
            touched.append(block)
        return touched

    def fit_by(self, begin: Begin) -> None:
        """Compute fits elsewhere before they are needed; `begin` starts one."""
        if self._learner is not None:
            self._learner.begin = begin
        self._costs.fit_by(begin)

    def blocks(self) -> Iterable[Block]:
        """Return all blocks."""
        return self._blocks.values()

    def model_name(self, block: Block, column: int) -> str:
        """Return the name of an arm's model."""
        return self.prior.models[int(block.prior.model_rank[column])]

    def study(self, name: str) -> StudyState:
        """Return a study being served."""
        if name not in self.studies:
            raise IllegalEvent(f"there is no study {name!r}; add it first")
        return self.studies[name]

    def _renew(self, block: Block) -> None:
        """Let a block adopt the latest beliefs about scores and costs."""
        if self._learner is not None:
            block.adopt(self.prior.block(""))
        self._update_cost_beliefs(block)

    def _update_cost_beliefs(self, block: Block) -> None:
        """Store the current belief about the costs of each dataset of a block.

        It predicts missing costs and corrects declared ones. Costs are computed from it on demand.
        """
        corrects = self._costs.corrects
        for listing in () if self._costs.frozen else block.costs.listings:
            if corrects or listing.undeclared:
                if listing.cost_columns is None:
                    models = [self.model_name(block, column) for column in listing.columns]
                    listing.cost_columns = self._costs.admit(models)
                listing.belief = self._costs.belief(listing.dataset)

    def _schedule_renewals(self, learned: bool) -> None:
        """If the beliefs changed, let all blocks adopt them, the least recently renewed first."""
        if learned:
            self._due = len(self._rotation)

    def _study_added(self, event: StudyAdded) -> list[Block]:
        spec = event.study
        if spec.name in self.studies:
            raise IllegalEvent(
                f"study {spec.name!r} is already being served; remove it, or choose another name"
            )
        key = self.prior.block_key(spec.dataset)
        block = self._blocks.get(key)
        if block is not None:
            refuse_other_tenant(spec, block)
            refuse_other_costs(spec, block, self.prior.columns(spec.dataset))
        if self._learner is not None:
            self._learner.admit(list(spec.costs), spec.descriptions)
        columns = self._columns_of(spec)
        if block is None:
            block = Block(len(self._blocks), self.prior.block(key), spec.tenant)
            self._blocks[key] = block
            self._rotation.append(block)
        elif block.prior.size < self.prior.block(key).size:
            self._renew(block)
        study = study_state(spec, self._next_order, block, columns)
        self._next_order += 1
        self.studies[spec.name] = self.by_order[study.order] = study
        block.add(study)
        self._costs.introduce(spec)
        self._update_cost_beliefs(block)
        self._update_waiting([study])
        for pick in self._warm_start.picks(study):
            self.warm_queue.push(pick, study)
        return [block]

    def _columns_of(self, spec: StudySpec) -> dict[str, int]:
        known = self.prior.columns(spec.dataset)
        for model in spec.costs:
            if model not in known:
                raise InvalidInput(
                    f"study {spec.name!r} lists model {model!r}, which the prior does not cover; "
                    "add the model to the prior, or remove it from the study"
                )
        return {model: known[model] for model in spec.costs}

    def _study_removed(self, event: StudyRemoved) -> list[Block]:
        study = self.study(event.study)
        del self.studies[event.study], self.by_order[study.order]
        study.block.remove(study)
        self._update_waiting([study])
        return [study.block]

    def _study_weighted(self, event: StudyWeighted) -> list[Block]:
        study = self.study(event.study)
        if not 0.0 < event.weight <= LARGEST:
            raise InvalidInput(
                f"study {study.name!r}: the weight is {event.weight}; give a finite number above 0"
            )
        study.block.set_weight(study, float(event.weight))
        return [study.block]

    def _history_added(self, event: HistoryAdded) -> list[Block]:
        if self._learner is None:
            raise InvalidInput("history cannot be added to a fixed prior; use a learned prior")
        history = checked_history(event.history)
        self._costs.remember(history)
        self._learner.remember(
            {
                dataset: {model: score for model, (score, _) in runs.items()}
                for dataset, runs in history.items()
            }
        )
        self._schedule_renewals(learned=True)
        return []

    def _device_added(self, event: DeviceAdded) -> list[Block]:
        if event.device in self.devices:
            raise IllegalEvent(f"device {event.device!r} already exists; add each device once")
        if not isinstance(event.kind, str):
            raise InvalidInput(
                f"device {event.device!r}: the kind is {event.kind!r}; give a string"
            )
        self.devices[event.device] = None
        self._kinds[event.device] = event.kind
        return []

    def _device_removed(self, event: DeviceRemoved) -> list[Block]:
        if self.device_trial(event.device) is not None:
            raise IllegalEvent(
                f"device {event.device!r} runs trial {self.devices[event.device]}; "
                "report it as lost first"
            )
        del self.devices[event.device], self._kinds[event.device]
        return []

    def device_trial(self, device: DeviceName) -> int | None:
        """Return the number of the trial that a device runs; None if it is idle."""
        if device not in self.devices:
            raise IllegalEvent(f"there is no device {device!r}; add it with add_device first")
        return self.devices[device]

    def _trial_started(self, event: ArmStarted) -> list[Block]:
        decision = event.decision
        running = self.device_trial(decision.device)
        if running is not None:
            raise IllegalEvent(
                f"device {decision.device!r} runs trial {running}; report the end of it first"
            )
        if decision.trial != self.next_trial:
            raise IllegalEvent(
                f"the decision has trial number {decision.trial}, but the next one is "
                f"{self.next_trial}; apply decisions in order"
            )
        study = self.study(decision.study)
        block = study.block
        column = self.prior.columns(study.dataset).get(decision.model)
        if column is not None and column >= block.prior.size:
            column = None  # a newer model, which no study lists here
        studies = [] if column is None else block.studies_listing(column)
        listed = decision.dataset == study.dataset and study in studies
        if column is None or not listed or not block.arms.candidate[column]:
            raise IllegalEvent(
                f"model {decision.model!r} of study {decision.study!r} cannot be run: "
                "it is running, has been tried, or is not listed"
            )
        planned = None
        if decision.reason is Reason.WARM_START:
            planned = self.warm_queue.take(block, column)
        else:
            self.cursor = study.order
        self.next_trial += 1
        self.devices[decision.device] = decision.trial
        trial = ActiveTrial(decision.trial, decision.device, study.dataset, block, column, planned)
        self.running[trial.number] = trial
        kind = self._kinds[decision.device]
        declared = float(block.costs.declared[column])
        self._costs.start(decision.trial, study.dataset, decision.model, kind, event.time, declared)
        block.start(column, studies)
        self._update_waiting(studies)
        for served in studies:
            self.waiting.mark_served(served, self.next_trial)
        return [block]

    def _trial_completed(self, event: ArmObserved) -> list[Block]:
        if not abs(event.score) <= LARGEST:
            raise InvalidInput(
                f"the score of trial {event.trial} is {event.score}; "
                "give a finite number, or report a trial without a score as failed"
            )
        trial = self._end(event.trial)
        block, score = trial.block, float(event.score)
        block.observe(trial.column, score)
        learned = self._costs.end(trial.number, event.time)
        if self._learner is not None:
            learned |= self._learner.observe(trial.dataset, trial.column, score)
        self._schedule_renewals(learned)
        if learned:
            self._renew(block)
        else:
            self._update_cost_beliefs(block)
        return [block]

    def _trial_failed(self, event: ArmFailed) -> list[Block]:
        trial = self._end(event.trial)
        self._costs.drop(trial.number)
        trial.block.fail(trial.column)
        return [trial.block]

    def _trial_lost(self, event: ArmLost) -> list[Block]:
        trial = self._end(event.trial)
        self._costs.drop(trial.number)
        arm = trial.block.order, trial.column
        self._lost[arm] = self._lost.get(arm, 0) + 1
        if self._lost[arm] >= self._attempts:
            trial.block.fail(trial.column)
            return [trial.block]
        return self._restore(trial)

    def _trial_released(self, event: ArmReleased) -> list[Block]:
        trial = self._end(event.trial)
        self._costs.drop(trial.number)
        return self._restore(trial)

    def _restore(self, trial: ActiveTrial) -> list[Block]:
        """Allow the trial's arm to be tried again."""
        studies = trial.block.studies_listing(trial.column)
        trial.block.restore(trial.column, studies)
        self._update_waiting(studies)
        if trial.planned is not None:
            self.warm_queue.push(*trial.planned)
        return [trial.block]

    def _end(self, number: int) -> ActiveTrial:
        trial = self.running.pop(number, None)
        if trial is None:
            started = 0 <= number < self.next_trial
            raise IllegalEvent(
                f"trial {number} has already ended; report each trial once"
                if started
                else f"there is no trial {number}; use the number from the decision"
            )
        self.devices[trial.device] = None
        return trial

    def _update_waiting(self, studies: list[StudyState]) -> None:
        for study in studies:
            self.waiting.update(study, self.next_trial)


# Not an attribute of State: a snapshot cannot contain methods.
_HANDLERS: dict[type, Callable[..., list[Block]]] = {
    StudyAdded: State._study_added,
    StudyRemoved: State._study_removed,
    StudyWeighted: State._study_weighted,
    HistoryAdded: State._history_added,
    DeviceAdded: State._device_added,
    DeviceRemoved: State._device_removed,
    ArmStarted: State._trial_started,
    ArmObserved: State._trial_completed,
    ArmFailed: State._trial_failed,
    ArmLost: State._trial_lost,
    ArmReleased: State._trial_released,
}
