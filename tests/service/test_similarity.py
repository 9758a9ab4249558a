"""Models described by a family and features: validation, events, learning and prediction."""

import json
import math
import pickle
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.problems import random_covariance

from bentham.core import (
    Event,
    LearnedPrior,
    ModelDescription,
    Scheduler,
    SharedPrior,
    StudySpec,
    event_from_dict,
    event_to_dict,
    recover,
    verify,
)
from bentham.core.costs.learned import CostModel
from bentham.core.gaussian.kernels import correlation
from bentham.core.learning import prior as learned
from bentham.core.learning.conditioning import regression
from bentham.core.learning.fit import KIN_NOISE, Parameters, extended
from bentham.core.learning.similarity import Kinship
from bentham.core.learning.target import Target
from bentham.errors import InvalidInput, InvalidRecording
from bentham.service.fold.snapshots import dump, load

seeds = st.integers(0, 2**32 - 1)


def described(seed: int, models: int, families: int = 3) -> dict[str, ModelDescription]:
    """Return descriptions of some models, with a family and up to two features."""
    rng = np.random.default_rng(seed)
    found = {}
    for model in range(models):
        names = [name for name in ("depth", "rate") if rng.random() < 0.8]
        features = {name: float(rng.random()) for name in names}
        if rng.random() < 0.8:
            found[f"m{model}"] = ModelDescription(f"f{rng.integers(families)}", features)
    return found or {"m0": ModelDescription("f0")}


def names(count: int) -> list[str]:
    return [f"m{model}" for model in range(count)]


# -- validation


@pytest.mark.parametrize(
    ("family", "features", "words"),
    [
        ("", {}, "give a non-empty string"),
        (3, {}, "give a non-empty string"),
        ("f", {"x": 1.5}, "feature 'x' .* is 1.5"),
        ("f", {"x": -0.1}, "range from 0 to 1"),
        ("f", {"x": math.nan}, "is nan"),
        ("f", {"x": math.inf}, "is inf"),
        ("f", {"x": "much"}, "map names to numbers"),
        ("f", {"x": None}, "map names to numbers"),
        ("f", {"x": 10**400}, "map names to numbers"),
        ("f", [0.5], "map names to numbers"),
        ("f", {3: 0.5}, "feature 3"),
    ],
)
def test_invalid_descriptions(family: object, features: object, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        ModelDescription(family, features)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("descriptions", "words"),
    [
        ({"other": ModelDescription("f")}, "does not list"),
        ({"m0": {"family": "f"}}, "give a ModelDescription"),
        ([ModelDescription("f")], "map models"),
    ],
)
def test_invalid_descriptions_of_studies(descriptions: object, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        StudySpec("s", {"m0": 1.0}, descriptions=descriptions)  # type: ignore[arg-type]


def test_a_described_study_as_plain_data() -> None:
    events: list[Event] = []
    scheduler = Scheduler(record=events.append)
    description = ModelDescription("forest", {"trees": np.float32(0.5)})  # type: ignore[dict-item]
    scheduler.add_study("plain", ["a"])
    scheduler.add_study("s", ["a", "b"], descriptions={"a": description})
    plain, with_descriptions = [json.loads(json.dumps(event_to_dict(event))) for event in events]
    assert "descriptions" not in plain["study"]  # the same as before descriptions existed
    assert with_descriptions["study"]["descriptions"] == {
        "a": {"family": "forest", "features": {"trees": 0.5}}
    }
    assert [event_from_dict(plain), event_from_dict(with_descriptions)] == events


@pytest.mark.parametrize(
    "descriptions",
    [
        [],
        {"a": None},
        {"a": {}},
        {"a": {"family": 3, "features": {}}},
        {"a": {"family": "f", "features": [1.0]}},
        {"a": {"family": "f", "features": {}, "colour": "red"}},
        {"a": {"family": "f", "features": {"x": [1.0]}}},
        {"a": {"family": "f", "features": {"x": 2.0}}},
        {"b": {"family": "f", "features": {}}},
    ],
)
def test_recordings_with_bad_descriptions(descriptions: object) -> None:
    study = {"name": "s", "costs": {"a": 1.0}, "descriptions": descriptions}
    with pytest.raises((InvalidRecording, InvalidInput)):
        event_from_dict({"event": "study-added", "time": 0.0, "study": study})


# -- the mathematics


@given(seed=seeds, count=st.integers(1, 12))
@settings(max_examples=40)
def test_distances_agree_with_explicit_coordinates(seed: int, count: int) -> None:
    descriptions = described(seed, count)
    kinship = Kinship.of(names(count), descriptions)
    assert kinship is not None
    # One indicator per family, and one coordinate per family and feature; 0.5 where undefined.
    listed = [descriptions.get(model) for model in names(count)]
    families = [model.family if model else f"alone {row}" for row, model in enumerate(listed)]
    indicators = [
        [float(one_family == other) for other in sorted(set(families))] for one_family in families
    ]
    columns = sorted({(model.family, name) for model in listed if model for name in model.features})
    coordinates = [
        [
            model.features.get(name, 0.5) if model and model.family == f else 0.5
            for f, name in columns
        ]
        for model in listed
    ]
    points = np.hstack([indicators, np.reshape(coordinates, (count, len(columns)))])
    lengths = np.array([0.7] * len(indicators[0]) + [0.3] * len(columns))
    found = kinship.distances().correlation((0.7, 0.3))
    assert found == pytest.approx(correlation("matern52", points, lengths), abs=1e-12)
    some = np.array([0, count - 1]), np.array([count - 1, 0])
    assert kinship.distances().correlation((0.7, 0.3), some).tolist() == found[some].tolist()


def test_models_without_a_description_are_not_equal() -> None:
    kinship = Kinship.of(["a", "b", "c"], {"a": ModelDescription("f")})
    assert kinship is not None
    matrix = kinship.distances().correlation((1.0, 1.0))
    assert np.diag(matrix).tolist() == [1.0] * 3
    assert matrix[1, 2] == matrix[0, 1] < 0.5
    assert Kinship.of(["a", "b"], {}) is None


@given(seed=seeds, known=st.integers(1, 6), more=st.integers(1, 4))
@settings(max_examples=40)
def test_regression_agrees_with_the_formula(seed: int, known: int, more: int) -> None:
    covariance = random_covariance(np.random.default_rng(seed), known + more)
    weights, remaining = regression(covariance, known, 0.1)
    inner = covariance[:known, :known] + 0.1 * np.eye(known)
    expected = np.linalg.solve(inner, covariance[:known, known:]).T
    assert weights == pytest.approx(expected, abs=1e-9)
    rest = covariance[known:, known:] - expected @ covariance[:known, known:]
    assert remaining == pytest.approx(rest, abs=1e-9)


targets = st.builds(
    Target,
    correlation=st.sampled_from([0.0, 0.3, 0.95]),
    smoothness=st.sampled_from([0.0, 0.3, 0.9, 0.999999]),
    lengths=st.tuples(*[st.sampled_from([0.001, 0.05, 0.4, 1.6, 100.0])] * 2),
)


@given(seed=seeds, known=st.integers(1, 8), more=st.integers(1, 5), target=targets)
@settings(max_examples=120)
def test_predicted_models_keep_the_covariance_valid(
    seed: int, known: int, more: int, target: Target
) -> None:
    rng = np.random.default_rng(seed)
    covariance = random_covariance(rng, known, rank=min(2, known))
    mean = rng.normal(size=known)
    kinship = Kinship.of(names(known + more), described(seed, known + more))
    assert kinship is not None
    wider = extended(Parameters(mean, covariance, target=target), known + more, kinship)
    scale = float(np.abs(wider.covariance).max())
    assert wider.covariance.tolist() == wider.covariance.T.tolist()
    assert np.linalg.eigvalsh(wider.covariance).min() > -1e-9 * scale
    assert wider.covariance[:known, :known].tolist() == covariance.tolist()
    assert wider.mean[:known].tolist() == mean.tolist()
    assert len(wider.mean) == known + more


def test_a_new_model_resembles_similar_models() -> None:
    rng = np.random.default_rng(1)
    descriptions = {
        "good": ModelDescription("f", {"x": 0.5}),
        "bad": ModelDescription("g", {"x": 0.5}),
        "like good": ModelDescription("f", {"x": 0.52}),
        "like bad": ModelDescription("g", {"x": 0.48}),
        "unknown": ModelDescription("h"),
    }
    covariance = random_covariance(rng, 2)
    target = Target(0.1, 0.99, (0.5, 0.5))
    parameters = Parameters(np.array([1.0, -1.0]), covariance, target=target)
    wider = extended(parameters, 5, Kinship.of(list(descriptions), descriptions))
    assert wider.mean == pytest.approx([1.0, -1.0, 1.0, -1.0, 0.0], abs=0.1)
    deviation = np.sqrt(np.diag(wider.covariance))
    correlations = wider.covariance / np.outer(deviation, deviation)
    assert min(correlations[0, 2], correlations[1, 3]) > 0.95
    # Without descriptions, or if they are uninformative, a new model is an average one.
    plain = extended(Parameters(parameters.mean, covariance, target=Target()), 5)
    assert plain.mean[2:].tolist() == [0.0] * 3


def test_many_known_models_do_not_inflate_the_variance() -> None:
    # Nearly equal models: weights that distinguish them would be huge.
    count = 200
    descriptions = {
        f"m{model}": ModelDescription("f", {"x": model / count}) for model in range(count + 1)
    }
    rng = np.random.default_rng(2)
    covariance = np.diag(rng.uniform(0.5, 1.5, count))  # although they vary independently
    target = Target(0.0, 0.999999, (1.6, 1.6))
    kinship = Kinship.of(list(descriptions), descriptions)
    wider = extended(Parameters(np.zeros(count), covariance, target=target), count + 1, kinship)
    assert 0.0 < wider.covariance[-1, -1] < 2.0
    assert KIN_NOISE > 0.0


# -- serving


def configurations(
    rng: np.random.Generator, values: dict[str, float], slope: float
) -> dict[str, ModelDescription]:
    """Return two configurations of each of four families; store their effects in `values`."""
    descriptions = {}
    for family in range(4):
        for _ in range(2):
            x = float(rng.random())
            name = f"f{family} x={x:.9f}"
            descriptions[name] = ModelDescription(f"f{family}", {"x": x})
            values[name] = 0.1 * math.cos(2.0 * family) + slope * x
    return descriptions


@pytest.mark.parametrize("described_models", [True, False])
def test_scores_of_new_models_are_predicted(described_models: bool) -> None:
    rng = np.random.default_rng(3)
    truth: dict[str, float] = {}
    scheduler = Scheduler()
    scheduler.add_device(0)
    for number in range(8):
        listed = configurations(rng, truth, slope=0.2)
        level, study = float(rng.normal(0.5, 0.1)), f"s{number}"
        scheduler.add_study(
            study, dict.fromkeys(listed, 1.0), descriptions=listed if described_models else None
        )
        beliefs = scheduler.beliefs(study)
        while number < 7 and (decision := scheduler.ask(0)) is not None:
            scheduler.tell(decision.trial, level + truth[decision.model])
    means = [belief.mean for belief in beliefs.values()]
    if described_models:
        assert np.corrcoef(means, [truth[model] for model in beliefs])[0, 1] > 0.8
    else:
        assert np.ptp(means) == pytest.approx(0.0, abs=1e-9)  # all are equal


def test_costs_of_new_models_are_predicted() -> None:
    rng = np.random.default_rng(4)
    costs, logs = CostModel(), dict[str, float]()
    trial, clock = 0, 0.0
    for number in range(8):
        listed = configurations(rng, logs, slope=3.0)  # more trees take longer
        costs.introduce(StudySpec(f"s{number}", dict.fromkeys(listed), descriptions=listed))
        found = costs.expected(f"s{number}", list(listed), np.full(len(listed), np.nan))
        for model in listed:
            costs.start(trial, f"s{number}", model, "cpu", clock, math.nan)
            clock += math.exp(logs[model])
            costs.end(trial, clock)
            trial += 1
    assert np.corrcoef(np.log(found), [logs[model] for model in listed])[0, 1] > 0.8


def test_the_first_description_of_a_model_stays() -> None:
    learner = LearnedPrior().learner()
    learner.admit(["a", "b"])
    assert learner._task().features is None
    learner.admit(["a"], {"a": ModelDescription("f"), "b": ModelDescription("not admitted")})
    learner.admit(["a"], {"a": ModelDescription("g")})
    assert learner._descriptions == {"a": ModelDescription("f")}
    assert isinstance(learner._task().features, Kinship)


def test_features_of_the_prior_override_descriptions() -> None:
    described_one, plain = [
        Scheduler(LearnedPrior(["a", "b"], [[0.5, 0.6], [0.7, 0.2]], [[0.0], [1.0]]))
        for _ in range(2)
    ]
    described_one.add_study("s", {"a": 1.0, "b": 1.0}, descriptions={"a": ModelDescription("f")})
    plain.add_study("s", {"a": 1.0, "b": 1.0})
    assert described_one.beliefs("s") == plain.beliefs("s")


def test_a_fixed_prior_learns_nothing_from_descriptions() -> None:
    scheduler = Scheduler(SharedPrior(["a"], [0.5], [[1.0]]))
    scheduler.add_study("s", {"a": 1.0}, descriptions={"a": ModelDescription("f")})
    assert scheduler.beliefs("s")["a"].mean == 0.5


@pytest.mark.slow
@pytest.mark.parametrize("lead", [0.02, 0.5])
def test_replay_snapshots_and_fits_elsewhere_agree(lead: float) -> None:
    rng = np.random.default_rng(6)
    descriptions = described(6, 20)
    events: list[Event] = []
    halfway = b""
    with mock.patch.object(learned, "LEAD", lead):
        live = Scheduler(record=events.append)
        # Through a pickle, as for another process.
        live.fit_by(lambda task: pickle.loads(pickle.dumps(task)).run)
        live.add_device(0, time=0.0)
        for step in range(8):
            listed = [f"m{model}" for model in rng.permutation(6 + 2 * step)[:4]]
            listed_descriptions = {
                model: descriptions[model] for model in listed if model in descriptions
            }
            live.add_study(f"s{step}", listed, descriptions=listed_descriptions, time=float(step))
            for turn in range(3):
                decision = live.ask(0, time=step + turn / 4)
                assert decision is not None
                live.tell(decision.trial, float(rng.random()), time=step + (turn + 0.9) / 4)
            if step == 4:
                halfway, count = dump(live), len(events)
        restored = load(halfway)
        assert isinstance(restored, Scheduler)
        for event in events[count:]:
            restored.apply(event)
        recovered = Scheduler()
        serialized = [json.loads(json.dumps(event_to_dict(event))) for event in events]
        recover(recovered, [event_from_dict(event) for event in serialized])
        assert verify(Scheduler(), events) == []
    for study in live.studies:
        assert live.beliefs(study) == recovered.beliefs(study) == restored.beliefs(study)
