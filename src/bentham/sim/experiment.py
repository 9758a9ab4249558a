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
from bentham.wording import choose

LEVELS = (0.1, 0.03, 0.01)
DEFAULT_HOLDOUT = 8
COSTS = ("given", "learned", "learned-from-nothing")


@dataclass(frozen=True, slots=True)
class Experiment:
    """The settings of a simulation, except for the policy and the random seed.

    `prior` is `learned`, `sample`, `kernel`, `kernel:NAME` or the path of a JSON file (the output
    of a prior's `describe()`). Without `history`, `holdout` studies of the table are drawn as
    history; by default 8, or none if the prior is read from a file. `switched_off` names parts of
    the learned prior to disable. `costs` says what the scheduler knows about costs: all of them
    (`given`), or what it learns from completed trials, with the costs of the history (`learned`) or
    without (`learned-from-nothing`). With `gain_share`, a study ends when all its untried models
    together are expected to add less than this share of what it has gained over the floor.
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
    gain_share: float = 0.0
    until: float = math.inf
    disturbances: Disturbances = field(default_factory=Disturbances)

    def __post_init__(self) -> None:
        if not abs(self.floor) <= LARGEST:
            raise InvalidInput(
                f"the floor is {self.floor}; give a number from -{LARGEST:g} to {LARGEST:g}"
            )
        if not 0.0 <= self.gain_share < 1.0:
            raise InvalidInput(
                f"the gain share is {self.gain_share}; give a number from 0 (run every model) to "
                "below 1"
            )
        if self.costs not in COSTS:
            raise InvalidInput(f"unknown costs {self.costs!r}; {choose(self.costs, COSTS)}")
        known = [switch.name for switch in fields(Switches)]
        for name in self.switched_off:
            if name not in known:
                raise InvalidInput(f"there is no {name!r} to switch off; {choose(name, known)}")

    def split(self, seed: int) -> tuple[Table, Table]:
        """Return (history, served): the studies that set the prior, and those that are served."""
        if self.history is not None:
            return self.history, self.table
        holdout = self.holdout
        if holdout is None:
            holdout = 0 if self.prior_is_given else DEFAULT_HOLDOUT
            if self.prior == "learned":  # it accepts fewer studies
                holdout = min(holdout, len(self.table.studies) - 1)
        return self.table.split(holdout, seed, complete_only=self.prior == "sample")

    def as_in_the_paper(self, seed: int) -> "Experiment":
        """Return the experiment in the paper's configuration: same studies, history and devices."""
        paper = replace(
            self,
            gain_share=0.0,
            prior="sample",
            switched_off=(),
            features=None,
            warm_start=None,
            costs="given",
            cost_exponent=1.0,
        )
        if len(paper.split(seed)[0].studies) < 2:
            raise InvalidInput(
                "the paper's prior needs at least 2 historical studies; hold out 2 or more, supply "
                "a separate history, or do without the paper's configuration"
            )
        return paper

    @property
    def prior_is_given(self) -> bool:
        """Whether the prior is read from a file, so that it needs no history."""
        return self.prior.endswith(".json")

    def past_costs(self, history: Table) -> PastCosts | None:
        """Return the past costs that the scheduler learns from; None unless costs are `learned`."""
        if self.costs != "learned":
            return None
        return {
            study.name: {model: study.cost(model) for model in study.costs}
            for study in history.specs()
        }

    def make_prior(self, history: Table) -> Prior | LearnedPrior:
        """Return the prior, fitted to the history if it is not read from a file."""
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
    """One run of an experiment, with all data for reporting and replaying it."""

    experiment: Experiment
    policy: str
    seed: int
    history: Table
    served: Table
    prior: Prior | LearnedPrior
    run: Run

    @property
    def warm_start(self) -> str:
        """The warm start: what every study ran first."""
        warm_start = self.experiment.warm_start
        return defaults_of(self.prior).warm_start if warm_start is None else warm_start

    def setting(self) -> str:
        """Return table, size and number of devices as text, for a heading."""
        devices = self.experiment.devices
        return (
            f"{Path(self.experiment.table.name).name}: {len(self.served.studies)} studies x "
            f"{len(self.served.models)} models, {devices} device{'s' if devices > 1 else ''}"
        )

    def time_to(self) -> dict[str, float | None]:
        """Return the time when the mean regret fell to each level; None if it never did."""
        return {str(level): self.run.regret.time_to(level) for level in LEVELS}

    def recording(self) -> Recording:
        """Return the run's events and settings."""
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
        """Return the run as JSON data, as printed by `bentham simulate --json`."""
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
            "gain_share": experiment.gain_share,
            "studies": len(self.served.studies),
            "models": len(self.served.models),
            "history": list(self.history.studies),
            "cumulative_regret": regret.cumulative,
            "end_time": regret.end_time,
            "device_time": self.run.device_time,
            "happiness": regret.happiness,
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
    """Group outcomes by policy, in the order in which the policies first occur."""
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
    """Run once: draw the history, fit the prior, serve the other studies."""
    history, served = experiment.split(seed)
    prior = experiment.make_prior(history)
    policy = defaults_of(prior).policy if policy is None else policy
    run = simulate(
        [
            replace(study, gain_share=experiment.gain_share)
            for study in served.specs(experiment.floor)
        ],
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
