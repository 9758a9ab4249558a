"""The belief about the scores of a block: its prior, the observed scores, and the posterior."""

import numpy as np

from bentham.core.gaussian.posterior import Posterior
from bentham.core.gaussian.predictive import Outlook
from bentham.core.gaussian.prior import BlockPrior
from bentham.core.gaussian.validation import Vector


class ScoreBelief:
    """A prior over the arms of a block, conditioned on the observed scores.

    name      meaning
    prior     prior of all arms
    observed  columns of the observed arms, in the order of observation
    score     z(x) of every arm; NaN if not observed
    """

    __slots__ = ("_outlook", "_posterior", "observed", "prior", "score")

    def __init__(self, prior: BlockPrior):
        self.prior = prior
        self.observed: list[int] = []
        self.score: Vector = np.full(prior.size, np.nan)
        self._posterior: Posterior | None = None
        self._outlook: Outlook | None = None

    def copy(self) -> "ScoreBelief":
        """Return an independent copy; the posterior is shared until either observes a score."""
        made = ScoreBelief.__new__(ScoreBelief)
        made.prior, made.observed, made.score = self.prior, list(self.observed), self.score.copy()
        if self._posterior is not None:
            self._posterior.shared = True
        made._posterior, made._outlook = self._posterior, self._outlook
        return made

    def __getstate__(self) -> tuple[object, ...]:
        # Snapshots omit the rest: it is recomputed on demand, to the same bit.
        return self.prior, self.observed, self.score

    def __setstate__(self, kept: tuple[BlockPrior, list[int], Vector]) -> None:
        self.prior, self.observed, self.score = kept
        self._posterior = self._outlook = None

    @property
    def posterior(self) -> Posterior:
        """The posterior; if it was released, it is conditioned again in the same order."""
        if self._posterior is None:
            self._posterior = Posterior(self.prior)
            for column in self.observed:
                self._posterior.observe(column, self._warped(column))
        return self._posterior

    @property
    def outlook(self) -> Outlook:
        """The prediction of the scores by the posterior."""
        if self._outlook is None:
            self._outlook = Outlook.of(self.posterior, self.prior)
        return self._outlook

    @property
    def computed(self) -> bool:
        """Whether the posterior or the outlook is computed."""
        return self._posterior is not None or self._outlook is not None

    def set_computed(self, posterior: Posterior | None, outlook: Outlook) -> None:
        """Set results computed elsewhere from the same prior and scores."""
        self._posterior, self._outlook = posterior, outlook

    def release(self) -> None:
        """Free the computed results; they are recomputed on demand."""
        self._posterior = self._outlook = None

    def warped_scores(self) -> list[float]:
        """Return the observed scores in warped units, in the order of observation."""
        warped: list[float] = self.prior.warp(self.score[self.observed]).tolist()
        return warped

    def adopt(self, prior: BlockPrior) -> None:
        """Use another prior, over the same arms and perhaps more; observations are kept."""
        added = prior.size - self.prior.size
        if added:
            self.score = np.pad(self.score, (0, added), constant_values=np.nan)
        self.prior = prior
        self.release()

    def observe(self, column: int, score: float) -> None:
        """Condition on the score of an arm."""
        self.score[column] = score
        if self._posterior is not None:
            if self._posterior.shared:
                self._posterior = self._posterior.copy()
            self._posterior.observe(column, self._warped(column))
        self._outlook = None
        self.observed.append(column)

    def _warped(self, column: int) -> float:
        return float(self.prior.warp(self.score[column]))
