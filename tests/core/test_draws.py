"""Sampled worlds: their moments are those of the posterior."""

import numpy as np
import pytest

from bentham.core import LearnedPrior, Scheduler, SharedPrior
from bentham.core.costs.cache import CostQuery
from bentham.core.worlds.draws import Draw, draw

MODELS = [f"m{model}" for model in range(5)]
Streams = list[np.random.Generator]


def streams(count: int, seed: int = 0) -> Streams:
    return [np.random.default_rng([seed, number]) for number in range(count)]


def scores(worlds: list[Draw], dataset: str, models: list[str]) -> np.ndarray:
    return np.array([[world.score(dataset, model) for model in models] for world in worlds])


def run_trials(scheduler: Scheduler, count: int, time: float = 0.0) -> None:
    """Run a few trials whose scores depend only on study and model."""
    scheduler.add_device("gpu")
    for _ in range(count):
        decision = scheduler.ask("gpu", time=time)
        assert decision is not None
        rng = np.random.default_rng([int(decision.study[1:]), int(decision.model[1:])])
        time += float(rng.uniform(2.0, 9.0))
        scheduler.tell(decision.trial, 0.9 - 0.1 * rng.exponential(), time=time)


@pytest.mark.parametrize("rank", [5, 2])
def test_moments_are_those_of_conditioning_a_gaussian(rank: int) -> None:
    root = np.random.default_rng(3).standard_normal((5, rank))
    mean, covariance = np.linspace(0.1, 0.5, 5), root @ root.T
    scheduler = Scheduler(SharedPrior(MODELS, mean, covariance), "mdmt", warm_start="none")
    scheduler.add_study("s0", dict.fromkeys(MODELS, 1.0))
    scheduler.add_device("gpu")
    first = scheduler.ask("gpu")
    assert first is not None
    scheduler.tell(first.trial, 0.8)
    assert scheduler.ask("gpu") is not None  # running arms are sampled, too
    known = int(first.model[1:])
    unknown = [column for column in range(5) if column != known]
    gain = covariance[unknown, known] / covariance[known, known]
    expected = mean[unknown] + gain * (0.8 - mean[known])
    conditional = covariance[np.ix_(unknown, unknown)] - np.outer(gain, covariance[known, unknown])
    worlds = draw(scheduler, streams(3000))
    sampled = scores(worlds, "s0", [MODELS[column] for column in unknown])
    scale = np.sqrt(np.diag(conditional).max())
    assert sampled.mean(axis=0) == pytest.approx(expected, abs=5.0 * scale / np.sqrt(3000))
    assert np.cov(sampled.T) == pytest.approx(conditional, abs=0.1 * scale**2)
    assert set(scores(worlds, "s0", [first.model]).ravel()) == {0.8}
    best = np.maximum(sampled.max(axis=1), 0.8)
    assert [world.bests()["s0"] for world in worlds] == best.tolist()


def test_expected_improvement_is_the_mean_over_worlds() -> None:
    """With a learned warp and t distribution."""
    scheduler = Scheduler(LearnedPrior())
    for number in range(6):
        scheduler.add_study(f"s{number}", dict.fromkeys(MODELS, 1.0))
    run_trials(scheduler, 18)
    learner = scheduler._state._learner
    assert learner is not None
    assert learner.parameters is not None
    assert not learner.parameters.warp.straight
    count = 2500
    worlds = draw(scheduler, streams(count))
    compared = 0
    for study in scheduler.studies:
        incumbent = scheduler.incumbent(study)
        assert incumbent is not None
        for model, belief in scheduler.beliefs(study).items():
            gains = np.maximum(scores(worlds, study, [model]).ravel() - incumbent[1], 0.0)
            error = float(gains.std()) / np.sqrt(count)
            assert gains.mean() == pytest.approx(
                belief.expected_improvement, abs=4.5 * error + 1e-12
            )
            compared += belief.expected_improvement > 1e-4
    assert compared > 8


def test_one_more_world_does_not_change_the_others() -> None:
    scheduler = Scheduler(LearnedPrior())
    for number in range(3):
        scheduler.add_study(f"s{number}", MODELS)
    run_trials(scheduler, 5)
    few, more = draw(scheduler, streams(2)), draw(scheduler, streams(3))
    for study in scheduler.studies:
        for model in MODELS:
            for one, same in zip(few, more, strict=False):
                assert one.score(study, model) == same.score(study, model)
                assert one.cost(study, model) == same.cost(study, model)
    assert more[1].score("s0", "m0") != more[2].score("s0", "m0") or scheduler.incumbent("s0")


def test_unknown_costs_are_sampled() -> None:
    scheduler = Scheduler(LearnedPrior())
    for study in range(4):
        scheduler.add_study(f"s{study}", MODELS if study else dict.fromkeys(MODELS, 4.0))
    prior_worlds = draw(scheduler, streams(400))
    logs = np.log([world.cost("s1", "m0") for world in prior_worlds])
    assert 1.3 < logs.std() < 1.7
    assert {world.cost("s0", "m0") for world in prior_worlds} == {4.0}
    run_trials(scheduler, 9)
    worlds = draw(scheduler, streams(1000))
    costs = scheduler._state._costs
    belief = costs.belief("s2")
    assert belief.prior is not None
    posterior = costs.posterior(CostQuery("s2", belief.prior, belief.logs))
    learner = costs._learner
    assert learner is not None
    spreads = []
    for model in MODELS:
        column = learner.columns("s2")[model]
        sampled = np.log([world.cost("s2", model) for world in worlds])
        spreads.append(float(sampled.std()))
        if posterior.variance[column] == 0.0:
            assert sampled == pytest.approx(posterior.mean[column])
        else:
            assert abs(np.mean(sampled < posterior.mean[column]) - 0.5) < 0.05
    assert max(spreads) > 0.05


def test_wrong_declared_costs_are_corrected_in_worlds() -> None:
    scheduler = Scheduler(LearnedPrior())
    for study in range(3):
        scheduler.add_study(f"s{study}", dict.fromkeys(MODELS, 1.0))
    run_trials(scheduler, 7)  # with durations from 2 to 9
    costs = [world.cost("s1", "m4") for world in draw(scheduler, streams(300))]
    assert np.median(costs) > 1.5
    assert np.std(np.log(costs)) > 0.05
