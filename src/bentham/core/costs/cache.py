"""Cache of the posteriors and predictions of the costs on datasets.

Results are the same, to the bit, as with an empty cache. If one more cost of a dataset is known,
its posterior is conditioned on that cost only; if nothing changed, it is not conditioned at all.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from bentham.core.gaussian.posterior import Posterior, condition
from bentham.core.gaussian.prior import BlockPrior
from bentham.core.gaussian.validation import Vector

Logs = Mapping[int, float]


class CostQuery(NamedTuple):
    """A dataset, the prior of its log costs, and its known log costs; never changed in place."""

    dataset: str
    prior: BlockPrior
    logs: Logs


class Prediction(NamedTuple):
    """Mean and standard deviation of every log cost of a dataset."""

    mean: Vector
    sigma: Vector


class KnownCosts:
    """Cached posteriors and predictions of datasets, all under the latest prior."""

    def __init__(self) -> None:
        self._prior: BlockPrior | None = None
        self._posteriors: dict[str, tuple[Logs, Posterior]] = {}
        self._predictions: dict[str, tuple[Logs, Prediction]] = {}

    def __getstate__(self) -> dict[str, object]:
        return {}  # not saved in snapshots

    def __setstate__(self, _: dict[str, object]) -> None:
        self.__init__()  # type: ignore[misc]

    def believe(self, prior: BlockPrior) -> None:
        """Set the latest prior; results computed under another one are discarded."""
        if prior is not self._prior:
            self._prior = prior
            self._posteriors.clear()
            self._predictions.clear()

    def posterior(self, query: CostQuery) -> Posterior:
        """Return the posterior of one dataset under the latest prior, and cache it."""
        posterior = self._extended(query)
        if posterior is None:
            posterior = Posterior(query.prior)
            for column, log in query.logs.items():
                posterior.observe(column, log)
            self._posteriors[query.dataset] = query.logs, posterior
        return posterior

    def predictions(self, queries: Sequence[CostQuery]) -> list[Prediction]:
        """Return the predictions for several datasets, each as if it were the only one."""
        found: dict[int, Prediction] = {}
        missing: dict[int, list[int]] = {}  # indices of queries, by the prior's identity
        for index, query in enumerate(queries):
            prediction = self._cached(query)
            if prediction is None:
                missing.setdefault(id(query.prior), []).append(index)
            else:
                found[index] = prediction
        for indices in missing.values():
            found.update(zip(indices, _predicted([queries[i] for i in indices]), strict=True))
        for index, query in enumerate(queries):
            if query.prior is self._prior:
                self._predictions[query.dataset] = query.logs, found[index]
        return [found[index] for index in range(len(queries))]

    def _cached(self, query: CostQuery) -> Prediction | None:
        """Return the prediction if the cache makes it cheap; None otherwise."""
        if query.prior is not self._prior:
            return None
        logs, prediction = self._predictions.get(query.dataset, (None, None))
        if logs is query.logs:
            return prediction
        posterior = self._extended(query)
        if posterior is None:
            return None
        sigma = np.sqrt(posterior.variance) * posterior.scale
        return Prediction(posterior.mean.copy(), sigma)

    def _extended(self, query: CostQuery) -> Posterior | None:
        """Return the cached posterior with new observations added; None if it cannot be used."""
        before, posterior = self._posteriors.get(query.dataset, (None, None))
        if before is None or posterior is None or query.prior is not self._prior:
            return None
        if before is not query.logs:
            known, now = list(before.items()), list(query.logs.items())
            if known != now[: len(known)]:
                return None
            for column, log in now[len(known) :]:
                posterior.observe(column, log)
            self._posteriors[query.dataset] = query.logs, posterior
        return posterior


def _predicted(queries: Sequence[CostQuery]) -> list[Prediction]:
    """Compute predictions under one prior from scratch."""
    known = condition(
        queries[0].prior,
        [list(query.logs) for query in queries],
        [list(query.logs.values()) for query in queries],
    )
    return [Prediction(*pair) for pair in zip(known.mean, known.sigma(), strict=True)]
