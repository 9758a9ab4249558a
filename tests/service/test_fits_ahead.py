"""A fit is begun at one score and believed some scores later, whoever computes it, and when."""

from collections.abc import Iterator
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.histories import COSTS, History

from bentham.core import LearnedPrior, Scheduler
from bentham.core.learning import prior as learned
from bentham.core.learning.fit import Parameters
from bentham.core.learning.fit_task import FitTask, Result, when_needed
from bentham.core.learning.prior import Learner
from bentham.service.fold.snapshots import dump, load

MODELS = [f"m{number}" for number in range(6)]


def at_once(task: FitTask) -> Result:
    """Somebody who is done before anybody asks."""
    parameters = task.run()
    return lambda: parameters


def scores() -> Iterator[tuple[str, int, float]]:
    rng = np.random.default_rng(7)
    effect = rng.normal(0.0, 0.1, len(MODELS))
    for number in range(10_000):
        study, model = divmod(number, len(MODELS))
        yield f"d{study}", model, float(0.5 + effect[model] + rng.normal(0.0, 0.05))


def learner_with(count: int, come: Iterator[tuple[str, int, float]]) -> Learner:
    learner = LearnedPrior(MODELS).learner()
    for _ in range(count):
        learner.observe(*next(come))
    return learner


def told(parameters: Parameters | None) -> bytes:
    assert parameters is not None
    return parameters.mean.tobytes() + parameters.covariance.tobytes()


def until_begun(learner: Learner, come: Iterator[tuple[str, int, float]]) -> FitTask:
    while learner._begun is None:
        learner.observe(*next(come))
    return learner._begun.task


def test_a_fit_is_believed_when_a_fiftieth_more_scores_have_come() -> None:
    come = scores()
    learner = learner_with(200, come)
    task = until_begun(learner, come)
    begun, before = learner._count, told(learner.parameters)
    for _ in range(begun // 50 - 1):
        assert not learner.observe(*next(come))
        assert told(learner.parameters) == before
    assert learner.observe(*next(come))
    assert learner._count == begun + begun // 50
    # Of what was known when it was begun, and of nothing that came later.
    assert sum(len(observed.models) for observed in task.observed) == begun
    assert told(learner.parameters) == told(task.run()) != before


def test_with_few_scores_a_fit_is_believed_at_once() -> None:
    come = scores()
    learner = LearnedPrior(MODELS).learner()
    learner.begin = lambda task: pytest.fail(f"{task} is needed now, and nobody else is faster")
    assert [learner.observe(*next(come)) for _ in range(20)] == [True] * 20


def test_models_that_come_meanwhile() -> None:
    come = scores()
    learner = learner_with(200, come)
    task = until_begun(learner, come)
    learner.admit(["late"])
    while learner._begun is not None:
        learner.observe(*next(come))
    assert learner.parameters is not None
    assert len(learner.parameters.mean) == len(MODELS) + 1
    fitted = task.run()
    assert fitted is not None
    assert learner.parameters.mean[:-1].tobytes() == fitted.mean.tobytes()
    assert learner.block("").size == len(MODELS) + 1


def test_history_that_comes_meanwhile_is_believed_at_once_and_stays_so() -> None:
    come = scores()
    learner = learner_with(200, come)
    until_begun(learner, come)
    learner.remember({"past": {MODELS[0]: 0.9, MODELS[1]: 0.1}})
    after = told(learner.parameters)
    for _ in range(9):
        assert not learner.observe(*next(come))
    assert told(learner.parameters) == after


def test_a_snapshot_keeps_the_fit_that_is_under_way() -> None:
    come = scores()
    learner = learner_with(200, come)
    learner.begin = at_once
    until_begun(learner, come)
    again = load(dump(learner))
    assert isinstance(again, Learner)
    assert again.begin is when_needed
    for _ in range(30):
        score = next(come)
        assert learner.observe(*score) == again.observe(*score)
        assert told(learner.parameters) == told(again.parameters)


@given(seed=st.integers(0, 10**6), costs=st.sampled_from(COSTS), steps=st.integers(50, 250))
@settings(max_examples=15)
def test_decisions_do_not_depend_on_who_computes(seed: int, costs: str, steps: int) -> None:
    begun: list[FitTask] = []

    def note(task: FitTask) -> Result:
        begun.append(task)
        return at_once(task)

    elsewhere, here = Scheduler(LearnedPrior()), Scheduler(LearnedPrior())
    elsewhere.fit_by(note)
    with mock.patch.object(learned, "LEAD", 0.5):
        history = History(seed, costs, [elsewhere, here])
        history.run(steps)
        history.agree()
    assert elsewhere._state._learner is not None
    assert begun or elsewhere._state._learner._count < 4


def test_costs_are_fitted_elsewhere_too() -> None:
    begun: list[FitTask] = []

    def note(task: FitTask) -> Result:
        begun.append(task)
        return task.run

    scheduler = Scheduler()
    scheduler.fit_by(note)  # before anybody leaves a cost open
    for study in range(12):
        scheduler.add_study(f"s{study}", MODELS)
    scheduler.add_device(0)
    for turn in range(len(MODELS) * 12):
        decision = scheduler.ask(0, time=2.0 * turn)
        assert decision is not None
        scheduler.tell(decision.trial, 0.1 * (turn % 7), time=2.0 * turn + 1.0 + turn % 3 / 3.0)
    # Those of scores are warped, those of log costs never.
    assert {task.switches.warp for task in begun} == {True, False}


def test_a_block_that_believes_it_already_is_left_alone() -> None:
    scheduler = Scheduler()
    scheduler.add_study("s", MODELS)
    scheduler.add_device(0)
    scheduler.ask(0)
    (block,) = scheduler._state.blocks()
    posterior = block.belief.posterior
    block.adopt(block.prior)
    assert block.belief.posterior is posterior
