"""A scheduler with a learned prior: replay, new models, degenerate data, and learning."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bentham.core import (
    POLICIES,
    Event,
    LearnedPrior,
    Scheduler,
    prior_from,
    recover,
    verify,
)
from bentham.core.learning.fit import Parameters, fit
from bentham.core.problem.events import ArmStarted
from bentham.errors import IllegalEvent, InvalidInput, InvalidPrior
from bentham.sim import Disturbances, read_recording, write_recording
from bentham.sim.experiment import Experiment, run_experiment
from bentham.tables import load_table


def serve(scheduler: Scheduler, scores: dict[tuple[str, str], float], trials: int = 10**6) -> int:
    """Run trials one after the other, at unit intervals; return their number."""
    for trial in range(trials):
        decision = scheduler.ask(0, time=float(trial))
        if decision is None:
            return trial
        scheduler.tell(
            decision.trial, scores[decision.study, decision.model], time=trial + decision.cost
        )
    return trials


@pytest.mark.slow
@given(
    seed=st.integers(0, 1000),
    costs=st.sampled_from(["given", "learned", "learned-from-nothing"]),
    policy=st.sampled_from([None, *POLICIES]),
)
@settings(max_examples=5)
def test_record_and_replay(
    seed: int, costs: str, policy: str | None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    table = load_table("oboe:6").only(range(seed % 30, 400, 57))
    experiment = Experiment(
        table,
        holdout=3,
        devices=3,
        costs=costs,
        disturbances=Disturbances(failure=0.1, loss=0.1, repair=0.5, cost_error=2.0),
    )
    outcome = run_experiment(experiment, policy, seed)
    path = tmp_path_factory.mktemp("learned") / "run.jsonl"
    write_recording(path, outcome.recording())
    recording = read_recording(path)
    assert verify(recording.scheduler(), recording.events) == []
    # A scheduler recovered in the middle continues in the same way, however often it is queried.
    half = len(recording.events) // 2
    recovered = recording.scheduler()
    recover(recovered, recording.events[:half])
    for event in recording.events[half:]:
        if isinstance(event, ArmStarted):
            for study in recovered.studies:
                recovered.beliefs(study)
            assert recovered.decide(event.decision.device) == event.decision
            assert recovered.decide(event.decision.device) == event.decision
        recovered.apply(event)


def test_a_prior_as_plain_data() -> None:
    prior = LearnedPrior(
        ["a", "b"], [[0.5, np.nan], [0.1, 0.2]], [[1.0, 0.0], [3.0, 1.0]], [0, 0], {"warp": False}
    )
    data = json.loads(json.dumps(prior.describe()))
    restored = prior_from(data)
    assert isinstance(restored, LearnedPrior)
    assert restored.describe() == prior.describe()
    assert np.isnan(restored.history[0, 1])
    assert not restored.switches.warp


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"models": ["a", "a"]}, "duplicate model 'a'"),
        ({"models": ["a"], "history": [[1.0, 2.0]]}, "one column per model"),
        ({"models": ["a"], "history": [[np.inf]]}, "is inf; a score must be"),
        ({"models": ["a"], "features": [[np.nan]]}, "features"),
        ({"models": ["a", "b"], "features": [[1.0], [2.0]], "groups": [1]}, "from 0 without gaps"),
        ({"switches": {"luck": True}}, "unknown switch"),
    ],
)
def test_invalid_priors(arguments: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidPrior, match=words):
        LearnedPrior(**arguments)  # type: ignore[arg-type]


def test_models_and_studies_may_be_added_at_any_time() -> None:
    scheduler = Scheduler()
    scheduler.add_device(0)
    rng = np.random.default_rng(0)
    scores: dict[tuple[str, str], float] = {}
    for number in range(6):
        models = [f"m{m}" for m in range(number, number + 3)]
        scores |= {(f"s{number}", model): float(rng.random()) for model in models}
        scheduler.add_study(f"s{number}", dict.fromkeys(models, 1.0), dataset=f"d{number % 4}")
        serve(scheduler, scores, trials=2)
    assert serve(scheduler, scores) <= 6 * 3
    assert scheduler.finished
    for number in range(6):
        best = scheduler.incumbent(f"s{number}")
        assert best is not None
        assert (
            best[1]
            >= max(score for (study, _), score in scores.items() if study == f"s{number}") - 1e-12
            or number >= 4
        )  # two datasets are shared; their arms run once


def test_a_refused_study_adds_no_models() -> None:
    scheduler = Scheduler()
    scheduler.add_study("s", {"a": 1.0})
    with pytest.raises(IllegalEvent):
        scheduler.add_study("s", {"b": 1.0})
    scheduler.add_device(0)
    scheduler.add_study("t", {"c": 1.0, "b": 1.0}, dataset="s")
    # Ties go to the model that was known first.
    first = scheduler.ask(0)
    assert first is not None
    assert first.model == "a"


def degenerate() -> dict[str, tuple[list[str], object, dict[tuple[str, str], float]]]:
    rng = np.random.default_rng(3)
    names = ["m0", "m1", "m2"]
    plain = {(f"s{i}", m): float(rng.random()) for i in range(4) for m in names}
    equal = dict.fromkeys(plain, 0.7)
    return {
        "one history study": (names, [[0.1, 0.2, 0.3]], plain),
        "an empty history": (names, [], plain),
        "history without scores": (names, [[None] * 3, [None] * 3], plain),
        "a model without history": (names, [[0.5, None, 0.3], [0.4, None, 0.1]], plain),
        "all scores equal": (names, [[0.7] * 3] * 4, equal),
        "all scores zero": (names, [[0.0] * 3] * 4, dict.fromkeys(plain, 0.0)),
        "one model": (["m0"], [[0.3]] * 3, {k: v for k, v in plain.items() if k[1] == "m0"}),
        "huge scores": (names, None, {key: 1e49 * value for key, value in plain.items()}),
        "tiny scores": (names, None, {key: 1e-49 * value for key, value in plain.items()}),
        "vanishing scores": (names, None, {key: 1e-200 * value for key, value in plain.items()}),
        "negative scores": (names, None, {key: -value for key, value in plain.items()}),
        "one study": (names, [[0.5] * 3], {k: v for k, v in plain.items() if k[0] == "s0"}),
        "an outlier": (names, [[0.5, 0.6, 0.7], [1e6, 0.5, 0.2], [0.4, 0.5, 0.6]], plain),
    }  # fmt: skip


@pytest.mark.parametrize("case", degenerate())
@pytest.mark.parametrize("learned_costs", [False, True])
def test_degenerate_data(case: str, learned_costs: bool) -> None:
    models, history, scores = degenerate()[case]
    scheduler = Scheduler(LearnedPrior(models, history))  # type: ignore[arg-type]
    for study in dict.fromkeys(study for study, _ in scores):
        listed = [model for owner, model in scores if owner == study]
        scheduler.add_study(study, listed if learned_costs else dict.fromkeys(listed, 1.0))
    scheduler.add_device(0)
    assert serve(scheduler, scores) == len(scores)
    for study in scheduler.studies:
        for belief in scheduler.beliefs(study).values():
            assert np.isfinite([belief.mean, belief.sigma, belief.expected_improvement]).all()


def test_thousands_of_studies_and_a_model_that_never_ran() -> None:
    scheduler = Scheduler()
    for number in range(3000):
        scheduler.add_study(f"s{number}", {"often": 1.0, "never": 1e6})
    scheduler.add_device(0)
    for number in range(300):
        decision = scheduler.ask(0)
        assert decision is not None
        assert decision.model == "often"
        scheduler.tell(decision.trial, 0.5 + 0.001 * (number % 7))
    beliefs = scheduler.beliefs("s2999")
    assert beliefs["often"].mean == pytest.approx(0.503, abs=0.05)
    assert beliefs["never"].sigma > 0.0


def test_it_learns_which_model_is_best() -> None:
    # No history: after a few studies, the model that always wins is run first.
    rng = np.random.default_rng(4)
    names = [f"m{m}" for m in range(6)]
    effects = np.array([0.0, 0.1, 0.0, 0.3, 0.05, 0.1])
    scheduler = Scheduler()
    scheduler.add_device(0)
    first = []
    for number in range(12):
        values = 0.4 + effects + 0.02 * rng.normal(size=6)
        scores = {(f"s{number}", name): float(v) for name, v in zip(names, values, strict=True)}
        scheduler.add_study(f"s{number}", dict.fromkeys(names, 1.0))
        decision = scheduler.decide(0)
        assert decision is not None
        first.append(decision.model)
        serve(scheduler, scores)
    assert first[6:] == ["m3"] * 6


@pytest.mark.slow
def test_it_has_less_regret_than_the_paper() -> None:
    table = load_table("oboe:8").only(range(0, 400, 8))
    regret = {}
    for prior in ("sample", "learned"):
        runs = [
            run_experiment(Experiment(table, prior=prior, devices=4), None, seed).run.regret
            for seed in range(3)
        ]
        regret[prior] = float(np.mean([run.cumulative for run in runs]))
    assert regret["learned"] < 0.8 * regret["sample"]


@pytest.mark.slow
def test_each_part_can_be_switched_off() -> None:
    table = load_table("oboe:8").only(range(0, 400, 16))
    models_run = {}
    for parts in ((), ("serving",), ("warp",), ("scales",), ("strengths",)):
        experiment = Experiment(table, devices=4, switched_off=parts)
        outcome = run_experiment(experiment, None, 1)
        assert outcome.summary()["switched_off"] == list(parts)
        models_run[parts] = [trial.model for trial in outcome.run.trials]
    assert len({tuple(models) for models in models_run.values()}) == 5  # each has an effect


def test_every_study_gets_the_latest_parameters_eventually() -> None:
    scheduler = Scheduler()
    for number in range(200):  # more than are updated at one event
        scheduler.add_study(f"s{number}", {"a": 1.0, "b": 1.0 + number})
    scheduler.add_device(0)
    events: list[Event] = []
    for _ in range(30):
        decision = scheduler.ask(0)
        assert decision is not None
        events.append(ArmStarted(0.0, decision))
        scheduler.tell(decision.trial, 0.9 if decision.model == "a" else 0.2)
    beliefs = scheduler.beliefs("s199")
    assert beliefs["a"].mean == pytest.approx(0.9, abs=0.05)


def test_the_example_in_the_package_docstring(tmp_path: Path) -> None:
    events: list[Event] = []
    scheduler = Scheduler(record=events.append)
    scheduler.add_study("wine", ["svm", "forest"], rows=178, columns=13)
    scheduler.add_device("gpu-0", kind="a100")
    decision = scheduler.ask("gpu-0", time=0.0)
    assert decision is not None
    scheduler.tell(decision.trial, 0.91, time=5.0)
    restored = Scheduler()
    recover(restored, events)
    assert restored.decide("gpu-0") == scheduler.decide("gpu-0")
    assert not list(tmp_path.iterdir())


def test_a_model_that_no_study_of_the_dataset_lists_cannot_be_started() -> None:
    scheduler = Scheduler()
    scheduler.add_study("a", {"x": 1.0, "y": 1.0})
    scheduler.add_study("b", {"z": 1.0})
    scheduler.add_device(0)
    decision = scheduler.decide(0)
    assert decision is not None
    with pytest.raises(IllegalEvent, match="cannot be run"):
        scheduler.apply(ArmStarted(0.0, replace(decision, study="a", dataset="a", model="z")))


def test_scores_far_from_zero() -> None:
    rng = np.random.default_rng(5)
    sigmas = []
    for offset in (0.0, 1e6):
        history = offset + 0.01 * rng.normal(size=(40, 3))
        prior = LearnedPrior(["a", "b", "c"], history, switches={"warp": False})
        scheduler = Scheduler(prior)
        scheduler.add_study("s", dict.fromkeys("abc", 1.0))
        sigmas.append(scheduler.beliefs("s")["a"].sigma)
    assert sigmas == pytest.approx([0.01, 0.01], rel=0.5)


def test_without_serving_only_history_is_used() -> None:
    prior = LearnedPrior(["a", "b"], [[0.5, 0.6]] * 3, switches={"serving": False})
    scheduler = Scheduler(prior)
    for study in ("s", "t"):
        scheduler.add_study(study, {"a": 1.0, "b": 1.0})
    scheduler.add_device(0)
    before = scheduler.beliefs("t")
    decision = scheduler.ask(0)
    assert decision is not None
    scheduler.tell(decision.trial, 50.0)
    assert scheduler.beliefs("t") == before


def test_kinds_are_strings() -> None:
    with pytest.raises(InvalidInput, match="give a string"):
        Scheduler().add_device(0, kind=3)  # type: ignore[arg-type]


@pytest.mark.parametrize("exponent", [0.0, 10.0])
def test_extreme_costs_to_a_power(exponent: float) -> None:
    scheduler = Scheduler(cost_exponent=exponent)
    scheduler.add_study("s", {"a": 1e-50, "b": 1e50})
    scheduler.add_device(0)
    decision = scheduler.ask(0)
    assert decision is not None
    assert decision.value is not None
    assert np.isfinite(decision.value)


@pytest.mark.slow
@given(seed=st.integers(0, 10_000))
@settings(max_examples=6)
def test_recovery_from_random_events(seed: int) -> None:
    rng = np.random.default_rng(seed)
    events: list[Event] = []
    live = Scheduler(record=events.append)
    clock, running = 0.0, list[int]()
    for step in range(120):
        clock += float(rng.exponential())
        idle = [device for device, trial in live.devices.items() if trial is None]
        action = rng.random()
        if action < 0.12 or not live.studies:
            names = [f"m{m}" for m in rng.permutation(4 + step // 30)[:3]]
            costs = {name: None if rng.random() < 0.3 else 2.0 for name in names}
            rows = int(rng.integers(1, 1000)) if rng.random() < 0.5 else None
            # Declared costs of one dataset must agree, so few studies share a dataset.
            live.add_study(f"s{step}", costs, rows=rows, dataset=f"d{step // 20}", time=clock)
        elif action < 0.15:
            live.remove_study(str(rng.choice(live.studies)), time=clock)
        elif action < 0.25 or not live.devices:
            live.add_device(step, kind=str(rng.choice(["a", "b"])), time=clock)
        elif action < 0.6 and idle:
            decision = live.ask(idle[0], time=clock)
            running += [] if decision is None else [decision.trial]
        elif running:
            trial = running.pop(int(rng.integers(len(running))))
            if action < 0.9:
                live.tell(trial, float(rng.normal(0.5, 0.2)), time=clock)
            elif action < 0.95:
                live.fail(trial, time=clock)
            else:
                live.lose(trial, time=clock)
    recovered = Scheduler()
    recover(recovered, events)
    live.add_device("last", time=clock)
    recovered.add_device("last", time=clock)
    assert live.decide("last") == recovered.decide("last")
    for study in live.studies:
        assert live.beliefs(study) == recovered.beliefs(study)
    assert verify(Scheduler(), events[:-1]) == []


def test_a_fit_with_nan_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    scheduler = Scheduler()
    scheduler.add_study("a", {"x": 1.0, "y": 1.0, "z": 1.0})
    scheduler.add_device(0)

    def step(score: float) -> None:
        decision = scheduler.ask(0)
        assert decision is not None
        scheduler.tell(decision.trial, score)

    step(0.5)
    before = scheduler.beliefs("a")

    def broken(*task: Any) -> Parameters | None:
        found = fit(*task)
        return found and replace(found, mean=np.full_like(found.mean, np.nan))

    monkeypatch.setattr("bentham.core.learning.fit_task.fit", broken)
    step(0.7)
    after = scheduler.beliefs("a")
    assert all(np.isfinite([each.mean, each.sigma, each.cost]).all() for each in after.values())
    assert after != before  # the score itself is used
    step(0.6)
    assert scheduler.finished
