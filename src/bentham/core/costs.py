"""What an arm will cost where nobody said: learned from the trials that ended.

The logarithms of costs are scores by another name: a dataset has some of them observed, all
datasets share what is learned. So the same learned prior (`learning`), without a warp, is fitted
to log durations: the level of a dataset, the effect of a model, how models vary together, with a
t distribution where datasets differ. What is known of a dataset before any trial, its rows and
columns, enters as two more log values of it that are observed from the start.

    log c = log duration - offset of the device's kind

A kind's offset is the average surprise on its devices, shrunk to nothing by one pseudo-trial. It
multiplies all costs alike, and so does not change which arm is best for a device; it keeps a fast
device from making models look cheap. The cost in the EI rate is the expected one, exp(mean +
variance / 2), since over a long run gain per time is expected gain by expected cost.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from bentham.core.learning.prior import LearnedPrior, Learner
from bentham.core.outlook import Outlook
from bentham.core.posterior import Posterior
from bentham.core.problem import LARGEST, SMALLEST_COST, Study
from bentham.core.validation import Integers, Vector

# Past costs, by dataset and model.
PastCosts = Mapping[str, Mapping[str, float]]

# No model is called so: a name is not empty, and these are not names a person would give.
ROWS, COLUMNS = "\0rows", "\0columns"
# Sizes are centred on these, so that they vary about as log costs do.
TYPICAL_ROWS, TYPICAL_COLUMNS = 1e3, 1e1
# Beyond this deviation of a log cost, the expected cost says nothing any more.
LARGEST_DEVIATION = 2.0
_LOWEST, _HIGHEST = math.log(SMALLEST_COST), math.log(LARGEST)


class CostModel:
    """Predicts costs, and learns from durations.

    As long as every study says what its models cost, durations are only kept; they are learned
    from once somebody does not.
    """

    def __init__(self, past: PastCosts | None = None):
        given = past or {}
        models = dict.fromkeys(
            [ROWS, COLUMNS, *(name for costs in given.values() for name in costs)]
        )
        columns = {model: column for column, model in enumerate(models)}
        history = np.full((len(given), len(columns)), np.nan)
        for place, costs in enumerate(given.values()):
            for model, cost in costs.items():
                history[place, columns[model]] = math.log(cost)
        self._prior = LearnedPrior(tuple(models), history, switches={"warp": False})
        self._learner: Learner | None = None
        self._early: list[tuple[str, str, float]] = []  # what came before anybody needed it
        self._introduced: set[str] = set()
        self._known: dict[str, list[tuple[int, float]]] = {}
        self._kinds: dict[str, tuple[int, float]] = {}  # how many trials, the sum of surprises

    def introduce(self, study: Study) -> bool:
        """Take in what a study says; returns whether predictions of other datasets changed."""
        sizes = ((ROWS, study.rows, TYPICAL_ROWS), (COLUMNS, study.columns, TYPICAL_COLUMNS))
        changed = False
        if study.dataset not in self._introduced:
            self._introduced.add(study.dataset)
            for name, size, typical in sizes:
                if size is not None:
                    changed |= self._take(study.dataset, name, math.log(size / typical))
        if self._learner is None and None in study.costs.values():
            self._learner = self._prior.learner()
            for dataset, model, log in self._early:
                self._learner.admit([model])
                column = self._learner.columns(dataset)[model]
                self._learner.note(dataset, column, log)
                self._known.setdefault(dataset, []).append((column, log))
            self._early.clear()
            self._learner.fit()
        return changed

    def observe(self, dataset: str, model: str, kind: str, duration: float) -> bool:
        """A trial ended after so long; returns whether predictions of other datasets changed."""
        if not duration > 0.0:
            return False  # times were not reported
        log = math.log(min(max(duration, SMALLEST_COST), LARGEST))
        if self._learner is None or self._learner.parameters is None:
            return self._take(dataset, model, log)
        self._learner.admit([model])
        expected = self._outlook(dataset).mean[self._learner.columns(dataset)[model]]
        trials, surprises = self._kinds.get(kind, (0, 0.0))
        self._kinds[kind] = trials + 1, surprises + log - float(expected)
        # With one kind of device there is nothing to tell apart.
        offset = surprises / (trials + 1) if len(self._kinds) > 1 else 0.0
        return self._take(dataset, model, log - offset)

    def expected(self, dataset: str, models: Sequence[str]) -> Vector:
        """The expected costs of models on a dataset; alike where nothing is known."""
        if self._learner is None:
            return np.ones(len(models))
        self._learner.admit(models)
        if self._learner.parameters is None:
            return np.ones(len(models))
        columns = self._learner.columns(dataset)
        chosen: Integers = np.array([columns[model] for model in models])
        outlook = self._outlook(dataset)
        deviation = np.minimum(outlook.sigma[chosen], LARGEST_DEVIATION)
        logs = outlook.mean[chosen] + 0.5 * deviation * deviation
        return np.exp(np.clip(logs, _LOWEST, _HIGHEST))

    def _take(self, dataset: str, model: str, log: float) -> bool:
        if self._learner is None:
            self._early.append((dataset, model, log))
            return False
        self._learner.admit([model])
        column = self._learner.columns(dataset)[model]
        self._known.setdefault(dataset, []).append((column, log))
        return self._learner.observe(dataset, column, log)

    def _outlook(self, dataset: str) -> Outlook:
        assert self._learner is not None
        prior = self._learner.block(dataset)
        posterior = Posterior(prior)
        for column, log in self._known.get(dataset, []):
            posterior.observe(column, log)
        return Outlook.of(posterior, prior)
