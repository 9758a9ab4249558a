"""Costs of arms, learned from the durations of completed trials.

Log costs are treated like scores: some of a dataset's log costs are observed, and all datasets
share what is learned. So the same learned prior (`learning`), without a warp, is fitted to log
durations: the level of a dataset, the effect of a model, how models vary together, and a t
distribution for differences between datasets. Models with similar descriptions are expected to
have similar costs. The numbers of rows and columns of a dataset, known before any trial, enter as
two more log values that are observed from the start, shifted to vary around the level of the costs.

    log c = log duration - offset of the device's kind

A trial that takes longer than expected counts before it ends: until then, its duration is assumed
to be twice the time it has run so far. While few trials have ended, the guessed costs of a model
differ between datasets, by fixed draws for each dataset, so that the first devices do not all
start with the same, perhaps very long, model.

A cost declared by a study is an estimate, too. If costs are to be corrected, the accuracy of
estimates is learned from completed trials: b and s^2 are the mean and the variance of log duration
minus log estimate. An estimate e, shifted by b (it may be in another unit), and a prediction
N(mu, v) combine to N((mu/v + (e + b)/s^2) / (1/v + 1/s^2), ...). Estimates that have always been
exact are used unchanged.

The offset of a kind is the average surprise on its devices, shrunk towards zero by one
pseudo-trial. It multiplies all costs by the same factor, so it does not change which arm is best
for a device; it prevents a fast device from making models look cheap. The EI rate uses the expected
cost, exp(mean + variance / 2), since over a long run gain per time is expected gain divided by
expected cost.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bentham.core.costs.cache import CostQuery, KnownCosts, Logs
from bentham.core.costs.predict import CostBelief, CostQuestion, expected_costs
from bentham.core.gaussian.posterior import Posterior
from bentham.core.gaussian.prior import BlockPrior
from bentham.core.gaussian.validation import Integers, Vector
from bentham.core.learning.fit_task import Begin, when_needed
from bentham.core.learning.prior import LearnedPrior, Learner
from bentham.core.problem.study import LARGEST, SMALLEST_COST, ModelDescription, StudySpec
from bentham.errors import InvalidInput

# Past costs, by dataset and model.
PastCosts = Mapping[str, Mapping[str, float]]
# Past runs, by dataset and model: the score, and the cost if known.
History = Mapping[str, Mapping[str, tuple[float, float | None]]]

# Reserved model names, which no user would choose.
ROWS, COLUMNS = "\0rows", "\0columns"
# A log estimate with a smaller error than this is exact: the rest is rounding of times.
EXACT = 1e-6
_EMPTY: dict[int, float] = {}


class CostModel:
    """Predicts costs and learns from durations.

    As long as studies declare exact costs of all models, durations are only stored. Learning starts
    with the first cost that is missing or needs correction.
    """

    frozen = False  # whether expected costs never change

    def __init__(self, past: PastCosts | None = None, correct: bool = False):
        checked = _checked_past(past or {})
        names = [name for costs in checked.values() for name in costs]
        models = dict.fromkeys([ROWS, COLUMNS, *names])
        columns = {model: column for column, model in enumerate(models)}
        history = np.full((len(checked), len(columns)), np.nan)
        for row, costs in enumerate(checked.values()):
            for model, cost in costs.items():
                history[row, columns[model]] = math.log(cost)
        self._prior = LearnedPrior(tuple(models), history, switches={"warp": False})
        self._learner: Learner | None = None
        self._begin_fit: Begin = when_needed
        self._past: list[Mapping[str, Mapping[str, float]]] = []  # added later, as log costs
        self._early: list[tuple[str, str, float]] = []  # stored before learning started
        self._descriptions: dict[str, ModelDescription] = {}
        self._order: dict[str, int] = {}  # of datasets, in order of arrival
        self._trials, self._level = 0, 0.0  # ended trials, sum of their log durations
        self._sizes: dict[str, dict[str, float]] = {ROWS: {}, COLUMNS: {}}
        self._centre = {ROWS: 0.0, COLUMNS: 0.0}
        self._correct = correct
        self._tested, self._bias, self._scatter = 0, 0.0, 0.0  # errors of estimates (Welford)
        self._running: dict[int, _Running] = {}
        self._known = KnownCosts()
        self._kinds: dict[str, tuple[int, float]] = {}  # number of trials, sum of surprises

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_begin_fit": None}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self.__dict__.update(kept)
        self._begin_fit = when_needed

    def fit_by(self, begin: Begin) -> None:
        """Compute fits elsewhere before they are needed; `begin` starts one."""
        self._begin_fit = begin
        if self._learner is not None:
            self._learner.begin = begin

    # -- events

    def remember(self, history: History) -> None:
        """Add the known costs of past runs."""
        past = {
            dataset: {
                model: math.log(cost) for model, (_, cost) in runs.items() if cost is not None
            }
            for dataset, runs in history.items()
        }
        self._past.append({dataset: runs for dataset, runs in past.items() if runs})
        if self._learner is not None:
            self._learner.remember(self._past[-1])

    def introduce(self, study: StudySpec) -> None:
        """Add a study's descriptions and dataset size; start learning if a cost is missing."""
        for model, description in study.descriptions.items():
            self._descriptions.setdefault(model, description)
        self._order.setdefault(study.dataset, len(self._order))
        for name, size in ((ROWS, study.rows), (COLUMNS, study.columns)):
            if size is not None and study.dataset not in self._sizes[name]:
                self._sizes[name][study.dataset] = math.log(size)
                self._place(name, study.dataset)
        if None in study.costs.values():
            self._begin()

    def start(
        self, trial: int, dataset: str, model: str, kind: str, time: float, declared: float
    ) -> None:
        """Note that a trial started; `declared` is its declared cost, NaN if none."""
        estimate = None if math.isnan(declared) else math.log(declared)
        expected = self._log(dataset, model)
        self._running[trial] = _Running(dataset, model, kind, time, estimate, expected, expected)

    def drop(self, trial: int) -> None:
        """Note that a trial ended without a score: its full duration is unknown."""
        running = self._running.pop(trial)
        if running.overdue and self._learner is not None:
            column = self._learner.columns(running.dataset)[running.model]
            self._learner.forget(running.dataset, column)

    def end(self, trial: int, time: float) -> bool:
        """Note that a trial ended, and which running trials take longer than expected by now.

        Returns whether predictions for other datasets changed.
        """
        running = self._running.pop(trial)
        duration = time - running.start
        changed = False
        if duration > 0.0:  # otherwise times are not reported
            log = _log(duration)
            self._trials, self._level = self._trials + 1, self._level + log
            if self._trials & (self._trials - 1) == 0:  # whenever the number of trials has doubled
                self._place_all()
            trials, surprises = self._kinds.get(running.kind, (0, 0.0))
            if running.expected is not None:
                self._kinds[running.kind] = trials + 1, surprises + log - running.expected
            # With only one kind of device there is no offset.
            offset = surprises / (trials + 1) if len(self._kinds) > 1 else 0.0
            changed = self._check_estimate(log - offset, running.estimate)
            self._note(running.dataset, running.model, log - offset)
        for other in self._running.values():
            self._note_overdue(other, time)
        return (self._learner is not None and self._learner.refit()) or changed

    def _note_overdue(self, running: "_Running", time: float) -> None:
        elapsed = time - running.start
        if self._learner is None or elapsed <= 0.0:
            return
        if running.assumed is None:
            running.assumed = self._log(running.dataset, running.model)
        if running.assumed is not None and _log(elapsed) > running.assumed:
            running.assumed, running.overdue = _log(2.0 * elapsed), True
            self._note(running.dataset, running.model, running.assumed)

    # -- beliefs

    @property
    def corrects(self) -> bool:
        """Whether declared costs are corrected now: estimates have proved inexact."""
        return self._correct and (abs(self._bias) > EXACT or self._scatter > 0.0)

    def admit(self, models: Sequence[str]) -> Integers | None:
        """Add models; returns their columns, which never change, or None before learning starts."""
        if self._learner is None:
            return None
        self._learner.admit(models, self._descriptions)
        columns = self._learner.columns("")
        return np.array([columns[model] for model in models], dtype=np.int64)

    def belief(self, dataset: str) -> CostBelief:
        """Return the current belief about a dataset's costs."""
        prior: BlockPrior | None = None
        logs: Logs = _EMPTY
        if self._learner is not None and self._learner.parameters is not None:
            prior, logs = self._learner.block(dataset), self._learner.scores(dataset)
            self._known.believe(prior)
        error = self._scatter / self._tested if self.corrects else None
        order = self._order.get(dataset, 0)
        return CostBelief(dataset, prior, logs, order, self._trials, self._bias, error, self._known)

    def expected(self, dataset: str, models: Sequence[str], declared: Vector) -> Vector:
        """Return the expected costs of models on a dataset; `declared` is NaN if not declared."""
        columns = self.admit(models)
        return expected_costs([CostQuestion(self.belief(dataset), columns, declared)])[0]

    def posterior(self, query: CostQuery) -> Posterior:
        """Return the posterior of a dataset's log costs; it is shared: do not condition it."""
        return self._known.posterior(query)

    def _place(self, name: str, dataset: str) -> None:
        """Enter the size of a dataset as a log value, shifted to the level of the log costs."""
        if self._learner is not None:
            sizes = self._sizes[name]
            log = sizes[dataset] - self._centre[name] + self._level / max(1, self._trials)
            self._learner.revise(dataset, self._learner.columns(dataset)[name], log)

    def _place_all(self) -> None:
        for name, sizes in self._sizes.items():
            self._centre[name] = math.fsum(sizes.values()) / max(1, len(sizes))
            for dataset in sizes:
                self._place(name, dataset)

    def _begin(self) -> None:
        """Start learning, from the stored durations and from now on."""
        if self._learner is not None:
            return
        self._learner = self._prior.learner()
        self._learner.begin = self._begin_fit
        for past in self._past:
            self._learner.remember(past)
        self._place_all()
        for dataset, model, log in self._early:
            self._learner.admit([model], self._descriptions)
            self._learner.note(dataset, self._learner.columns(dataset)[model], log)
        self._early.clear()
        self._learner.fit()

    def _check_estimate(self, log: float, estimate: float | None) -> bool:
        """Compare a log duration with its estimate; returns whether corrections start now."""
        if estimate is None:
            return False
        corrected, error = self.corrects, log - estimate
        self._tested += 1
        step = error - self._bias
        self._bias += step / self._tested
        if abs(step) > EXACT:
            self._scatter += step * (error - self._bias)
        if self.corrects and not corrected:
            self._begin()
            return True
        return False

    def _log(self, dataset: str, model: str) -> float | None:
        """Return the expected log cost; None if nothing is known."""
        if self._learner is None or self._learner.parameters is None:
            return None
        self._learner.admit([model], self._descriptions)
        return float(self._mean(dataset)[self._learner.columns(dataset)[model]])

    def _note(self, dataset: str, model: str, log: float) -> None:
        if self._learner is None:
            self._early.append((dataset, model, log))
            return
        self._learner.admit([model], self._descriptions)
        self._learner.note(dataset, self._learner.columns(dataset)[model], log)

    def _mean(self, dataset: str) -> Vector:
        """Return the expected log costs on a dataset."""
        assert self._learner is not None
        prior, logs = self._learner.block(dataset), self._learner.scores(dataset)
        self._known.believe(prior)
        return self.posterior(CostQuery(dataset, prior, logs)).mean


class FrozenCosts(CostModel):
    """Expected costs stay as they are: durations teach nothing."""

    frozen = True

    def start(
        self, trial: int, dataset: str, model: str, kind: str, time: float, declared: float
    ) -> None:
        """Ignore the start of a trial."""

    def drop(self, trial: int) -> None:
        """Ignore a trial that ended without a score."""

    def end(self, trial: int, time: float) -> bool:  # noqa: ARG002
        """Ignore the duration of a trial: no prediction changes."""
        return False


@dataclass(slots=True)
class _Running:
    dataset: str
    model: str
    kind: str
    start: float
    estimate: float | None  # its declared log cost
    expected: float | None  # its expected log cost when it started
    assumed: float | None  # its expected log cost now
    overdue: bool = False  # whether it takes longer than expected


def _log(duration: float) -> float:
    return math.log(min(max(duration, SMALLEST_COST), LARGEST))


def checked_history(history: History) -> History:
    """Return past runs unchanged; raise InvalidInput if a score or cost cannot be used."""
    for dataset, runs in history.items():
        for model, (score, cost) in runs.items():
            if not abs(score) <= LARGEST:
                raise InvalidInput(
                    f"the score of model {model!r} on {dataset!r} is {score}; "
                    "give a finite number, and omit runs without a score"
                )
            if cost is not None and not SMALLEST_COST <= cost <= LARGEST:
                raise InvalidInput(
                    f"the cost of model {model!r} on {dataset!r} is {cost}; "
                    f"give a number from {SMALLEST_COST:g} to {LARGEST:g}, or omit it"
                )
    return history


def _checked_past(past: PastCosts) -> PastCosts:
    for dataset, costs in past.items():
        if not isinstance(costs, Mapping):
            raise InvalidInput(
                f"the past costs of {dataset!r} are {costs!r}; map each dataset to costs by model"
            )
        for model, cost in costs.items():
            number = isinstance(cost, int | float) and not isinstance(cost, bool)
            if not number or not SMALLEST_COST <= cost <= LARGEST:
                raise InvalidInput(
                    f"the past cost of model {model!r} on {dataset!r} is {cost!r}; "
                    f"give a number from {SMALLEST_COST:g} to {LARGEST:g}"
                )
    return past
