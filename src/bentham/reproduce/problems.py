"""Problems drawn from a prior that the scheduler knows, so that the paper's theory applies.

    case                the covariance K of all arms of all studies (variance VARIANCE)
    finite-rank         features on a sphere in RANK dimensions: MIU is bounded
    matern              Matern 5/2 over points drawn from [0, 1], length scale 0.2
    independent         a multiple of the identity; scores are Gaussian
    independent-even    the same, but scores are uniform on an interval
    independent-needle  the same, but one arm of each study is best and all others are equal

All costs are 1 and the floor is the lowest score. There is either no warm start, as the explicit
bound assumes, or that of Algorithm 1: each study's model of highest prior mean (here its first).

Assumption 1 requires one R for all problems. Gaussian scores have an R in every problem, but it
grows (slowly) with their number.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bentham.core import Arm, JointPrior, StudySpec
from bentham.core.gaussian.kernels import correlation
from bentham.core.gaussian.sums import contract
from bentham.core.gaussian.validation import Matrix, Vector
from bentham.core.theory.bounds import bounds_of_run
from bentham.sim.simulator import Run, simulate
from bentham.tables import Table

CASES = ("finite-rank", "matern", "independent", "independent-even", "independent-needle")
RANK = 5
LENGTH_SCALE = 0.2
VARIANCE = 0.99  # plus the jitter: below 1, as Assumption 1 requires
JITTER = 1e-9
NEEDLE = 2.0  # standard deviations above the others


@dataclass(frozen=True, slots=True)
class TheoryCell:
    """A case with N studies of `models` models each, M devices, and the share of arms tried.

    If `bounded`, the paper's bounds are computed for every run, which requires mdmt.
    """

    case: str
    studies: int
    models: int
    devices: int
    share: float
    policy: str = "mdmt"
    warm_start: str = "none"
    bounded: bool = False

    @property
    def name(self) -> str:
        """The name of the cell's file, without suffix."""
        kind = "bound" if self.bounded else f"{self.policy}.{self.warm_start}"
        size = f"{self.studies}x{self.models}.{self.devices}.{self.share:g}"
        return f"theory.{self.case}.{kind}.{size}"

    @property
    def work(self) -> float:
        """A rough estimate of a run's duration, to start with the longest ones."""
        return (self.studies * self.models / (20.0 if self.bounded else 60.0)) ** 2

    def run(self, seed: int, tables: Mapping[str, Table]) -> dict[str, Any]:  # noqa: ARG002
        """Run once, up to the time T at which the share of arms has been tried."""
        arms = self.studies * self.models
        covariance, scores = draw(self.case, self.studies, self.models, seed)
        names = [
            Arm(f"study-{study}", f"model-{model}")
            for study in range(self.studies)
            for model in range(self.models)
        ]
        prior = JointPrior(names, np.zeros(arms), covariance, jitter=JITTER)
        truth = dict(zip(names, scores.tolist(), strict=True))
        costs = {f"model-{model}": 1.0 for model in range(self.models)}
        floor = min(truth.values())
        studies = [StudySpec(f"study-{study}", costs, floor=floor) for study in range(self.studies)]
        until = math.ceil(self.share * arms / self.devices)
        run = simulate(
            studies, truth, prior, self.policy, devices=self.devices,
            warm_start=self.warm_start, until=until,
        )  # fmt: skip
        result: dict[str, Any] = {
            "seed": seed,
            "until": until,
            "cumulative_regret": run.regret.cumulative,
            "waiting": _waiting(run, studies, truth),
            "idle": until * sum(best - floor for best in _best(studies, truth)),
        }
        if self.bounded:
            bounds = bounds_of_run(prior, truth, run.events)
            result |= {
                "lemma": bounds.lemma,
                "theorem_lower": bounds.theorem.lower,
                "miu_upper": bounds.miu.upper,
                "uncertainty": bounds.uncertainty,
                "broken": list(bounds.broken),
            }
        return result

    def complete(self, result: dict[str, Any]) -> bool:
        """Return whether a result has the fields that figures and claims need, and is valid."""
        keys = ["until", "cumulative_regret", "waiting", "idle"]
        if self.bounded:
            keys += ["lemma", "theorem_lower", "miu_upper", "uncertainty"]
            if not isinstance(result["broken"], list):
                return False
        return are_numbers([result[key] for key in keys])


def are_numbers(values: Sequence[object]) -> bool:
    """Return whether all values are finite numbers."""
    return all(
        isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        for value in values
    )


def _waiting(run: Run, studies: Sequence[StudySpec], truth: Mapping[Arm, float]) -> float:
    """Return the part of the regret from before each study's first score."""
    waiting = 0.0
    for study, best in zip(studies, _best(studies, truth), strict=True):
        ends = [trial.end for trial in run.trials if trial.study == study.name]
        first = min((end for end in ends if end is not None), default=run.regret.end_time)
        waiting += first * (best - study.floor)
    return waiting


def _best(studies: Sequence[StudySpec], truth: Mapping[Arm, float]) -> list[float]:
    return [max(truth[Arm(study.dataset, model)] for model in study.costs) for study in studies]


def covariance_of(case: str, arms: int, rng: np.random.Generator) -> Matrix:
    """Return K for `arms` arms."""
    if case == "finite-rank":
        features = _features(arms, rng)
        return np.asarray(VARIANCE * contract("if,jf->ij", features, features))
    if case == "matern":
        return VARIANCE * correlation("matern52", rng.random((arms, 1)), LENGTH_SCALE)
    return VARIANCE * np.eye(arms)


def draw(case: str, studies: int, models: int, seed: int) -> tuple[Matrix, Vector]:
    """Draw K and the true scores of all arms, study by study.

    Uses no eigenvectors: their signs, and so the draw, would depend on the linear algebra library.
    """
    arms = studies * models
    start = [seed, studies, models, CASES.index(case)]
    rng = np.random.default_rng(start)
    covariance = covariance_of(case, arms, rng)
    deviation = math.sqrt(VARIANCE)
    if case == "finite-rank":
        features = _features(arms, np.random.default_rng(start))  # the same as in the covariance
        return covariance, deviation * contract("if,f->i", features, rng.standard_normal(RANK))
    if case == "matern":
        root = np.asarray(np.linalg.cholesky(covariance + JITTER * np.eye(arms)), np.float64)
        return covariance, contract("ij,j->i", root, rng.standard_normal(arms))
    if case == "independent-even":
        width = math.sqrt(3.0) * deviation
        return covariance, rng.uniform(-width, width, arms)
    if case == "independent-needle":
        scores = np.zeros((studies, models))
        scores[np.arange(studies), rng.integers(0, models, studies)] = NEEDLE * deviation
        return covariance, scores.ravel()
    return covariance, deviation * rng.standard_normal(arms)


def _features(arms: int, rng: np.random.Generator) -> Matrix:
    features = rng.standard_normal((arms, RANK))
    return np.asarray(features / np.sqrt((features**2).sum(axis=1, keepdims=True)))
