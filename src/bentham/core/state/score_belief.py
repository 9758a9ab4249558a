"""What is believed of the scores of a block: its prior, what was observed, and what they make."""

import numpy as np

from bentham.core.gaussian.posterior import Posterior
from bentham.core.gaussian.predictive import Outlook
from bentham.core.gaussian.prior import BlockPrior
from bentham.core.gaussian.validation import Vector


class ScoreBelief:
    """A prior over the arms of a block, conditioned on the scores observed.

    name      meaning
    prior     of all arms
    observed  the columns with a score, in the order in which they came
    score     of every arm z(x) where observed, else NaN
    """

    __slots__ = ("_outlook", "_posterior", "observed", "prior", "score")

    def __init__(self, prior: BlockPrior):
        self.prior = prior
        self.observed: list[int] = []
        self.score: Vector = np.full(prior.size, np.nan)
        self._posterior: Posterior | None = None
        self._outlook: Outlook | None = None

    def copy(self) -> "ScoreBelief":
        """The same belief, to be conditioned by itself; the posterior is shared until then."""
        made = ScoreBelief.__new__(ScoreBelief)
        made.prior, made.observed, made.score = self.prior, list(self.observed), self.score.copy()
        if self._posterior is not None:
            self._posterior.shared = True
        made._posterior, made._outlook = self._posterior, self._outlook
        return made

    def __getstate__(self) -> tuple[object, ...]:
        # The rest is made again when asked for, to the same bit: a snapshot does without.
        return self.prior, self.observed, self.score

    def __setstate__(self, kept: tuple[BlockPrior, list[int], Vector]) -> None:
        self.prior, self.observed, self.score = kept
        self._posterior = self._outlook = None

    @property
    def posterior(self) -> Posterior:
        """The posterior, conditioned again in the old order if it had been released."""
        if self._posterior is None:
            self._posterior = Posterior(self.prior)
            for column in self.observed:
                self._posterior.observe(column, self._warped(column))
        return self._posterior

    @property
    def outlook(self) -> Outlook:
        """What the posterior says of scores."""
        if self._outlook is None:
            self._outlook = Outlook.of(self.posterior, self.prior)
        return self._outlook

    @property
    def computed(self) -> bool:
        """Whether the posterior is at hand, or what it says."""
        return self._posterior is not None or self._outlook is not None

    def set_computed(self, posterior: Posterior | None, outlook: Outlook) -> None:
        """Somebody else computed these from the same prior and scores; the posterior may lack."""
        self._posterior, self._outlook = posterior, outlook

    def release(self) -> None:
        """Let go of what was computed; it can be made again."""
        self._posterior = self._outlook = None

    def warped_scores(self) -> list[float]:
        """What was observed, in order, in warped units."""
        warped: list[float] = self.prior.warp(self.score[self.observed]).tolist()
        return warped

    def adopt(self, prior: BlockPrior) -> None:
        """Believe another prior, of the same arms and perhaps more; observations are kept."""
        more = prior.size - self.prior.size
        if more:
            self.score = np.pad(self.score, (0, more), constant_values=np.nan)
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
