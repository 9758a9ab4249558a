"""Problems for the theory, and the claims about MIU, which need no runs."""

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
        sampled = np.array([draw(case, 2, 4, seed)[1] for seed in range(2000)])
        assert sampled.mean(axis=0) == pytest.approx(np.zeros(8), abs=0.1)
        assert sampled.var(axis=0) == pytest.approx(np.full(8, VARIANCE), abs=0.12)


def test_correlated_scores_have_the_covariance_of_their_features() -> None:
    # Features differ between seeds, so whiten the scores: the result is standard normal.
    whitened = []
    for seed in range(400):
        covariance, scores = draw("finite-rank", 2, 6, seed)
        values, vectors = np.linalg.eigh(covariance)
        whitened.append((vectors[:, -RANK:].T @ scores) / np.sqrt(values[-RANK:]))
    assert np.cov(np.array(whitened).T) == pytest.approx(np.eye(RANK), abs=0.25)


def test_a_needle_is_the_only_positive_score() -> None:
    _, scores = draw("independent-needle", 4, 8, 1)
    by_study = scores.reshape(4, 8)
    assert ((by_study > 0.0).sum(axis=1) == 1).all()
    assert by_study.max() == pytest.approx(NEEDLE * VARIANCE**0.5)


@pytest.mark.parametrize("case", ["finite-rank", "matern", "independent"])
def test_runs_are_below_the_bound_and_violate_no_assumption(case: str) -> None:
    result = TheoryCell(case, 3, 8, 2, 1.0, bounded=True).run(0, {})
    assert result["broken"] == []
    assert 0.0 < result["cumulative_regret"] <= result["lemma"]
    assert 0.0 < result["waiting"] <= result["cumulative_regret"] * (1.0 + 1e-9)
    assert result["uncertainty"] <= result["miu_upper"] + 2 + 1e-9
    assert result["idle"] >= result["cumulative_regret"]
    assert TheoryCell(case, 3, 8, 2, 1.0, bounded=True).run(0, {}) == result


def test_regret_stops_growing_when_all_best_models_are_found() -> None:
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


def test_matern_stays_uncertain_in_a_small_exact_case() -> None:
    # Enumerated, not bounded: points at one end leave the other end uncertain.
    from bentham.core.gaussian.kernels import correlation

    points = np.linspace(0.0, 1.0, 12)[:, np.newaxis]
    total = miu_total(miu_scores(correlation("matern52", points, 0.2)), 6)
    assert total.exact
    assert total.lower > 0.99 * 5


def test_exponents() -> None:
    sizes = np.array([1.0, 2.0, 4.0, 8.0])
    assert exponent(sizes, 3.0 * sizes**0.5) == pytest.approx(0.5)
