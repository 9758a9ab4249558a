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

    def posterior(self, asked: CostQuery) -> Posterior:
        """Return the posterior of one dataset under the latest prior, and cache it."""
        posterior = self._extended(asked)
        if posterior is None:
            posterior = Posterior(asked.prior)
            for column, log in asked.logs.items():
                posterior.observe(column, log)
            self._posteriors[asked.dataset] = asked.logs, posterior
        return posterior

    def predictions(self, questions: Sequence[CostQuery]) -> list[Prediction]:
        """Return the predictions for several datasets, each as if it were the only one."""
        found: dict[int, Prediction] = {}
        left: dict[int, list[int]] = {}  # by the prior's identity
        for place, asked in enumerate(questions):
            prediction = self._at_hand(asked)
            if prediction is None:
                left.setdefault(id(asked.prior), []).append(place)
            else:
                found[place] = prediction
        for places in left.values():
            found.update(zip(places, _predicted([questions[i] for i in places]), strict=True))
        for place, asked in enumerate(questions):
            if asked.prior is self._prior:
                self._predictions[asked.dataset] = asked.logs, found[place]
        return [found[place] for place in range(len(questions))]

    def _at_hand(self, asked: CostQuery) -> Prediction | None:
        if asked.prior is not self._prior:
            return None
        logs, prediction = self._predictions.get(asked.dataset, (None, None))
        if logs is asked.logs:
            return prediction
        posterior = self._extended(asked)
        if posterior is None:
            return None
        sigma = np.sqrt(posterior.variance) * posterior.scale
        return Prediction(posterior.mean.copy(), sigma)

    def _extended(self, asked: CostQuery) -> Posterior | None:
        """Return the cached posterior with new observations added; None if it cannot be used."""
        before, posterior = self._posteriors.get(asked.dataset, (None, None))
        if before is None or posterior is None or asked.prior is not self._prior:
            return None
        if before is not asked.logs:
            known, now = list(before.items()), list(asked.logs.items())
            if known != now[: len(known)]:
                return None
            for column, log in now[len(known) :]:
                posterior.observe(column, log)
            self._posteriors[asked.dataset] = asked.logs, posterior
        return posterior


def _predicted(questions: Sequence[CostQuery]) -> list[Prediction]:
    """Compute predictions under one prior from scratch."""
    known = condition(
        questions[0].prior,
        [list(asked.logs) for asked in questions],
        [list(asked.logs.values()) for asked in questions],
    )
    return [Prediction(*pair) for pair in zip(known.mean, known.sigma(), strict=True)]
