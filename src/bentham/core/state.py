"""The fold: everything the scheduler knows, as its events made it.

`apply` checks an event whole before it changes anything, so a refused event leaves no trace.
It costs one block, whatever the number of studies.
"""

import bisect
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bentham.core.blocks import Block, Status, StudyState
from bentham.core.decision import DeviceName, Reason
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
from bentham.core.prior import Prior
from bentham.core.problem import LARGEST, Study
from bentham.core.warm_start import Pick, WarmQueue, WarmStart
from bentham.errors import IllegalEvent, InvalidInput


@dataclass(frozen=True, slots=True)
class Trial:
    """One run of an arm on a device."""

    number: int
    device: DeviceName
    block: Block
    column: int
    planned: tuple[Pick, StudyState] | None


class State:
    """Studies, arms, devices and running trials."""

    def __init__(self, prior: Prior, warm_start: WarmStart, attempts: int):
        self.prior = prior
        self.studies: dict[str, StudyState] = {}
        self.by_order: dict[int, StudyState] = {}
        self.open_orders: list[int] = []  # studies with something left to try, ascending
        self.devices: dict[DeviceName, int | None] = {}
        self.running: dict[int, Trial] = {}
        self.next_trial = 0
        self.cursor = -1  # the study that the policy served last
        self.warm_queue = WarmQueue()
        self._warm_start = warm_start
        self._attempts = attempts
        self._lost: dict[tuple[int, int], int] = {}
        self._blocks: dict[str, Block] = {}
        self._next_order = 0
        self._handlers: dict[type, Callable[..., Block | None]] = {
            StudyAdded: self._study_added,
            StudyRemoved: self._study_removed,
            DeviceAdded: self._device_added,
            DeviceRemoved: self._device_removed,
            TrialStarted: self._trial_started,
            TrialCompleted: self._trial_completed,
            TrialFailed: self._trial_failed,
            TrialLost: self._trial_lost,
        }

    def apply(self, event: Event) -> Block | None:
        """Take in one event; returns the block it touched, if any."""
        if not abs(event.time) <= LARGEST:
            raise IllegalEvent(f"the event's time is {event.time}; it must be within {LARGEST:g}")
        return self._handlers[type(event)](event)

    def model_name(self, block: Block, column: int) -> str:
        """The model of an arm."""
        return self.prior.models[int(block.prior.model_rank[column])]

    def study(self, name: str) -> StudyState:
        """A study being served."""
        if name not in self.studies:
            raise IllegalEvent(f"there is no study {name!r}; add it first")
        return self.studies[name]

    def _study_added(self, event: StudyAdded) -> Block:
        spec = event.study
        if spec.name in self.studies:
            raise IllegalEvent(f"study {spec.name!r} is being served; remove it, or pick a name")
        key = self.prior.block_key(spec.dataset)
        columns = self._columns_of(spec)
        block = self._blocks.get(key) or Block(len(self._blocks), self.prior.block(key))
        study = _study_state(spec, self._next_order, block, columns)
        _refuse_other_costs(study)
        self._blocks[key] = block
        self._next_order += 1
        self.studies[spec.name] = self.by_order[study.order] = study
        block.add(study)
        self._note_open([study])
        for pick in self._warm_start.picks(study):
            self.warm_queue.push(pick, study)
        return block

    def _columns_of(self, spec: Study) -> dict[str, int]:
        known = self.prior.columns(spec.dataset)
        for model in spec.costs:
            if model not in known:
                raise InvalidInput(
                    f"study {spec.name!r} lists model {model!r}, of which the prior says nothing; "
                    "include the model in the prior, or leave it out of the study"
                )
        return {model: known[model] for model in spec.costs}

    def _study_removed(self, event: StudyRemoved) -> Block:
        study = self.study(event.study)
        del self.studies[event.study], self.by_order[study.order]
        study.block.remove(study)
        self._note_open([study])
        return study.block

    def _device_added(self, event: DeviceAdded) -> None:
        if event.device in self.devices:
            raise IllegalEvent(f"device {event.device!r} is there already; add each device once")
        self.devices[event.device] = None

    def _device_removed(self, event: DeviceRemoved) -> None:
        if self.device_trial(event.device) is not None:
            raise IllegalEvent(
                f"device {event.device!r} runs trial {self.devices[event.device]}; lose that first"
            )
        del self.devices[event.device]

    def device_trial(self, device: DeviceName) -> int | None:
        """The trial that a device runs, None if it is idle."""
        if device not in self.devices:
            raise IllegalEvent(f"there is no device {device!r}; add it with add_device first")
        return self.devices[device]

    def _trial_started(self, event: TrialStarted) -> Block:
        decision = event.decision
        busy = self.device_trial(decision.device)
        if busy is not None:
            raise IllegalEvent(f"device {decision.device!r} runs trial {busy}; end that one first")
        if decision.trial != self.next_trial:
            raise IllegalEvent(f"trial {decision.trial} was decided, {self.next_trial} is next")
        study = self.study(decision.study)
        block = study.block
        column = self.prior.columns(study.dataset).get(decision.model)
        listing = [] if column is None else block.studies_listing(column)
        known = decision.dataset == study.dataset and study in listing
        if column is None or not known or not block.candidate[column]:
            raise IllegalEvent(
                f"model {decision.model!r} of study {decision.study!r} cannot be run: "
                "it is running, was tried, or is not listed"
            )
        planned = None
        if decision.reason is Reason.WARM_START:
            planned = self.warm_queue.take(block, column)
        else:
            self.cursor = study.order
        self.next_trial += 1
        self.devices[decision.device] = decision.trial
        self.running[decision.trial] = Trial(
            decision.trial, decision.device, block, column, planned
        )
        block.start(column, listing)
        self._note_open(listing)
        return block

    def _trial_completed(self, event: TrialCompleted) -> Block:
        if not abs(event.score) <= LARGEST:
            raise InvalidInput(
                f"the score of trial {event.trial} is {event.score}; "
                "a score is a finite number: report a trial without one as failed"
            )
        trial = self._end(event.trial)
        trial.block.observe(trial.column, float(event.score))
        return trial.block

    def _trial_failed(self, event: TrialFailed) -> Block:
        trial = self._end(event.trial)
        trial.block.status[trial.column] = Status.FAILED
        return trial.block

    def _trial_lost(self, event: TrialLost) -> Block:
        trial = self._end(event.trial)
        arm = trial.block.order, trial.column
        self._lost[arm] = self._lost.get(arm, 0) + 1
        if self._lost[arm] >= self._attempts:
            trial.block.status[trial.column] = Status.FAILED
            return trial.block
        listing = trial.block.studies_listing(trial.column)
        trial.block.restore(trial.column, listing)
        self._note_open(listing)
        if trial.planned is not None:
            self.warm_queue.push(*trial.planned)
        return trial.block

    def _end(self, number: int) -> Trial:
        trial = self.running.pop(number, None)
        if trial is None:
            known = 0 <= number < self.next_trial
            raise IllegalEvent(
                f"trial {number} has ended; a trial is reported once"
                if known
                else f"there is no trial {number}; report the number that the decision gave"
            )
        self.devices[trial.device] = None
        return trial

    def _note_open(self, studies: list[StudyState]) -> None:
        for study in studies:
            place = bisect.bisect_left(self.open_orders, study.order)
            listed = place < len(self.open_orders) and self.open_orders[place] == study.order
            if study.open_arms and not listed:
                self.open_orders.insert(place, study.order)
            elif listed and not study.open_arms:
                del self.open_orders[place]


def _study_state(spec: Study, order: int, block: Block, columns: dict[str, int]) -> StudyState:
    pairs = sorted(columns.items(), key=lambda pair: int(block.prior.model_rank[pair[1]]))
    costs = np.array([spec.costs[model] for model, _ in pairs], dtype=np.float64)
    return StudyState(spec, order, block, np.array([column for _, column in pairs]), costs)


def _refuse_other_costs(study: StudyState) -> None:
    block, columns = study.block, study.columns
    differs = (block.listers[columns] > 0) & (block.cost[columns] != study.costs)
    if differs.any():
        place = int(differs.argmax())
        other = block.studies_listing(int(columns[place]))[0]
        raise InvalidInput(
            f"study {study.name!r} says that an arm of dataset {study.dataset!r} costs "
            f"{study.costs[place]:g}, study {other.name!r} says {block.cost[columns[place]]:g}; "
            "one arm has one cost: make them agree"
        )
