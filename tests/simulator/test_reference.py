"""The simulator against an independent implementation of the same rules: the same trials."""

from dataclasses import replace

import pytest
from support import reference

from bentham.core import sample_prior
from bentham.sim import simulate
from bentham.tables import Table, load_table


def compare(table: Table, policy: str, devices: int, seed: int, warm_start: int = 2) -> None:
    history, served = table.split(8, seed)
    mean, covariance = reference.sample_mean_and_covariance(history.scores, 1e-6)
    theirs = reference.run(
        policy, served.scores, served.costs, mean, covariance, devices, warm_start
    )
    ours = simulate(
        served.specs(),
        served.truth(),
        sample_prior(table.models, history.scores),
        policy,
        devices=devices,
        warm_start=f"fastest:{warm_start}" if warm_start else "none",
    )
    trials = [
        (
            served.studies.index(trial.study),
            served.models.index(trial.model),
            trial.device,
            trial.start,
            trial.end,
        )
        for trial in ours.trials
    ]
    assert trials == theirs["trials"]
    assert ours.regret.cumulative == pytest.approx(theirs["regret"], rel=0, abs=1e-9)
    assert ours.regret.end_time == theirs["end_time"]


@pytest.mark.parametrize("devices", [1, 4, 8])
@pytest.mark.parametrize("policy", ["mdmt", "round-robin"])
class TestSameTrials:
    def test_on_a_real_table(self, policy: str, devices: int) -> None:
        table = load_table("oboe:8")
        for seed in range(4):
            compare(table.only(range(seed, 400, 13)), policy, devices, seed)

    def test_on_the_synthetic_table(self, policy: str, devices: int) -> None:
        compare(load_table("synthetic").only(range(14)), policy, devices, 0)


@pytest.mark.parametrize("policy", ["mdmt", "round-robin"])
@pytest.mark.parametrize("warm_start", [0, 1, 2])
def test_same_trials_when_every_study_has_a_twin(policy: str, warm_start: int) -> None:
    # Twins tie exactly if their scores are observed in the same order, as on one device.
    table = load_table("oboe:8").only([*range(0, 400, 20), *range(0, 400, 20)])
    names = tuple(f"{place}" for place in range(len(table.studies)))
    compare(replace(table, studies=names), policy, devices=1, seed=0, warm_start=warm_start)
