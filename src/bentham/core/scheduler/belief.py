"""A scheduler's belief about a model, and the default settings for each kind of prior."""

from dataclasses import dataclass

from bentham.core.gaussian.prior import Prior
from bentham.core.learning.prior import LearnedPrior


@dataclass(frozen=True, slots=True)
class Defaults:
    """Default settings of a scheduler.

    Attributes:
        policy: Name of the policy.
        warm_start: Warm start: "fastest:K", "mean" or "none".
        correct_costs: Whether given costs are corrected by observed durations.
    """

    policy: str
    warm_start: str
    correct_costs: bool


def defaults_of(prior: Prior | LearnedPrior) -> Defaults:
    """Return the default settings for a prior.

    Args:
        prior: With a learned prior, the settings of lowest regret are returned; with any other
            prior, the settings of the paper.
    """
    if isinstance(prior, LearnedPrior):
        return Defaults("joint", "none", correct_costs=True)
    return Defaults("mdmt", "fastest:2", correct_costs=False)


@dataclass(frozen=True, slots=True)
class Belief:
    """The scheduler's belief about one model of a study.

    Attributes:
        mean: Posterior median of the score (equal to the mean unless scores are warped).
        sigma: Half the width of the one-sigma interval of the score; 0 if observed.
        expected_improvement: EI for the study, multiplied by its weight.
        cost: Expected cost, in the unit of the studies' costs.
    """

    mean: float
    sigma: float
    expected_improvement: float
    cost: float
