"""What an arm will cost where nobody said: learned from the trials that ended.

The logarithms of costs are scores by another name: a dataset has some of them observed, all
datasets share what is learned. So the same learned prior (`learning`), without a warp, is fitted
to log durations: the level of a dataset, the effect of a model, how models vary together, with a
t distribution where datasets differ; models that are described alike are expected to cost alike.
What is known of a dataset before any trial, its rows and columns, enters as two more log values of
it that are observed from the start, moved so that they vary about the level of the costs.

    log c = log duration - offset of the device's kind

A trial that has run for longer than expected is not waited for: until it ends it is taken to need
twice the time that it ran already. And while hardly a trial has ended, datasets disagree on what
models may cost, each by fixed draws of its own; so devices that know nothing yet do not all begin
with the same, perhaps very long, model.

What a study says of a cost is an estimate, too. Where costs are to be corrected, how good such
estimates are is learned from the trials that ended: b and s^2 are the mean and the variance of log
duration less log estimate. An estimate e, moved by b (it may be in another unit), and a prediction
N(mu, v) make N((mu/v + (e + b)/s^2) / (1/v + 1/s^2), ...); estimates that have always been right
are taken as they are.

A kind's offset is the average surprise on its devices, shrunk to nothing by one pseudo-trial. It
multiplies all costs alike, and so does not change which arm is best for a device; it keeps a fast
device from making models look cheap. The cost in the EI rate is the expected one, exp(mean +
variance / 2), since over a long run gain per time is expected gain by expected cost.
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
from bentham.core.problem.study import LARGEST, SMALLEST_COST, ModelDescription, Study
from bentham.errors import InvalidInput

# Past costs, by dataset and model.
PastCosts = Mapping[str, Mapping[str, float]]
# Past runs, by dataset and model: the score, and what it cost if that is known.
History = Mapping[str, Mapping[str, tuple[float, float | None]]]

# No model is called so: a name is not empty, and these are not names a person would give.
ROWS, COLUMNS = "\0rows", "\0columns"
# An estimate off by less than this is right: the rest is the rounding of times.
EXACT = 1e-6
_NOTHING: dict[int, float] = {}


class CostModel:
    """Predicts costs, and learns from durations.

    As long as every study says what its models cost, and is right, durations are only kept; they
    are learned from once somebody is not.
    """

    settled = False  # whether what is expected stays as it is

    def __init__(self, past: PastCosts | None = None, correct: bool = False):
        given = _as_past(past or {})
        names = [name for costs in given.values() for name in costs]
        models = dict.fromkeys([ROWS, COLUMNS, *names])
        columns = {model: column for column, model in enumerate(models)}
        history = np.full((len(given), len(columns)), np.nan)
        for place, costs in enumerate(given.values()):
            for model, cost in costs.items():
                history[place, columns[model]] = math.log(cost)
        self._prior = LearnedPrior(tuple(models), history, switches={"warp": False})
        self._learner: Learner | None = None
        self._begin_fit: Begin = when_needed
        self._past: list[Mapping[str, Mapping[str, float]]] = []  # came later, as log costs
        self._early: list[tuple[str, str, float]] = []  # what came before anybody needed it
        self._descriptions: dict[str, ModelDescription] = {}
        self._order: dict[str, int] = {}  # of datasets, as they came
        self._trials, self._level = 0, 0.0  # how many ended, the sum of their logs
        self._sizes: dict[str, dict[str, float]] = {ROWS: {}, COLUMNS: {}}
        self._centre = {ROWS: 0.0, COLUMNS: 0.0}
        self._correct = correct
        self._tested, self._bias, self._scatter = 0, 0.0, 0.0  # of estimates: Welford's sums
        self._running: dict[int, _Running] = {}
        self._known = KnownCosts()
        self._kinds: dict[str, tuple[int, float]] = {}  # how many trials, the sum of surprises

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_begin_fit": None}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self.__dict__.update(kept)
        self._begin_fit = when_needed

    def fit_by(self, begin: Begin) -> None:
        """Have fits that are begun before they are needed computed by somebody else."""
        self._begin_fit = begin
        if self._learner is not None:
            self._learner.begin = begin

    # -- what happens

    def remember(self, history: History) -> None:
        """Take in what past runs cost, where that is known."""
        past = {
            dataset: {
                model: math.log(cost) for model, (_, cost) in runs.items() if cost is not None
            }
            for dataset, runs in history.items()
        }
        self._past.append({dataset: runs for dataset, runs in past.items() if runs})
        if self._learner is not None:
            self._learner.remember(self._past[-1])

    def introduce(self, study: Study) -> None:
        """Take in what a study says of its dataset and its models."""
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
        self, trial: int, dataset: str, model: str, kind: str, time: float, said: float
    ) -> None:
        """A trial begins; what it costs was said, or not (NaN)."""
        estimate = None if math.isnan(said) else math.log(said)
        expected = self._log(dataset, model)
        self._running[trial] = _Running(dataset, model, kind, time, estimate, expected, expected)

    def drop(self, trial: int) -> None:
        """A trial ended without a score: how long it would have taken is not known."""
        running = self._running.pop(trial)
        if running.overdue and self._learner is not None:
            column = self._learner.columns(running.dataset)[running.model]
            self._learner.forget(running.dataset, column)

    def end(self, trial: int, time: float) -> bool:
        """A trial ended; others that run for longer than expected by now are noted, too.

        Returns whether predictions for other datasets changed.
        """
        running = self._running.pop(trial)
        duration = time - running.start
        changed = False
        if duration > 0.0:  # else times are not reported
            log = _log(duration)
            self._trials, self._level = self._trials + 1, self._level + log
            if self._trials & (self._trials - 1) == 0:  # the level is known twice as well as before
                self._place_all()
            trials, surprises = self._kinds.get(running.kind, (0, 0.0))
            if running.expected is not None:
                self._kinds[running.kind] = trials + 1, surprises + log - running.expected
            # With one kind of device there is nothing to tell apart.
            offset = surprises / (trials + 1) if len(self._kinds) > 1 else 0.0
            changed = self._test(log - offset, running.estimate)
            self._note(running.dataset, running.model, log - offset)
        for other in self._running.values():
            self._note_overdue(other, time)
        return (self._learner is not None and self._learner.settle()) or changed

    def _note_overdue(self, running: "_Running", time: float) -> None:
        elapsed = time - running.start
        if self._learner is None or elapsed <= 0.0:
            return
        if running.assumed is None:
            running.assumed = self._log(running.dataset, running.model)
        if running.assumed is not None and _log(elapsed) > running.assumed:
            running.assumed, running.overdue = _log(2.0 * elapsed), True
            self._note(running.dataset, running.model, running.assumed)

    # -- what is believed

    @property
    def doubts(self) -> bool:
        """Whether costs that were said are to be corrected."""
        return self._correct and (abs(self._bias) > EXACT or self._scatter > 0.0)

    def admit(self, models: Sequence[str]) -> Integers | None:
        """Get to know models; returns their columns, which stay. None before there is learning."""
        if self._learner is None:
            return None
        self._learner.admit(models, self._descriptions)
        columns = self._learner.columns("")
        return np.array([columns[model] for model in models], dtype=np.int64)

    def belief(self, dataset: str) -> CostBelief:
        """What is believed of a dataset's costs now."""
        prior: BlockPrior | None = None
        logs: Logs = _NOTHING
        if self._learner is not None and self._learner.parameters is not None:
            prior, logs = self._learner.block(dataset), self._learner.scores(dataset)
            self._known.believe(prior)
        error = self._scatter / self._tested if self.doubts else None
        order = self._order.get(dataset, 0)
        return CostBelief(dataset, prior, logs, order, self._trials, self._bias, error, self._known)

    def expected(self, dataset: str, models: Sequence[str], said: Vector) -> Vector:
        """The expected costs of models on a dataset; `said` is NaN where nobody said it."""
        columns = self.admit(models)
        return expected_costs([CostQuestion(self.belief(dataset), columns, said)])[0]

    def posterior(self, asked: CostQuery) -> Posterior:
        """The posterior of a dataset's log costs; it is shared, and not to be conditioned on."""
        return self._known.posterior(asked)

    def _place(self, name: str, dataset: str) -> None:
        """Enter the size of a dataset as a log cost that varies about the level of costs."""
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
        """Learn, from what was kept and from now on."""
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

    def _test(self, log: float, estimate: float | None) -> bool:
        """Compare a log duration with what was said; returns whether doubts arise."""
        if estimate is None:
            return False
        known, error = self.doubts, log - estimate
        self._tested += 1
        step = error - self._bias
        self._bias += step / self._tested
        if abs(step) > EXACT:
            self._scatter += step * (error - self._bias)
        if self.doubts and not known:
            self._begin()
            return True
        return False

    def _log(self, dataset: str, model: str) -> float | None:
        """The log cost to be expected, None if nothing is known."""
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
        """The log costs to be expected on a dataset."""
        assert self._learner is not None
        prior, logs = self._learner.block(dataset), self._learner.scores(dataset)
        self._known.believe(prior)
        return self.posterior(CostQuery(dataset, prior, logs)).mean


@dataclass(slots=True)
class _Running:
    dataset: str
    model: str
    kind: str
    start: float
    estimate: float | None  # what was said of its log cost
    expected: float | None  # its log cost, when it began
    assumed: float | None  # the same, by now
    overdue: bool = False  # whether it ran for longer than was expected


def _log(duration: float) -> float:
    return math.log(min(max(duration, SMALLEST_COST), LARGEST))


def checked_history(history: History) -> History:
    """Past runs as given, if every score and cost is a number that can be used."""
    for dataset, runs in history.items():
        for model, (score, cost) in runs.items():
            if not abs(score) <= LARGEST:
                raise InvalidInput(
                    f"the score of model {model!r} on {dataset!r} is {score}; "
                    "a score is a finite number: leave out runs without one"
                )
            if cost is not None and not SMALLEST_COST <= cost <= LARGEST:
                raise InvalidInput(
                    f"the cost of model {model!r} on {dataset!r} is {cost}; "
                    f"a cost is a number from {SMALLEST_COST:g} to {LARGEST:g}, or left out"
                )
    return history


def _as_past(past: PastCosts) -> PastCosts:
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
                    f"a cost is a number from {SMALLEST_COST:g} to {LARGEST:g}"
                )
    return past
