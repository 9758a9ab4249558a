"""The learned prior: its mathematics against plain implementations, and fits of generated data."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_t
from scipy.stats import t as student
from support.problems import random_covariance

from bentham.core.gaussian.kernels import correlation
from bentham.core.learning.conditioning import condition, innovations
from bentham.core.learning.data import Observed, batches, pack
from bentham.core.learning.em import Strengths, expect, maximise
from bentham.core.learning.fit import Parameters, Switches, extended, fit
from bentham.core.learning.regularization import choose, log_score
from bentham.core.learning.target import Features, Target, fit_target
from bentham.core.learning.warp import fit_warp

Matrix = npt.NDArray[np.float64]
seeds = st.integers(0, 2**32 - 1)


def partly_observed(seed: int, studies: int, models: int) -> tuple[list[Observed], Matrix, Matrix]:
    """Return studies with some scores, and the mean and covariance they are sampled from."""
    rng = np.random.default_rng(seed)
    mean, covariance = rng.normal(size=models), random_covariance(rng, models)
    root = np.linalg.cholesky(covariance)
    observed = []
    for _ in range(studies):
        columns = rng.permutation(models)[: rng.integers(1, models + 1)]
        observed.append(Observed(columns, (mean + root @ rng.standard_normal(models))[columns]))
    return observed, mean, covariance


@given(seed=seeds)
@settings(max_examples=40)
def test_batched_conditioning_equals_single_conditioning(seed: int) -> None:
    observed, mean, covariance = partly_observed(seed, studies=7, models=5)
    count = 0
    for indices, batch in batches(observed, 5):
        rows, innovation, sigma = condition(batch, batch.score, mean, covariance)
        for index, w, u, s in zip(indices, rows, innovation, sigma, strict=True):
            columns, scores = observed[index]
            known = covariance[np.ix_(columns, columns)]
            gain = np.linalg.solve(known, covariance[columns]).T
            assert mean + u @ w == pytest.approx(mean + gain @ (scores - mean[columns]), abs=1e-8)
            conditional = covariance - gain @ covariance[columns]
            assert covariance - w.T @ w == pytest.approx(conditional, abs=1e-8)
            residual = scores - mean[columns]
            assert u @ u == pytest.approx(residual @ np.linalg.solve(known, residual))
            logs = np.log(s[s > 0.0]).sum()
            assert 2.0 * logs == pytest.approx(np.linalg.slogdet(known)[1], abs=1e-8)
            count += 1
    assert count == 7


def test_innovations_with_one_covariance_per_dataset() -> None:
    rng = np.random.default_rng(1)
    matrices = [random_covariance(rng, 4) for _ in range(3)]
    residuals = rng.normal(size=(4, 3))
    found, sigma = innovations(np.stack(matrices, axis=-1), residuals)
    for index, matrix in enumerate(matrices):
        factor = np.linalg.cholesky(matrix)
        assert found[:, index] == pytest.approx(np.linalg.solve(factor, residuals[:, index]))
        assert sigma[:, index] == pytest.approx(np.diag(factor))


def log_posterior(
    observed: list[Observed],
    mean: Matrix,
    covariance: Matrix,
    target: Matrix,
    common: float,
    strengths: Strengths,
) -> float:
    """Return the objective of MAP-EM, computed directly: multivariate t's and the two priors."""
    total = sum(
        multivariate_t.logpdf(
            study.scores,
            mean[study.models],
            covariance[np.ix_(study.models, study.models)],
            df=strengths.freedom,
        )
        for study in observed
    )
    inverse, logdet = np.linalg.inv(covariance), np.linalg.slogdet(covariance)[1]
    shift = mean - common
    # N(m; m0, S / kappa) and exp(-(nu logdet S + nu tr(T S^-1)) / 2): together they make the
    # M-step's divisor N + nu + 1.
    total -= 0.5 * (logdet + strengths.mean * shift @ inverse @ shift)
    total -= 0.5 * strengths.target * (logdet + np.trace(target @ inverse))
    return float(total)


@given(seed=seeds, freedom=st.sampled_from([3.0, 10.0, 1e6]))
@settings(max_examples=30)
def test_every_em_step_increases_the_objective(seed: int, freedom: float) -> None:
    observed, _, _ = partly_observed(seed, studies=8, models=4)
    strengths = Strengths(target=3.0, mean=2.0, freedom=freedom, tail=5.0)
    target, common = np.eye(4), 0.3
    mean, covariance = np.zeros(4), np.eye(4)
    packed = list(batches(observed, 4))
    before = log_posterior(observed, mean, covariance, target, common, strengths)
    for _ in range(15):
        moments = expect(packed, mean, covariance, freedom)
        mean, covariance = maximise(moments, target, common, strengths)
        after = log_posterior(observed, mean, covariance, target, common, strengths)
        assert after >= before - 1e-7 * abs(before)
        before = after


def test_em_of_complete_studies_has_a_closed_form() -> None:
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(20, 3))
    observed = [Observed(np.arange(3), row) for row in scores]
    strengths = Strengths(target=5.0, mean=2.0, freedom=1e12, tail=1e12)
    moments = expect(list(batches(observed, 3)), np.zeros(3), np.eye(3), 1e12)
    mean, covariance = maximise(moments, np.eye(3), 0.5, strengths)
    expected = (scores.sum(axis=0) + 2.0 * 0.5) / 22.0
    assert mean == pytest.approx(expected)
    deviations = scores - expected
    scatter = deviations.T @ deviations + 2.0 * np.outer(expected - 0.5, expected - 0.5)
    assert covariance == pytest.approx((scatter + 5.0 * np.eye(3)) / (20.0 + 5.0 + 1.0))


def test_em_recovers_the_covariance() -> None:
    observed, mean, covariance = partly_observed(3, studies=3000, models=4)
    found = fit(observed, 4, switches=Switches(warp=False))
    assert found is not None
    # Gaussian data: the t's scale matrix is a little smaller than its covariance.
    ratio = found.covariance / covariance
    assert found.mean == pytest.approx(mean, abs=0.15)
    assert np.diag(ratio) == pytest.approx(np.full(4, np.diag(ratio).mean()), rel=0.2)
    correlations = covariance / np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
    scale = np.sqrt(np.outer(np.diag(found.covariance), np.diag(found.covariance)))
    assert found.covariance / scale == pytest.approx(correlations, abs=0.1)


@given(seed=seeds, freedom=st.floats(2.0, 30.0))
@settings(max_examples=40)
def test_sequential_log_scores_sum_to_the_multivariate_t(seed: int, freedom: float) -> None:
    rng = np.random.default_rng(seed)
    covariance, residual = random_covariance(rng, 5), rng.normal(size=5)
    innovation, sigma = innovations(covariance[..., np.newaxis], residual[:, np.newaxis])
    total = float(log_score(innovation, sigma, freedom, tail=1e9).sum())
    expected = multivariate_t.logpdf(residual, np.zeros(5), covariance, df=freedom)
    assert total == pytest.approx(float(expected), rel=1e-9, abs=1e-8)
    first = float(log_score(innovation, sigma, freedom, tail=3.0)[0, 0])
    scale = float(np.sqrt(covariance[0, 0]))
    expected = student.logpdf(residual[0] / scale, min(freedom, 3.0)) - np.log(scale)
    assert first == pytest.approx(float(expected))


def test_leave_one_out_equals_refitting_without_the_study() -> None:
    # The prediction of a study must not depend on its scores: predict it from the other studies.
    rng = np.random.default_rng(4)
    scores = rng.normal(size=(6, 5))
    target, common = np.eye(5), 0.0
    strengths = Strengths(target=3.0, mean=1.0, freedom=1e9, tail=1e9)
    observed = [Observed(np.arange(5), row) for row in scores]
    moments = expect(list(batches(observed, 5)), np.zeros(5), np.eye(5), 1e9)
    totals = {}
    for nu in (1.0, 3.0, 10.0, 30.0, 100.0, 1000.0):
        total = 0.0
        for left_out in range(6):
            others = [study for index, study in enumerate(observed) if index != left_out]
            moments_without = expect(list(batches(others, 5)), np.zeros(5), np.eye(5), 1e9)
            mean, covariance = maximise(
                moments_without, target, common, Strengths(nu, strengths.mean, 1e9, 1e9)
            )
            total += float(multivariate_t.logpdf(scores[left_out], mean, covariance, df=1e9))
        totals[nu] = total
    found = choose(np.arange(6), pack(observed), moments, target, common, strengths)
    assert found.target == max(totals, key=totals.__getitem__)


def kernel_studies(rng: np.random.Generator, studies: int, features: Matrix) -> Matrix:
    matrix = correlation("matern52", features, 0.3) + 1e-8 * np.eye(len(features))
    return np.asarray(rng.standard_normal((studies, len(features))) @ np.linalg.cholesky(matrix).T)


def test_a_kernel_over_features_is_found_and_weighted() -> None:
    rng = np.random.default_rng(5)
    features = np.linspace(0.0, 1.0, 12)[:, np.newaxis]
    observed = [Observed(np.arange(12), row) for row in kernel_studies(rng, 12, features)]
    found = fit(observed, 12, Features(features, (0,)))
    assert found is not None
    assert found.target.smoothness >= 0.99
    assert 0.15 < found.target.lengths[0] < 0.6
    assert found.strengths.target >= 100.0  # the target is the truth, so it gets a high weight
    assert found.warp.straight


def test_uninformative_features_are_ignored() -> None:
    rng = np.random.default_rng(6)
    scores = rng.normal(size=(40, 10)) + 2.0 * rng.normal(size=(40, 1))
    observed = [Observed(np.arange(10), row) for row in scores]
    features = rng.uniform(size=(10, 1))
    found = fit(observed, 10, Features(features, (0,)))
    assert found is not None
    # Whatever the parameters, all pairs have the same correlation, that of the level.
    matrix = found.target.matrix(10, Features(features, (0,)))
    pairs = matrix[~np.eye(10, dtype=bool)]
    assert np.ptp(pairs) < 0.1
    assert 0.5 < pairs.mean() < 0.9


def test_the_most_likely_target_has_the_variance_of_the_data() -> None:
    rng = np.random.default_rng(7)
    scores = 3.0 * rng.normal(size=(200, 6))
    sample = pack([Observed(np.arange(6), row) for row in scores])
    target, variance = fit_target(sample, np.zeros(6), None, Target(), 1e9, guess=1.0)
    assert target.correlation <= 0.1
    assert variance == pytest.approx(9.0, rel=0.1)


def test_a_ceiling_is_detected() -> None:
    rng = np.random.default_rng(8)
    level = rng.normal(1.5, 1.0, (60, 1))
    hidden = level + 0.5 * rng.normal(size=(60, 6))
    compressed = 1.0 - np.exp(-np.maximum(hidden, -1.0))  # scores are compressed below 1
    straight = [Observed(np.arange(6), row) for row in hidden]
    warped = [Observed(np.arange(6), row) for row in compressed]
    assert fit_warp(straight, 6).straight
    warp = fit_warp(warped, 6)
    assert not warp.straight
    assert warp.top == pytest.approx(compressed.max())
    assert fit_warp(warped[:2], 6).straight  # two studies are not enough evidence


def test_unequal_scales_of_studies_are_detected() -> None:
    rng = np.random.default_rng(9)
    scales = np.exp(1.2 * rng.normal(size=(60, 1)))
    unequal = [Observed(np.arange(6), row) for row in scales * rng.normal(size=(60, 6))]
    equal = [Observed(np.arange(6), row) for row in rng.normal(size=(60, 6))]
    unequal_fit, equal_fit = None, None
    for _ in range(4):  # each fit starts from the previous one
        unequal_fit = fit(unequal, 6, before=unequal_fit, switches=Switches(warp=False))
        equal_fit = fit(equal, 6, before=equal_fit, switches=Switches(warp=False))
    assert unequal_fit is not None
    assert equal_fit is not None
    assert unequal_fit.strengths.freedom <= 4.0
    assert equal_fit.strengths.freedom >= 16.0
    without_scales = fit(unequal, 6, switches=Switches(warp=False, scales=False))
    assert without_scales is not None
    assert without_scales.strengths.freedom > 1e6


def test_a_fit_is_a_pure_function() -> None:
    observed, _, _ = partly_observed(10, studies=30, models=6)
    one, two = fit(observed, 6), fit(observed, 6)
    assert one is not None
    assert two is not None
    assert one.covariance.tolist() == two.covariance.tolist()
    again = fit(observed, 6, before=one)
    assert again is not None
    assert again.covariance == pytest.approx(one.covariance, rel=0.3, abs=0.05)


def test_the_work_of_a_fit_is_bounded() -> None:
    models = 60
    rng = np.random.default_rng(11)
    observed = [Observed(np.arange(models), row) for row in rng.normal(size=(900, models))]
    some = fit(observed, models, turn=0)
    others = fit(observed, models, turn=1)
    assert some is not None
    assert others is not None
    assert some.mean.tolist() != others.mean.tolist()  # each uses other studies


@given(seed=seeds, more=st.integers(1, 5))
@settings(max_examples=30)
def test_added_models_keep_the_covariance_valid(seed: int, more: int) -> None:
    covariance = random_covariance(np.random.default_rng(seed), 4, rank=2)
    wider = extended(Parameters(np.arange(4.0), covariance), 4 + more)
    assert np.linalg.eigvalsh(wider.covariance).min() > -1e-9
    assert wider.covariance[:4, :4].tolist() == covariance.tolist()
    assert wider.mean[4:].tolist() == [1.5] * more
    assert np.diag(wider.covariance)[4:] == pytest.approx(np.diag(covariance).mean())
