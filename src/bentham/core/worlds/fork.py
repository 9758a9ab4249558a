"""A scheduler that goes on by itself from where another one stands: for asking what if.

What is learned stays as it is. A fork believes of every dataset's scores what the original
believes at that moment, and of costs what it expects then; scores teach it of their own dataset,
as ever, and nothing of others. That is what a simulation from the posterior needs, since its
scores are drawn from that belief and fitting it again would teach nothing; and it is what makes
a run of thousands of decisions cheap.

Of the original nothing changes but what it has computed already: its decisions are the same to
the bit. Posteriors are shared until either side observes something, so that a fork costs some
microseconds for each dataset.
"""

import copy
from collections import deque

from bentham.core.costs.learned import CostModel
from bentham.core.policies import Policy, make_policy
from bentham.core.policies.batch import TOGETHER, look_together
from bentham.core.scheduler.scheduler import Scheduler
from bentham.core.state.blocks import Block
from bentham.core.state.state import State
from bentham.core.state.study_state import StudyState
from bentham.core.state.trial import Trial
from bentham.core.state.waiting import Waiting
from bentham.core.state.warm_start import WarmQueue


def fork(scheduler: Scheduler, policy: str | None = None, seed: int = 0) -> Scheduler:
    """A scheduler in the same state, which learns no more, under another policy if one is named.

    Its studies, devices and running trials are those of the original, and so are patience and
    warm start. Studies can be removed from it, and none added.
    """
    awake = [block for block in scheduler._state.blocks() if block.has_candidates()]
    for start in range(0, len(awake), TOGETHER):  # together it is cheaper than one by one
        look_together(awake[start : start + TOGETHER])
    made = Scheduler.__new__(Scheduler)
    made._state = _forked_state(scheduler._state)
    made._policy = _forked_policy(scheduler._policy, policy, seed)
    made._record = None
    made.patience = scheduler.patience
    for block in made._state.blocks():
        made._policy.touch(block)
    return made


class SettledCosts(CostModel):
    """What costs are expected to be is settled: durations teach nothing."""

    settled = True

    def start(
        self, trial: int, dataset: str, model: str, kind: str, time: float, said: float
    ) -> None:
        """A trial begins."""

    def drop(self, trial: int) -> None:
        """A trial ended without a score."""

    def end(self, trial: int, time: float) -> bool:  # noqa: ARG002
        """A trial ended; no prediction changed."""
        return False


def _forked_policy(policy: Policy, name: str | None, seed: int) -> Policy:
    # A copy of a policy has none of what was computed, as a snapshot has none.
    return copy.copy(policy) if name is None else make_policy(name, seed)


def _forked_state(old: State) -> State:
    state = State(old.prior, old._warm_start, old._attempts, old.cost_exponent)
    state._costs = SettledCosts()
    blocks = [block.copy() for block in old._blocks.values()]
    twins = {study.order: study for block in blocks for study in block.studies}
    state._blocks = dict(zip(old._blocks, blocks, strict=True))
    state._rotation = deque(blocks)
    state.by_order = {order: twins[order] for order in old.by_order}
    state.studies = {study.name: twins[study.order] for study in old.studies.values()}
    state.waiting = _forked_waiting(old.waiting)
    state.devices, state._kinds = dict(old.devices), dict(old._kinds)
    by_order = {block.order: block for block in blocks}
    state.running = {
        number: _forked_trial(trial, by_order[trial.block.order], twins)
        for number, trial in old.running.items()
    }
    state.next_trial, state.cursor = old.next_trial, old.cursor
    state._next_order, state._lost = old._next_order, dict(old._lost)
    state.warm_queue = WarmQueue()
    state.warm_queue._picks = [
        (pick, twins[study.order])
        for pick, study in old.warm_queue._picks
        if study.order in twins  # those removed since are never run
    ]
    return state


def _forked_waiting(old: Waiting) -> Waiting:
    waiting = Waiting()
    waiting.orders = list(old.orders)
    waiting._since = {tenant: dict(since) for tenant, since in old._since.items()}
    return waiting


def _forked_trial(old: Trial, block: Block, twins: dict[int, StudyState]) -> Trial:
    planned = None
    if old.planned is not None and old.planned[1].order in twins:
        planned = old.planned[0], twins[old.planned[1].order]
    return Trial(old.number, old.device, old.dataset, block, old.column, planned)
