"""Named ways to serve a table under the paper's protocol.

For every seed, up to 8 studies of a table are drawn as history and the others are served. All
variants get the same split, so ratios can be taken seed by seed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bentham.core import DEFAULT_JITTER, LearnedPrior, PolicyMaker, Prior, SharedPrior
from bentham.core.gaussian.kernels import correlation
from bentham.experiments.rivals import Alone, RoundRobinByRate
from bentham.sim.experiment import DEFAULT_HOLDOUT, Experiment
from bentham.sim.simulator import Disturbances, Run, simulate
from bentham.tables import Table
from bentham.tables.synthetic import LENGTH_SCALE


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to serve a table; the variants `told` and `alone` need features of the models."""

    help: str
    policy: str | PolicyMaker | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    history: bool = True
    features: bool = True
    needs: str = ""


PAPER = {"prior": "sample"}
VARIANTS: dict[str, Variant] = {
    "paper": Variant("MM-GP-EI, sample covariance, two fastest models first", "mdmt", PAPER),
    "default": Variant("Bentham's defaults"),
    # The oracle knows every score and ignores the prior, so it gets the cheapest one.
    "oracle": Variant("knows every score", "oracle", {**PAPER, "warm_start": "none"}),
    "oracle-warm": Variant("the oracle, two fastest models first as in the paper", "oracle", PAPER),
    "round-robin": Variant("studies in turn, with the paper's prior", "round-robin", PAPER),
    "round-robin-rate": Variant(
        "the same, but models by EI per cost", RoundRobinByRate.made, PAPER
    ),
    "random": Variant("studies at random, with the paper's prior", "random", PAPER),
    "gp-ucb": Variant("the predecessor, with the paper's prior", "gp-ucb", PAPER),
    "paper-without-cost": Variant(
        "the paper's, by EI and not EI per cost", "mdmt", {**PAPER, "cost_exponent": 0.0}
    ),
    "alone": Variant("one GP per study, EI per cost, studies in turn", needs="features"),
    "told": Variant("MM-GP-EI with the true prior", "mdmt", needs="synthetic"),
    "no-features": Variant("the default, without features of models", features=False),
    "no-history": Variant("the default, without history", history=False),
    "no-running": Variant("the default, ignoring running trials", "mdmt"),
    "fastest-first": Variant(
        "the default, two fastest models first", None, {"warm_start": "fastest:2"}
    ),
    "no-serving": Variant(
        "the default, learning from history alone", None, {"switched_off": ("serving",)}
    ),
    "no-warp": Variant("the default, without warping scores", None, {"switched_off": ("warp",)}),
    "no-scales": Variant(
        "the default, one scale for all studies", None, {"switched_off": ("scales",)}
    ),
    "no-strengths": Variant(
        "the default, fixed regularization strengths", None, {"switched_off": ("strengths",)}
    ),
    "cost-error-2": Variant(
        "the default, cost estimates wrong by a factor of up to 2",
        None,
        {"disturbances": Disturbances(cost_error=2.0)},
    ),
    "cost-error-2-trusted": Variant(
        "the same, without correcting cost estimates",
        None,
        {"disturbances": Disturbances(cost_error=2.0), "correct_costs": False},
    ),
    "costs-learned": Variant("the default, costs learned with history", None, {"costs": "learned"}),
    "costs-unknown": Variant(
        "the default, costs learned without history", None, {"costs": "learned-from-nothing"}
    ),
    "exponent-0.8": Variant("the default, cost exponent 0.8", None, {"cost_exponent": 0.8}),
    "exponent-1.2": Variant("the default, cost exponent 1.2", None, {"cost_exponent": 1.2}),
}  # fmt: skip
DEFAULT_VARIANTS = ("paper", "default", "oracle", "oracle-warm", "alone")


def holdout(table: Table) -> int:
    """Return the number of studies that set the prior."""
    return min(DEFAULT_HOLDOUT, len(table.studies) - 1)


def possible(table: Table, variant: Variant) -> bool:
    """Return whether the table has the data that the variant needs."""
    if variant.needs == "synthetic":
        return table.name.startswith("synthetic") and table.features is not None
    return not variant.needs or table.features is not None


def serve(table: Table, name: str, devices: int, seed: int) -> Run:
    """Run a variant once, until every study has found its best model."""
    variant = VARIANTS[name]
    history, served = table.split(holdout(table), seed)
    if not variant.features:
        served = replace(served, features=None)
    visible = history if variant.history else history.only([])
    # If scores are negative, the floor is the lowest one, so that regret is not negative.
    floor = min(0.0, float(np.nanmin(table.scores)))
    experiment = Experiment(
        table=served, history=visible, devices=devices, floor=floor, **variant.settings
    )
    prior: Prior | LearnedPrior = experiment.make_prior(visible)
    policy = variant.policy
    warm_start = experiment.warm_start
    if name == "told":
        prior, warm_start = _true_prior(table), "none"
    elif name == "alone":
        assert table.features is not None
        policy, warm_start = Alone.knowing(table.features), "none"
    return simulate(
        served.specs(experiment.floor),
        served.truth(),
        prior,
        policy,
        devices=devices,
        warm_start=warm_start,
        cost_exponent=experiment.cost_exponent,
        learn_costs=experiment.costs != "given",
        past_costs=experiment.past_costs(visible),
        correct_costs=experiment.correct_costs,
        until_found=True,
        seed=seed,
        disturbances=experiment.disturbances,
    )


def _true_prior(table: Table) -> SharedPrior:
    assert table.features is not None
    matrix = correlation("matern52", table.features, LENGTH_SCALE)
    mean = np.full(len(table.models), table.scores.mean())
    return SharedPrior(table.models, mean, matrix, DEFAULT_JITTER)
