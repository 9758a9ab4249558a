"""How far studies are believed to be from their best model.

The expected shortfall of a study is E[max_x z(x) - incumbent]+ over the models not yet observed.
It is the integral of P(max_x z(x) > t) from the incumbent up, taken as if models were independent
(which makes it an upper estimate where they are positively correlated) and Gaussian with the
posterior's median and spread, by the trapezoidal rule.
"""

import numpy as np
from scipy.special import ndtr

from bentham.service.entities import Study
from bentham.service.pool import Pool

POINTS, REACH = 48, 5.0


class Estimates:
    """Shortfalls of open studies, each kept until something new is known of its dataset."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[tuple[int, int], float]] = {}

    def of_study(self, pool: Pool, study: Study) -> float:
        """What the study may still gain, as far as is believed."""
        if not study.served:
            return 0.0
        kept, known = self._kept.get(study.id), (study.shared.changes, len(pool.history))
        if kept is None or kept[0] != known:
            kept = self._kept[study.id] = known, _shortfall(pool, study)
        return kept[1]

    def forget(self, study: str) -> None:
        """A study is over."""
        self._kept.pop(study, None)


def _shortfall(pool: Pool, study: Study) -> float:
    beliefs = pool.scheduler.beliefs(study.id)
    left = [beliefs[model] for model in study.models if study.shared.state(model) != "observed"]
    left = [belief for belief in left if belief.sigma > 0.0]
    incumbent = study.floor if study.best is None else study.best[1]
    if not left:
        return 0.0
    mean = np.array([belief.mean for belief in left])
    sigma = np.array([belief.sigma for belief in left])
    top = float((mean + REACH * sigma).max())
    if top <= incumbent:
        return 0.0
    levels = np.linspace(incumbent, top, POINTS)
    below = ndtr((levels[:, np.newaxis] - mean) / sigma).prod(axis=1)
    return float(np.trapezoid(1.0 - below, levels))
