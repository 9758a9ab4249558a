"""Costs learned from dataset sizes, history and durations, and corrections of declared costs."""

import math

import numpy as np
import pytest

from bentham.core import Scheduler, SharedPrior
from bentham.core.costs.learned import CostModel
from bentham.core.problem.study import StudySpec
from bentham.errors import InvalidInput

MODELS = ["quick", "middling", "slow"]
TRUE = {"quick": 1.0, "middling": 10.0, "slow": 100.0}
UNDECLARED = np.full(3, np.nan)


def study(name: str, rows: int | None = None, costs: dict[str, float] | None = None) -> StudySpec:
    return StudySpec(name, costs or dict.fromkeys(MODELS), rows=rows)


def run(
    model: CostModel, trial: int, dataset: str, name: str, duration: float, kind: str = "",
    declared: float = math.nan,
) -> None:  # fmt: skip
    model.start(trial, dataset, name, kind, 0.0, declared)
    model.end(trial, duration)


def trained(sizes: dict[str, float], kinds: bool = False, rows: bool = False) -> CostModel:
    """Return a cost model that observed every model once on every dataset; cost = size x model."""
    model, trial = CostModel(), 0
    for name, size in sizes.items():
        model.introduce(study(name, rows=int(1000 * size) if rows else None))
    for name, size in sizes.items():
        for model_name in MODELS:
            fast = kinds and trial % 2
            duration = size * TRUE[model_name] * (0.25 if fast else 1.0)
            run(model, trial, name, model_name, duration, "fast" if fast else "slow")
            trial += 1
    return model


SIZES = {f"d{i}": float(size) for i, size in enumerate([1, 3, 0.5, 8, 2, 5, 0.3, 1, 4, 2])}


def test_costs_of_models_on_a_new_dataset() -> None:
    model = trained(SIZES)
    model.introduce(study("new"))
    quick, middling, slow = model.expected("new", MODELS, UNDECLARED)
    assert 4.0 < middling / quick < 25.0
    assert 4.0 < slow / middling < 25.0


def test_one_trial_shows_the_size_of_a_dataset() -> None:
    model = trained(SIZES)
    model.introduce(study("large"))
    run(model, 1000, "large", "quick", 20.0)
    found = model.expected("large", MODELS, UNDECLARED)
    assert found[1:] == pytest.approx([200.0, 2000.0], rel=0.5)


def test_rows_predict_the_size_before_any_trial() -> None:
    model = trained(SIZES, rows=True)
    for name, size in (("small", 0.4), ("large", 6.0)):
        model.introduce(study(name, rows=int(1000 * size)))
    small, large = (model.expected(name, MODELS, UNDECLARED) for name in ("small", "large"))
    assert large / small == pytest.approx(np.full(3, 15.0), rel=0.6)


def test_past_costs_are_history() -> None:
    past = {name: {m: size * TRUE[m] for m in MODELS} for name, size in SIZES.items()}
    model = CostModel(past)
    model.introduce(study("new"))
    quick, _, slow = model.expected("new", MODELS, UNDECLARED)
    assert slow > 20.0 * quick


def test_fast_devices_do_not_lower_the_costs_of_models() -> None:
    model = trained(SIZES, kinds=True)
    model.introduce(study("new"))
    run(model, 1000, "new", "quick", 1.0, "slow")
    found = model.expected("new", MODELS, UNDECLARED)
    assert found[2] == pytest.approx(100.0, rel=0.7)


def test_initial_costs_differ_between_datasets() -> None:
    model = CostModel()
    for name in ("a", "b"):
        model.introduce(study(name))
    a, b = (model.expected(name, MODELS, UNDECLARED) for name in ("a", "b"))
    assert len({*a, *b}) == 6
    assert (a == model.expected("a", MODELS, UNDECLARED)).all()


def test_a_long_running_trial_is_expensive() -> None:
    model = trained({"d0": 1.0, "d1": 2.0, "d2": 0.5})
    model.introduce(study("new"))
    before = model.expected("new", MODELS, UNDECLARED)[0]
    model.introduce(study("other"))
    model.start(100, "new", "quick", "", 0.0, math.nan)
    model.start(101, "other", "slow", "", 0.0, math.nan)
    model.end(101, 5000.0)  # by then, the quick model has run for 5000
    during = model.expected("new", MODELS, UNDECLARED)
    assert during[1] > 100.0 * before
    model.drop(100)  # and was lost: its time is not observed
    after = model.expected("new", MODELS, UNDECLARED)
    assert after[1] < during[1]


def test_declared_costs_are_corrected_when_wrong() -> None:
    costs = {m: TRUE[m] for m in MODELS}
    declared = np.array([TRUE[m] for m in MODELS])
    model = CostModel(correct=True)
    model.introduce(study("d", costs=costs))
    run(model, 0, "d", "quick", 1.0, declared=1.0)
    assert model.expected("d", MODELS, declared).tolist() == declared.tolist()
    run(model, 1, "d", "middling", 1000.0, declared=10.0)
    corrected = model.expected("d", MODELS, declared)
    assert corrected[2] > declared[2]
    trusting = CostModel(correct=False)
    trusting.introduce(study("d", costs=costs))
    run(trusting, 1, "d", "middling", 1000.0, declared=10.0)
    assert trusting.expected("d", MODELS, declared).tolist() == declared.tolist()


def test_durations_of_zero_are_ignored() -> None:
    model = CostModel()
    model.introduce(study("d"))
    before = model.expected("d", MODELS, UNDECLARED)
    run(model, 0, "d", "quick", 0.0)
    run(model, 1, "d", "slow", -5.0)
    assert model.expected("d", MODELS, UNDECLARED).tolist() == before.tolist()


def test_durations_observed_before_they_are_needed() -> None:
    scheduler = Scheduler()
    clock = 0.0
    scheduler.add_device(0)
    for name, size in SIZES.items():
        scheduler.add_study(name, {m: size * TRUE[m] for m in MODELS})
    while (decision := scheduler.ask(0, time=clock)) is not None:
        clock += SIZES[decision.study] * TRUE[decision.model]
        scheduler.tell(decision.trial, 0.5, time=clock)
    scheduler.add_study("new", MODELS)
    costs = {}
    for _ in MODELS:
        decision = scheduler.ask(0, time=clock)
        assert decision is not None
        costs[decision.model] = decision.cost
        scheduler.fail(decision.trial, time=clock)
    assert costs["slow"] > 20.0 * costs["quick"]


def test_declared_and_missing_costs_on_one_dataset() -> None:
    prior = SharedPrior(["a", "b"], [0.5, 0.5], 0.01 * np.eye(2))
    scheduler = Scheduler(prior, warm_start="none")
    scheduler.add_study("one", {"a": 7.0, "b": None}, dataset="d")
    scheduler.add_study("two", {"a": None, "b": 3.0}, dataset="d")
    with pytest.raises(InvalidInput, match="one arm has one cost"):
        scheduler.add_study("three", {"a": 8.0}, dataset="d")
    scheduler.add_device(0)
    first = scheduler.ask(0)
    assert first is not None
    assert (first.model, first.cost) == ("b", 3.0)
    scheduler.tell(first.trial, 0.4)
    second = scheduler.ask(0)
    assert second is not None
    assert (second.model, second.cost) == ("a", 7.0)


@pytest.mark.parametrize("rows", [0, -1, 1.5, True, "many"])
def test_invalid_numbers_of_rows(rows: object) -> None:
    with pytest.raises(InvalidInput, match="rows is"):
        StudySpec("s", {"m": 1.0}, rows=rows)  # type: ignore[arg-type]


def test_declared_costs_in_another_unit() -> None:
    # Declared in hours, measured in seconds: the declared costs are equally informative.
    model = CostModel(correct=True)
    for name, size in SIZES.items():
        model.introduce(study(name, costs={m: size * TRUE[m] for m in MODELS}))
        run(model, len(name), name, "quick", 3600.0 * size, declared=size)
    declared = np.array([5.0, 2.0, 70.0])
    assert model.expected("d0", MODELS, declared) == pytest.approx(3600.0 * declared, rel=1e-6)


def test_a_slow_device_kind_is_learned() -> None:
    model, trial = trained(SIZES), 500
    for turn in range(8):
        model.introduce(study(f"s{turn}"))
        for kind, factor in (("fast", 1.0), ("slow", 10.0)):
            model_name = MODELS[(turn + (kind == "slow")) % 3]
            run(model, trial, f"s{turn}", model_name, factor * TRUE[model_name], kind)
            trial += 1
    model.introduce(study("new"))
    run(model, trial, "new", "quick", 10.0, "slow")  # on a fast device: 1
    assert 20.0 < model.expected("new", MODELS, UNDECLARED)[2] < 700.0


def test_a_recently_started_trial_is_not_overdue() -> None:
    model = CostModel()
    for name in ("a", "b"):
        model.introduce(study(name))
    model.start(0, "a", "slow", "", 0.0, math.nan)
    model.start(1, "b", "quick", "", 9.999, math.nan)
    model.end(0, 10.0)
    assert model.expected("b", MODELS, UNDECLARED).min() > 1.0


@pytest.mark.parametrize("cost", [0.0, -1.0, None, math.nan, "x", True])
def test_invalid_past_costs(cost: object) -> None:
    with pytest.raises(InvalidInput, match="the past cost of model 'm' on 'd'"):
        CostModel({"d": {"m": cost}})  # type: ignore[dict-item]
    with pytest.raises(InvalidInput, match="map each dataset"):
        CostModel({"m": 3.0})  # type: ignore[dict-item]
