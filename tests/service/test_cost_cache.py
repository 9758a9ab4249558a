"""The cache of known costs affects only speed; results are identical to the bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bentham.core.costs.cache import CostQuery, KnownCosts, Logs
from bentham.core.gaussian.prior import BlockPrior
from bentham.core.learning.prior import LearnedPrior
from bentham.service.fold.snapshots import dump, load

MODELS = 5
DATASETS = ("d0", "d1", "d2")


def prior_of(seed: int) -> BlockPrior:
    rng = np.random.default_rng(seed)
    history = rng.normal(0.0, 1.0, (6, MODELS))
    return LearnedPrior([f"m{m}" for m in range(MODELS)], history).learner().block("")


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("more"), st.sampled_from(DATASETS), st.integers(0, MODELS - 1)),
        st.tuples(st.just("other"), st.sampled_from(DATASETS), st.integers(0, MODELS - 1)),
        st.tuples(st.just("less"), st.sampled_from(DATASETS), st.integers(0, MODELS - 1)),
        st.tuples(st.just("start"), st.sampled_from(DATASETS), st.just(0)),
        st.tuples(st.just("ask"), st.sampled_from(DATASETS), st.just(0)),
        st.tuples(st.just("ask all"), st.just(""), st.just(0)),
        st.tuples(st.just("ask old"), st.sampled_from(DATASETS), st.just(0)),
        st.tuples(st.just("fit"), st.just(""), st.integers(0, 2)),
    ),
    max_size=60,
)


@pytest.mark.slow
@given(steps=STEPS, seed=st.integers(0, 100))
@settings(max_examples=100)
def test_results_equal_those_of_an_empty_cache(
    steps: list[tuple[str, str, int]], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    priors = [prior_of(number) for number in range(3)]
    prior, old = priors[0], CostQuery("d0", priors[0], {})
    logs: dict[str, Logs] = {dataset: {} for dataset in DATASETS}
    known = KnownCosts()
    known.believe(prior)

    def query(dataset: str) -> CostQuery:
        return CostQuery(dataset, prior, logs[dataset])

    def check(questions: list[CostQuery]) -> None:
        for _ in range(2):  # the second time the result is cached
            found = known.predictions(questions)
            for question, prediction in zip(questions, found, strict=True):
                (fresh,) = KnownCosts().predictions([question])
                assert prediction.mean.tobytes() == fresh.mean.tobytes()
                assert prediction.sigma.tobytes() == fresh.sigma.tobytes()

    for step, dataset, number in steps:
        if step in ("more", "other"):
            existing = dict(logs[dataset])
            if step == "more" and number in existing:
                continue
            logs[dataset] = {**existing, number: float(rng.normal())}
        elif step == "less":
            logs[dataset] = {m: log for m, log in logs[dataset].items() if m != number}
        elif step == "start":
            posterior = known.posterior(query(dataset))
            fresh = KnownCosts().posterior(query(dataset))
            assert posterior.mean.tobytes() == fresh.mean.tobytes()
            assert posterior.variance.tobytes() == fresh.variance.tobytes()
        elif step == "ask":
            check([query(dataset)])
            old = query(dataset)
        elif step == "ask all":
            check([query(each) for each in DATASETS])
        elif step == "ask old":  # an older query: with fewer logs, or with another prior
            check([old, query(dataset)])
        else:
            prior = priors[number]
            known.believe(prior)


@pytest.mark.parametrize("now", [{0: 1.0, 1: 5.0, 2: 3.0}, {0: 1.0}, {1: 2.0, 0: 1.0}, {}])
def test_outdated_entries_are_not_used(now: Logs) -> None:
    prior = prior_of(0)
    known = KnownCosts()
    known.believe(prior)
    known.posterior(CostQuery("d", prior, {0: 1.0, 1: 2.0}))
    (found,) = known.predictions([CostQuery("d", prior, now)])
    (fresh,) = KnownCosts().predictions([CostQuery("d", prior, now)])
    assert found.mean.tobytes() == fresh.mean.tobytes()
    assert found.sigma.tobytes() == fresh.sigma.tobytes()


def test_nothing_is_cached_for_an_old_prior() -> None:
    first, second = prior_of(0), prior_of(1)
    known = KnownCosts()
    known.believe(first)
    known.predictions([CostQuery("d", first, {0: 1.0})])
    known.posterior(CostQuery("e", first, {0: 1.0}))
    known.believe(second)
    assert not known._posteriors
    assert not known._predictions
    known.predictions([CostQuery("d", first, {0: 1.0})])  # a query with the old prior
    assert not known._predictions


def test_a_snapshot_does_not_contain_the_cache() -> None:
    known = KnownCosts()
    prior = prior_of(0)
    known.believe(prior)
    known.predictions([CostQuery("d", prior, {0: 1.0})])
    restored = load(dump(known))
    assert isinstance(restored, KnownCosts)
    assert not restored._predictions
    assert len(dump(known)) == len(dump(restored))
