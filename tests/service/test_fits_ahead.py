"""A fit starts at one score and is adopted a fixed number of scores later."""

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
    """Compute the fit immediately."""
    parameters = task.run()
    return lambda: parameters


def scores() -> Iterator[tuple[str, int, float]]:
    rng = np.random.default_rng(7)
    effect = rng.normal(0.0, 0.1, len(MODELS))
    for number in range(10_000):
        study, model = divmod(number, len(MODELS))
        yield f"d{study}", model, float(0.5 + effect[model] + rng.normal(0.0, 0.05))


def learner_with(count: int, incoming: Iterator[tuple[str, int, float]]) -> Learner:
    learner = LearnedPrior(MODELS).learner()
    for _ in range(count):
        learner.observe(*next(incoming))
    return learner


def parameter_bytes(parameters: Parameters | None) -> bytes:
    assert parameters is not None
    return parameters.mean.tobytes() + parameters.covariance.tobytes()


def observe_until_fit_starts(
    learner: Learner, incoming: Iterator[tuple[str, int, float]]
) -> FitTask:
    while learner._begun is None:
        learner.observe(*next(incoming))
    return learner._begun.task


def test_a_fit_is_adopted_after_two_percent_more_scores() -> None:
    incoming = scores()
    learner = learner_with(200, incoming)
    task = observe_until_fit_starts(learner, incoming)
    started, before = learner._count, parameter_bytes(learner.parameters)
    for _ in range(started // 50 - 1):
        assert not learner.observe(*next(incoming))
        assert parameter_bytes(learner.parameters) == before
    assert learner.observe(*next(incoming))
    assert learner._count == started + started // 50
    # The fit uses the scores known when it started, and no later ones.
    assert sum(len(observed.models) for observed in task.observed) == started
    assert parameter_bytes(learner.parameters) == parameter_bytes(task.run()) != before


def test_with_few_scores_a_fit_is_adopted_at_once() -> None:
    incoming = scores()
    learner = LearnedPrior(MODELS).learner()
    learner.begin = lambda task: pytest.fail(f"{task} is needed now, so it must not be delegated")
    assert [learner.observe(*next(incoming)) for _ in range(20)] == [True] * 20


def test_models_added_during_a_fit() -> None:
    incoming = scores()
    learner = learner_with(200, incoming)
    task = observe_until_fit_starts(learner, incoming)
    learner.admit(["late"])
    while learner._begun is not None:
        learner.observe(*next(incoming))
    assert learner.parameters is not None
    assert len(learner.parameters.mean) == len(MODELS) + 1
    fitted = task.run()
    assert fitted is not None
    assert learner.parameters.mean[:-1].tobytes() == fitted.mean.tobytes()
    assert learner.block("").size == len(MODELS) + 1


def test_history_added_during_a_fit_is_used_at_once() -> None:
    incoming = scores()
    learner = learner_with(200, incoming)
    observe_until_fit_starts(learner, incoming)
    learner.remember({"past": {MODELS[0]: 0.9, MODELS[1]: 0.1}})
    after = parameter_bytes(learner.parameters)
    for _ in range(9):
        assert not learner.observe(*next(incoming))
    assert parameter_bytes(learner.parameters) == after


def test_a_snapshot_keeps_the_pending_fit() -> None:
    incoming = scores()
    learner = learner_with(200, incoming)
    learner.begin = at_once
    observe_until_fit_starts(learner, incoming)
    restored = load(dump(learner))
    assert isinstance(restored, Learner)
    assert restored.begin is when_needed
    for _ in range(30):
        score = next(incoming)
        assert learner.observe(*score) == restored.observe(*score)
        assert parameter_bytes(learner.parameters) == parameter_bytes(restored.parameters)


@pytest.mark.slow
@given(seed=st.integers(0, 10**6), costs=st.sampled_from(COSTS), steps=st.integers(50, 250))
@settings(max_examples=15)
def test_decisions_do_not_depend_on_who_computes(seed: int, costs: str, steps: int) -> None:
    started: list[FitTask] = []

    def record(task: FitTask) -> Result:
        started.append(task)
        return at_once(task)

    delegating, local = Scheduler(LearnedPrior()), Scheduler(LearnedPrior())
    delegating.fit_by(record)
    with mock.patch.object(learned, "LEAD", 0.5):
        history = History(seed, costs, [delegating, local])
        history.run(steps)
        history.check_agreement()
    assert delegating._state._learner is not None
    assert started or delegating._state._learner._count < 4


def test_fits_of_costs_are_delegated_too() -> None:
    started: list[FitTask] = []

    def record(task: FitTask) -> Result:
        started.append(task)
        return task.run

    scheduler = Scheduler()
    scheduler.fit_by(record)  # before any study leaves a cost undeclared
    for study in range(12):
        scheduler.add_study(f"s{study}", MODELS)
    scheduler.add_device(0)
    for turn in range(len(MODELS) * 12):
        decision = scheduler.ask(0, time=2.0 * turn)
        assert decision is not None
        scheduler.tell(decision.trial, 0.1 * (turn % 7), time=2.0 * turn + 1.0 + turn % 3 / 3.0)
    # Fits of scores may use a warp, fits of log costs never do.
    assert {task.switches.warp for task in started} == {True, False}


def test_adopting_the_same_prior_changes_nothing() -> None:
    scheduler = Scheduler()
    scheduler.add_study("s", MODELS)
    scheduler.add_device(0)
    scheduler.ask(0)
    (block,) = scheduler._state.blocks()
    posterior = block.belief.posterior
    block.adopt(block.prior)
    assert block.belief.posterior is posterior
