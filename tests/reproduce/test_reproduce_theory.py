"""Problems of the theory, and the claims about MIU, which need no runs."""

import numpy as np
import pytest

from bentham.core.theory.uncertainty import miu_scores, miu_total
from bentham.reproduce.claims import Verdict
from bentham.reproduce.claims_theory import UNEQUAL, exponent, miu_diagonal
from bentham.reproduce.evidence import Evidence
from bentham.reproduce.plan import QUICK
from bentham.reproduce.problems import CASES, NEEDLE, RANK, VARIANCE, TheoryCell, draw


@pytest.mark.parametrize("case", CASES)
def test_every_case_has_a_covariance_below_one(case: str) -> None:
    covariance, scores = draw(case, 3, 10, 0)
    assert covariance.shape == (30, 30)
    assert scores.shape == (30,)
    assert np.diag(covariance) == pytest.approx(np.full(30, VARIANCE))
    assert np.linalg.eigvalsh(covariance).min() > -1e-9


def test_scores_are_drawn_from_their_covariance() -> None:
    covariance, _ = draw("finite-rank", 2, 4, 0)
    assert np.linalg.matrix_rank(covariance, tol=1e-9) == RANK
    for case in ("independent", "independent-even"):
        drawn = np.array([draw(case, 2, 4, seed)[1] for seed in range(2000)])
        assert drawn.mean(axis=0) == pytest.approx(np.zeros(8), abs=0.1)
        assert drawn.var(axis=0) == pytest.approx(np.full(8, VARIANCE), abs=0.12)


def test_correlated_scores_have_the_covariance_of_their_features() -> None:
    # Features differ from seed to seed, so whiten: what is left is standard normal.
    whole = []
    for seed in range(400):
        covariance, scores = draw("finite-rank", 2, 6, seed)
        values, vectors = np.linalg.eigh(covariance)
        whole.append((vectors[:, -RANK:].T @ scores) / np.sqrt(values[-RANK:]))
    assert np.cov(np.array(whole).T) == pytest.approx(np.eye(RANK), abs=0.25)


def test_a_needle_stands_alone() -> None:
    _, scores = draw("independent-needle", 4, 8, 1)
    by_study = scores.reshape(4, 8)
    assert ((by_study > 0.0).sum(axis=1) == 1).all()
    assert by_study.max() == pytest.approx(NEEDLE * VARIANCE**0.5)


@pytest.mark.parametrize("case", ["finite-rank", "matern", "independent"])
def test_runs_are_under_the_explicit_bound_and_break_nothing(case: str) -> None:
    result = TheoryCell(case, 3, 8, 2, 1.0, bounded=True).run(0, {})
    assert result["broken"] == []
    assert 0.0 < result["cumulative_regret"] <= result["lemma"]
    assert 0.0 < result["waiting"] <= result["cumulative_regret"] * (1.0 + 1e-9)
    assert result["uncertainty"] <= result["miu_upper"] + 2 + 1e-9
    assert result["idle"] >= result["cumulative_regret"]
    assert TheoryCell(case, 3, 8, 2, 1.0, bounded=True).run(0, {}) == result


def test_regret_grows_with_time_and_stops_growing_when_all_is_found() -> None:
    shares = (0.25, 0.5, 1.0)
    runs = [TheoryCell("finite-rank", 3, 16, 1, share).run(2, {}) for share in shares]
    regrets = [run["cumulative_regret"] for run in runs]
    assert regrets[0] <= regrets[1] <= regrets[2]
    assert [run["until"] for run in runs] == [12, 24, 48]
    assert regrets[2] == pytest.approx(regrets[1])  # rank 5: known after a few trials


def test_waiting_counts_studies_that_no_device_has_served() -> None:
    one = TheoryCell("independent", 4, 8, 1, 1 / 32).run(0, {})  # one trial, one study served
    assert one["until"] == 1
    assert one["waiting"] == pytest.approx(one["cumulative_regret"])


def test_the_bound_by_the_diagonal_has_a_counterexample() -> None:
    claim = miu_diagonal(Evidence({}, {}, QUICK))
    assert claim.verdict is Verdict.FAILS
    unequal, equal = claim.measured
    assert unequal.value == pytest.approx(2.0 * UNEQUAL[0] ** 0.5)
    assert unequal.claimed is not None
    assert unequal.value > unequal.claimed
    assert equal.claimed is not None
    assert equal.value <= equal.claimed


def test_matern_keeps_its_doubt_exactly_in_small() -> None:
    # Enumerated, not bounded: the clump at one end leaves the other end in doubt.
    from bentham.core.gaussian.kernels import correlation

    places = np.linspace(0.0, 1.0, 12)[:, np.newaxis]
    total = miu_total(miu_scores(correlation("matern52", places, 0.2)), 6)
    assert total.exact
    assert total.lower > 0.99 * 5


def test_exponents() -> None:
    sizes = np.array([1.0, 2.0, 4.0, 8.0])
    assert exponent(sizes, 3.0 * sizes**0.5) == pytest.approx(0.5)
