"""What a scheduler believes of a model, and what a prior is served with."""

from dataclasses import dataclass

from bentham.core.gaussian.prior import Prior
from bentham.core.learning.prior import LearnedPrior


@dataclass(frozen=True, slots=True)
class Defaults:
    """What a prior is served with unless said otherwise."""

    policy: str
    warm_start: str
    correct_costs: bool


def defaults_of(prior: Prior | LearnedPrior) -> Defaults:
    """With a learned prior what has least regret, with any other what the paper does."""
    if isinstance(prior, LearnedPrior):
        return Defaults("joint", "none", correct_costs=True)
    return Defaults("mdmt", "fastest:2", correct_costs=False)


@dataclass(frozen=True, slots=True)
class Belief:
    """What is believed of one model of a study."""

    mean: float
    sigma: float
    expected_improvement: float
    cost: float
