"""The simulator: the order of events at one instant, and disturbances."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.problems import random_problem

from bentham.core import Arm, SharedPrior, StudySpec
from bentham.core.problem.events import (
    ArmLost,
    ArmObserved,
    ArmStarted,
    DeviceAdded,
    DeviceRemoved,
)
from bentham.errors import InvalidInput
from bentham.sim import POLICY_NAMES, Disturbances, Run, simulate


def tiny(costs: dict[str, dict[str, float]], **options: object) -> Run:
    models = sorted({model for listed in costs.values() for model in listed})
    prior = SharedPrior(models, np.zeros(len(models)), np.eye(len(models)))
    studies = [StudySpec(name, listed) for name, listed in costs.items()]
    truth = {
        Arm(study.name, model): 0.1 * (place + 1)
        for study in studies
        for place, model in enumerate(study.costs)
    }
    return simulate(studies, truth, prior, **options)  # type: ignore[arg-type]


def test_completions_at_one_instant_come_in_start_order_before_decisions() -> None:
    run = tiny({"a": {"x": 2.0, "y": 1.0}, "b": {"x": 1.0, "y": 1.0}}, devices=2)
    # Warm start: a/y and b/x at 0, both end at 1; then a/x and b/y at 1.
    kinds = [
        (event.time, "start", event.decision.device)
        if isinstance(event, ArmStarted)
        else (event.time, "end", event.trial)
        for event in run.events
        if isinstance(event, ArmStarted | ArmObserved)
    ]
    assert kinds == [
        (0.0, "start", 0), (0.0, "start", 1),
        (1.0, "end", 0), (1.0, "end", 1),
        (1.0, "start", 0), (1.0, "start", 1),
        (2.0, "end", 3), (3.0, "end", 2),
    ]  # fmt: skip
    assert [(t.study, t.model, t.device, t.start, t.end) for t in run.trials] == [
        ("a", "y", 0, 0.0, 1.0), ("b", "x", 1, 0.0, 1.0),
        ("a", "x", 0, 1.0, 3.0), ("b", "y", 1, 1.0, 2.0),
    ]  # fmt: skip


def test_idle_devices_are_filled_lowest_first() -> None:
    run = tiny({"a": {"x": 3.0}, "b": {"x": 1.0}, "c": {"x": 1.0}, "d": {"x": 1.0}}, devices=3)
    assert [(t.study, t.device, t.start) for t in run.trials] == [
        ("a", 0, 0.0), ("b", 1, 0.0), ("c", 2, 0.0), ("d", 1, 1.0),
    ]  # fmt: skip


def test_devices_that_fall_idle_together_are_filled_lowest_first() -> None:
    # At 3 two trials end; that of device 1 started first, yet device 0 is filled first.
    costs = {"a": 1.0, "b": 3.0, "c": 2.0, "d": 1.0, "e": 1.0}
    run = tiny({study: {"x": cost} for study, cost in costs.items()}, devices=2)
    assert [(t.study, t.device, t.start) for t in run.trials] == [
        ("a", 0, 0.0), ("b", 1, 0.0), ("c", 0, 1.0), ("d", 0, 3.0), ("e", 1, 3.0),
    ]  # fmt: skip


def test_until_cuts_the_run() -> None:
    costs = {"a": {"x": 2.0, "y": 3.0}}
    run = tiny(costs, devices=1, until=4.0)
    assert [(t.model, t.end, t.score, t.outcome) for t in run.trials] == [
        ("x", 2.0, 0.1, "complete"), ("y", None, None, "running"),
    ]  # fmt: skip
    assert run.regret.end_time == 4.0
    assert run.regret.cumulative == pytest.approx(0.2 * 2 + 0.1 * 2)
    # Trials that end at that moment count; none starts.
    run = tiny(costs, devices=1, until=2.0)
    assert [t.outcome for t in run.trials] == ["complete"]
    assert tiny(costs, until=0.0).trials == ()
    assert tiny(costs, until=100.0).regret.end_time == 3.0


def test_a_shared_dataset_serves_every_study_on_it() -> None:
    prior = SharedPrior(["x"], [0.0], [[1.0]])
    studies = [StudySpec("a", {"x": 2.0}, "d"), StudySpec("b", {"x": 2.0}, "d", weight=3.0)]
    run = simulate(studies, {Arm("d", "x"): 1.0}, prior)
    assert len(run.trials) == 1
    assert run.regret.cumulative == pytest.approx(2.0 + 3 * 2.0)


@pytest.mark.parametrize("policy", POLICY_NAMES)
def test_losses_and_failures_do_not_stop_a_run(policy: str) -> None:
    disturbances = Disturbances(failure=0.1, loss=0.2, repair=2.0, cost_error=2.0)
    problem = random_problem(5, studies=8, models=5)
    runs = [
        simulate(
            problem.studies,
            problem.truth,
            problem.prior,
            policy,
            devices=3,
            seed=4,
            disturbances=disturbances,
        )
        for _ in range(2)
    ]
    assert runs[0] == runs[1]
    run = runs[0]
    outcomes = dict.fromkeys(("complete", "failed", "lost"), 0)
    attempts: dict[Arm, int] = {}
    for trial in run.trials:
        outcomes[trial.outcome] += 1
        dataset = next(s.dataset for s in problem.studies if s.name == trial.study)
        arm = Arm(dataset, trial.model)
        attempts[arm] = attempts.get(arm, 0) + 1
    assert min(outcomes.values()) > 0
    assert max(attempts.values()) <= 3
    assert set(attempts) == {Arm(s.dataset, m) for s in problem.studies for m in s.costs}
    lost = [event.time for event in run.events if isinstance(event, ArmLost)]
    gone = [event.time for event in run.events if isinstance(event, DeviceRemoved)]
    back = [event.time for event in run.events if isinstance(event, DeviceAdded)]
    assert lost == gone
    assert sorted(back)[3:] == pytest.approx([time + 2.0 for time in gone])


def test_cost_errors_change_predictions_but_not_durations() -> None:
    problem = random_problem(1, studies=10, models=6)
    run = simulate(
        problem.studies,
        problem.truth,
        problem.prior,
        disturbances=Disturbances(cost_error=2.0),
    )
    true = {study.name: study for study in problem.studies}
    decisions = [event.decision for event in run.events if isinstance(event, ArmStarted)]
    ratios = []
    for trial, decision in zip(run.trials, decisions, strict=True):
        assert trial.end is not None
        assert trial.end - trial.start == pytest.approx(true[trial.study].cost(trial.model))
        ratios.append(decision.cost / true[trial.study].cost(trial.model))
    assert 0.5 <= min(ratios) < 0.8
    assert 1.2 < max(ratios) <= 2.0


@given(seed=st.integers(0, 500), devices=st.integers(1, 6), policy=st.sampled_from(POLICY_NAMES))
@settings(max_examples=40)
def test_a_device_runs_one_trial_at_a_time_and_none_idles(
    seed: int, devices: int, policy: str
) -> None:
    problem = random_problem(seed, shared_datasets=False)
    run = simulate(problem.studies, problem.truth, problem.prior, policy, devices=devices)
    ends = [0.0] * devices
    for trial in run.trials:
        assert trial.start == ends[trial.device]  # starts when the previous one has ended
        assert trial.end is not None
        ends[trial.device] = trial.end
    assert run.regret.end_time == max(ends)
    assert run.regret.curve[-1][1] == pytest.approx(0.0, abs=1e-12)
    starts = [trial.start for trial in run.trials]
    assert starts == sorted(starts)


@pytest.mark.slow
def test_the_oracle_has_the_least_regret() -> None:
    regrets: dict[str, float] = dict.fromkeys(POLICY_NAMES, 0.0)
    for seed in range(20):
        problem = random_problem(seed, studies=10, models=6, shared_datasets=False)
        for policy in POLICY_NAMES:
            run = simulate(problem.studies, problem.truth, problem.prior, policy, warm_start="none")
            regrets[policy] += run.regret.cumulative
    assert min(regrets, key=regrets.__getitem__) == "oracle"
    assert regrets["mdmt"] < regrets["round-robin"]


def test_a_run_ends_with_its_last_trial_despite_repairs() -> None:
    costs = {name: {"x": 1.0, "y": 2.0} for name in "abcdef"}
    for repair in (0.0, 10.0, 1000.0):
        disturbances = Disturbances(loss=0.3, repair=repair)
        run = tiny(costs, devices=2, seed=3, disturbances=disturbances)
        assert run.regret.end_time == max(trial.end or 0.0 for trial in run.trials)
    # A device under repair at the end still had arms to run.
    run = tiny({"a": {"x": 1.0}}, devices=1, seed=1, until=500.0,
               disturbances=Disturbances(loss=1.0, repair=1000.0))  # fmt: skip
    assert run.regret.end_time == 500.0
    assert run.regret.cumulative == pytest.approx(0.1 * 500.0)


def test_regret_continues_until_the_requested_end() -> None:
    run = tiny({"a": {"x": 1.0}}, devices=1, until=50.0, disturbances=Disturbances(failure=1.0))
    assert run.regret.end_time < 1.0
    assert run.regret.cumulative == pytest.approx(0.1 * 50.0)


def test_no_study_to_serve() -> None:
    with pytest.raises(InvalidInput, match="no study to serve"):
        simulate([], {}, SharedPrior(["x"], [0.0], [[1.0]]))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"devices": 0}, "devices is 0"),
        ({"until": -1.0}, "until -1.0"),
        ({"until": math.nan}, "until nan"),
        ({"policy": "best"}, "unknown policy"),
    ],
)
def test_misuse(options: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        tiny({"a": {"x": 1.0}}, **options)


@pytest.mark.parametrize(
    "options", [{"failure": -0.1}, {"loss": 1.1}, {"failure": 0.6, "loss": 0.6}, {"repair": -1},
    {"cost_error": 0.5}]
)  # fmt: skip
def test_disturbances_are_checked(options: dict[str, float]) -> None:
    with pytest.raises(InvalidInput):
        Disturbances(**options)
