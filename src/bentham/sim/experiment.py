"""The paper's protocol: some studies set the prior, the others are served (Section 6)."""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from bentham.core import (
    DEFAULT_JITTER,
    LearnedPrior,
    PastCosts,
    Prior,
    defaults_of,
    kernel_prior,
    prior_from,
    sample_prior,
)
from bentham.core.learning.fit import Switches
from bentham.core.problem.study import LARGEST
from bentham.errors import InvalidInput, InvalidPrior
from bentham.sim.recording import Recording
from bentham.sim.simulator import ORACLE, Disturbances, Run, simulate
from bentham.tables import ModelFeatures, Table, complete_history, history_scores

LEVELS = (0.1, 0.03, 0.01)
DEFAULT_HOLDOUT = 8
COSTS = ("given", "learned", "learned-from-nothing")


@dataclass(frozen=True, slots=True)
class Experiment:
    """Everything of a simulation but the policy and the seed.

    `prior` is `learned`, `sample`, `kernel`, `kernel:NAME` or the path of a prior in JSON (as
    `describe` gives it). Without a `history` of its own, `holdout` studies of the table are drawn
    as one: 8 unless given, none where the prior is read from a file. `switches` are pieces of the
    learned prior to switch off. Costs are given to the scheduler, or learned by it: from the costs
    of the history and the trials that end, or from those trials alone (`learned-from-nothing`).
    """

    table: Table
    history: Table | None = None
    holdout: int | None = None
    prior: str = "learned"
    switched_off: tuple[str, ...] = ()
    jitter: float = DEFAULT_JITTER
    features: ModelFeatures | None = None
    length_scale: float | None = None
    devices: int = 4
    warm_start: str | None = None
    costs: str = "given"
    cost_exponent: float = 1.0
    correct_costs: bool | None = None
    floor: float = 0.0
    until: float = math.inf
    disturbances: Disturbances = field(default_factory=Disturbances)

    def __post_init__(self) -> None:
        if not abs(self.floor) <= LARGEST:
            raise InvalidInput(f"the floor is {self.floor}; it must be a number within {LARGEST:g}")
        if self.costs not in COSTS:
            raise InvalidInput(f"unknown costs {self.costs!r}; choose one of {', '.join(COSTS)}")
        known = [switch.name for switch in fields(Switches)]
        for name in self.switched_off:
            if name not in known:
                raise InvalidInput(f"there is no {name!r} to switch off; known: {', '.join(known)}")

    def split(self, seed: int) -> tuple[Table, Table]:
        """(history, served) for a seed."""
        if self.history is not None:
            return self.history, self.table
        holdout = self.holdout
        if holdout is None:
            holdout = 0 if self.prior_is_given else DEFAULT_HOLDOUT
            if self.prior == "learned":  # which does with less
                holdout = min(holdout, len(self.table.studies) - 1)
        return self.table.split(holdout, seed, complete_only=self.prior == "sample")

    def as_in_the_paper(self, seed: int) -> "Experiment":
        """The same studies, history and devices in the paper's configuration."""
        paper = replace(
            self,
            prior="sample",
            switched_off=(),
            features=None,
            warm_start=None,
            costs="given",
            cost_exponent=1.0,
        )
        if len(paper.split(seed)[0].studies) < 2:
            raise InvalidInput(
                "the paper's prior needs at least 2 historical studies; hold out 2 or more, give "
                "a history of its own, or leave the paper out"
            )
        return paper

    @property
    def prior_is_given(self) -> bool:
        """Whether the prior is read from a file, and needs no history."""
        return self.prior.endswith(".json")

    def past_costs(self, history: Table) -> PastCosts | None:
        """What the scheduler is told of past costs."""
        if self.costs != "learned":
            return None
        return {
            study.name: {model: study.cost(model) for model in study.costs}
            for study in history.specs()
        }

    def make_prior(self, history: Table) -> Prior | LearnedPrior:
        """The prior that a history gives."""
        models = self.table.models
        if self.prior == "learned":
            return LearnedPrior(
                models,
                history_scores(history, models) if history.studies else None,
                self.table.features if self.features is None else self.features.values,
                None if self.features is None else self.features.groups,
                switches=dict.fromkeys(self.switched_off, False),
            )
        if self.prior == "sample":
            return sample_prior(models, complete_history(history, models), self.jitter)
        name, _, kernel = self.prior.partition(":")
        if name == "kernel":
            features = self.table.features if self.features is None else self.features.values
            if features is None:
                raise InvalidInput(
                    f"the kernel prior needs features of the models of {self.table.name}; "
                    "pass --features FILE, a CSV with a column model and numeric columns"
                )
            return kernel_prior(
                models,
                features,
                history_scores(history, models),
                kernel or "matern52",
                self.length_scale,
                self.jitter,
            )
        if self.prior_is_given:
            return _read_prior(Path(self.prior))
        raise InvalidInput(
            f"unknown prior {self.prior!r}; choose learned, sample, kernel, kernel:NAME or a "
            ".json file"
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run of an experiment, with what it takes to report and to replay it."""

    experiment: Experiment
    policy: str
    seed: int
    history: Table
    served: Table
    prior: Prior | LearnedPrior
    run: Run

    @property
    def warm_start(self) -> str:
        """What every study ran first."""
        given = self.experiment.warm_start
        return defaults_of(self.prior).warm_start if given is None else given

    def setting(self) -> str:
        """What was simulated, for a heading."""
        devices = self.experiment.devices
        return (
            f"{Path(self.experiment.table.name).name}: {len(self.served.studies)} studies x "
            f"{len(self.served.models)} models, {devices} device{'s' if devices > 1 else ''}"
        )

    def time_to(self) -> dict[str, float | None]:
        """When the mean regret fell to each level."""
        return {str(level): self.run.regret.time_to(level) for level in LEVELS}

    def recording(self) -> Recording:
        """The run's events and settings."""
        return Recording(
            policy=self.policy,
            warm_start=self.warm_start,
            seed=self.seed,
            prior=self.prior,
            cost_exponent=self.experiment.cost_exponent,
            past_costs=self.experiment.past_costs(self.history),
            correct_costs=self.experiment.correct_costs,
            events=self.run.events,
            truth=self.served.truth() if self.policy == ORACLE else None,
        )

    def summary(self) -> dict[str, Any]:
        """The run as plain data, as `bentham simulate --json` prints it."""
        experiment, regret = self.experiment, self.run.regret
        return {
            "table": experiment.table.name,
            "policy": self.policy,
            "prior": experiment.prior,
            "jitter": self.prior.jitter,
            "devices": experiment.devices,
            "seed": self.seed,
            "warm_start": self.warm_start,
            "switched_off": list(experiment.switched_off),
            "costs": experiment.costs,
            "cost_exponent": experiment.cost_exponent,
            "floor": experiment.floor,
            "studies": len(self.served.studies),
            "models": len(self.served.models),
            "history": list(self.history.studies),
            "cumulative_regret": regret.cumulative,
            "end_time": regret.end_time,
            "time_to": self.time_to(),
            "trials": [
                {
                    "study": trial.study,
                    "model": trial.model,
                    "device": trial.device,
                    "start": trial.start,
                    "end": trial.end,
                    "score": trial.score,
                    "outcome": trial.outcome,
                }
                for trial in self.run.trials
            ],
            "curve": [list(point) for point in regret.curve],
        }


def by_policy(outcomes: Sequence[Outcome]) -> dict[str, list[Outcome]]:
    """Outcomes gathered by their policy, in the order in which policies come first."""
    grouped: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        grouped.setdefault(outcome.policy, []).append(outcome)
    return grouped


def run_experiment(
    experiment: Experiment,
    policy: str | None,
    seed: int,
    progress: Callable[[int], None] | None = None,
) -> Outcome:
    """One run: draw the history, make the prior, serve the rest."""
    history, served = experiment.split(seed)
    prior = experiment.make_prior(history)
    policy = defaults_of(prior).policy if policy is None else policy
    run = simulate(
        served.specs(experiment.floor),
        served.truth(),
        prior,
        policy,
        devices=experiment.devices,
        warm_start=experiment.warm_start,
        cost_exponent=experiment.cost_exponent,
        learn_costs=experiment.costs != "given",
        past_costs=experiment.past_costs(history),
        correct_costs=experiment.correct_costs,
        until=experiment.until,
        seed=seed,
        disturbances=experiment.disturbances,
        progress=progress,
    )
    return Outcome(experiment, policy, seed, history, served, prior, run)


def _read_prior(path: Path) -> Prior | LearnedPrior:
    try:
        return prior_from(json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise InvalidPrior(f"{path}: cannot be read ({error.strerror})") from None
    except InvalidPrior as error:
        raise InvalidPrior(f"{path}: {error}") from None
    except (ValueError, RecursionError) as error:
        raise InvalidPrior(f"{path}: not a prior in JSON ({error})") from None
