"""How far studies are believed to be from their best model.

The expected shortfall of a study is E[max_x z(x) - incumbent]+ over the models not yet observed.
It is the integral of P(max_x z(x) > t) from the incumbent up, taken as if models were independent
(which makes it an upper estimate where they are positively correlated) and Gaussian with the
posterior's median and spread, by the trapezoidal rule.
"""

from collections.abc import Iterable

import numpy as np
from scipy.special import ndtr

from bentham.service.entities import Study
from bentham.service.pool import Pool

POINTS, REACH = 48, 5.0


# So many are made anew with each look: one takes about a third of a millisecond.
BUDGET = 100


class Estimates:
    """Shortfalls of studies, each kept until something new is known of its dataset.

    Everybody waits while they are computed, so a look makes only some of them anew; the others
    are as they were, and have their turn with the next looks.
    """

    def __init__(self) -> None:
        # What was known then: how often the dataset changed, how much history there was.
        self._kept: dict[str, tuple[tuple[int, int], float]] = {}

    def of_studies(self, pool: Pool, studies: Iterable[Study]) -> dict[str, float]:
        """What each study may still gain, as far as is believed; 0 for those not served."""
        found, outdated = {}, []
        for study in studies:
            kept, gap = self._kept.get(study.id, (None, 0.0))
            found[study.id] = gap if study.served else 0.0
            if study.served and kept != (study.shared.changes, len(pool.history)):
                outdated.append((kept is not None, study))
        # Those never looked at come first.
        for _, study in sorted(outdated, key=lambda pair: pair[0])[:BUDGET]:
            found[study.id] = _shortfall(pool, study)
            self._kept[study.id] = (study.shared.changes, len(pool.history)), found[study.id]
        return found


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
