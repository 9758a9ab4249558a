"""The learned prior: what a scheduler starts from, and what it keeps learning while serving.

LearnedPrior  plain data: history, features of models, what is switched on. Never changes.
Learner       begun by every scheduler from a LearnedPrior; takes in scores, fits again at
              points that the number of scores alone decides, believes a fit a few scores
              later, and is a Prior to the blocks.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bentham.core.gaussian.prior import BlockPrior, MatrixRows
from bentham.core.gaussian.validation import Matrix, Vector, as_array, as_numbers, unique_names
from bentham.core.learning.data import Observed
from bentham.core.learning.fit import Parameters, Switches, extended
from bentham.core.learning.fit_task import Begin, FitTask, Result, when_needed
from bentham.core.learning.similarity import Kinship
from bentham.core.learning.target import Features
from bentham.core.problem.study import LARGEST, ModelDescription
from bentham.errors import InvalidPrior

# The next fit comes when there are this many times the scores of the last.
GROWTH = 1.05
# A fit is believed when so much of the scores that it was made from has come in addition: time
# enough to compute it elsewhere. With less than fifty scores that is at once.
LEAD = 0.02
_NOTHING: dict[int, float] = {}


class LearnedPrior:
    """Independent datasets that share a mean, a covariance and more, all learned.

    `history` holds scores of past studies, one row each and one column per model, NaN where a
    model was not run; it may be empty. `features` has one row per model; `groups` says which of
    its columns share a length scale (each its own, unless given). Models may be added later, and
    described then; where features are given here, those stand, and descriptions do not count.
    """

    jitter = 0.0

    def __init__(
        self,
        models: Sequence[str] = (),
        history: npt.ArrayLike | None = None,
        features: npt.ArrayLike | None = None,
        groups: Sequence[int] | None = None,
        switches: Mapping[str, bool] | None = None,
    ):
        if models:
            unique_names(models, "model")
        self.models = tuple(models)
        self.history = _as_history(self.models, [] if history is None else history)
        self.features = None if features is None else _as_features(self.models, features, groups)
        try:
            self.switches = Switches(**(switches or {}))
        except TypeError as error:
            raise InvalidPrior(f"unknown switch of the learned prior: {error}") from None

    def learner(self) -> "Learner":
        """A fresh learner."""
        return Learner(self)

    def describe(self) -> dict[str, Any]:
        """The prior as plain data."""
        history = [
            [None if np.isnan(score) else score for score in study]
            for study in self.history.tolist()
        ]
        features = self.features
        return {
            "layout": "learned",
            "models": list(self.models),
            "history": history,
            "features": None if features is None else features.values.tolist(),
            "groups": None if features is None else list(features.group),
            "switches": asdict(self.switches),
        }


class Learner:
    """A prior over any number of datasets that learns from their scores."""

    jitter = 0.0

    def __init__(self, prior: LearnedPrior):
        self._prior = prior
        self._columns = {model: column for column, model in enumerate(prior.models)}
        self._history = [
            Observed(np.flatnonzero(~np.isnan(study)), study[~np.isnan(study)])
            for study in prior.history
        ]
        self._models = prior.models
        self._descriptions: dict[str, ModelDescription] = {}
        # By dataset; never changed in place, so that a belief may keep what it was made from.
        self._served: dict[str, dict[int, float]] = {}
        self._count = 0
        self._next_fit = 1
        self._fits = 0
        self._parameters: Parameters | None = None
        self._block: BlockPrior | None = None
        self._begun: _Begun | None = None
        self._result: Result | None = None
        self.begin: Begin = when_needed
        self.fit()

    def __getstate__(self) -> dict[str, Any]:
        # Who computes fits belongs to the process. The task is kept, and what comes of it is not.
        return {**self.__dict__, "_result": None, "begin": None}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self.__dict__.update(kept)
        self.begin = when_needed

    @property
    def parameters(self) -> Parameters | None:
        """What is believed of any study; None before the first score."""
        return self._parameters

    # -- a Prior

    @property
    def models(self) -> tuple[str, ...]:
        """Every model, in the order in which it became known."""
        return self._models

    def block_key(self, dataset: str) -> str:
        """Every dataset is a block of its own."""
        return dataset

    def block(self, key: str) -> BlockPrior:  # noqa: ARG002 - the same for every dataset
        """What is believed now."""
        if self._block is None:
            self._block = _block_prior(self._parameters, len(self._columns))
        return self._block

    def columns(self, dataset: str) -> Mapping[str, int]:  # noqa: ARG002
        """Every model is known on every dataset."""
        return self._columns

    def describe(self) -> dict[str, Any]:
        """What it began from."""
        return self._prior.describe()

    # -- that learns

    def admit(
        self, models: Sequence[str], descriptions: Mapping[str, ModelDescription] | None = None
    ) -> None:
        """Take in models not known before: each is like its kin, or like the average model.

        A description counts whenever it comes first, and is not changed by another.
        """
        if descriptions and self._prior.features is None:
            for model in models:
                if model in descriptions:
                    self._descriptions.setdefault(model, descriptions[model])
        # Each once, however often it is named: a column is of one model.
        fresh = [model for model in dict.fromkeys(models) if model not in self._columns]
        if not fresh:
            return
        for model in fresh:
            self._columns[model] = len(self._columns)
        self._models = tuple(self._columns)
        self._block = None
        if self._parameters is not None:
            self._parameters = self._extended(self._parameters)

    def observe(self, dataset: str, column: int, score: float) -> bool:
        """Take in a score; returns whether there is something new to believe."""
        self.note(dataset, column, score)
        return self.settle()

    def settle(self) -> bool:
        """Fit if it is time to; returns whether there is something new to believe."""
        news = self._take_over()
        learning = self._prior.switches.serving or self._parameters is None
        due = self._count >= self._next_fit and self._begun is None
        if not due or not learning:
            return news
        task = self._task()
        self._begun = _Begun(task, self._count + int(LEAD * self._count))
        self._result = self.begin(task) if self._begun.due > self._count else None
        return self._take_over() or news

    def _take_over(self) -> bool:
        """Believe the fit that was begun, if it is time to."""
        if self._begun is None or self._count < self._begun.due:
            return False
        result = self._result or self._begun.task.run
        self._believe(result())
        return True

    def note(self, dataset: str, column: int, score: float) -> None:
        """Take in a score for a later fit."""
        self.revise(dataset, column, score)
        self._count += 1

    def revise(self, dataset: str, column: int, score: float) -> None:
        """Take in another value for what is known already, or is no score of its own."""
        self._served[dataset] = {**self._served.get(dataset, {}), column: score}

    def forget(self, dataset: str, column: int) -> None:
        """Take back a score."""
        if dataset in self._served:
            kept = self._served[dataset].items()
            self._served[dataset] = {known: score for known, score in kept if known != column}

    def scores(self, dataset: str) -> Mapping[int, float]:
        """The scores of a dataset, by column, in the order in which they came, as of now."""
        return self._served.get(dataset, _NOTHING)

    def remember(self, history: Mapping[str, Mapping[str, float]]) -> None:
        """Take in the scores of past studies, and believe what they say."""
        self.admit([model for runs in history.values() for model in runs])
        for runs in history.values():
            # In the order of columns, as a history that was there from the start.
            known = sorted((self._columns[model], score) for model, score in runs.items())
            self._history.append(
                Observed(
                    np.array([column for column, _ in known], dtype=np.int64),
                    np.array([score for _, score in known], dtype=np.float64),
                )
            )
        self.fit()

    def fit(self) -> None:
        """Believe at once what all scores so far say."""
        self._believe(self._task().run())

    def _task(self) -> FitTask:
        """A fit to what is known now, from what is believed now; it counts as the latest."""
        self._next_fit = max(self._count + 1, math.ceil(self._count * GROWTH))
        served = [
            Observed(np.array(list(scores), dtype=np.int64), np.array(list(scores.values())))
            for scores in self._served.values()
        ]
        models = len(self._columns)
        turn, self._fits = self._fits, self._fits + 1
        return FitTask(
            self._history + served,
            models,
            self._kinship() or _widened(self._prior.features, models),
            self._parameters,
            self._prior.switches,
            turn,
        )

    def _believe(self, parameters: Parameters | None) -> None:
        if parameters is not None and not parameters.sound:
            parameters = self._parameters  # the last that can be worked with
        if parameters is not None and len(parameters.mean) < len(self._columns):
            parameters = self._extended(parameters)  # some came meanwhile
        self._parameters = parameters
        self._begun = self._result = self._block = None

    def _extended(self, parameters: Parameters) -> Parameters:
        return extended(parameters, len(self._columns), self._kinship())

    def _kinship(self) -> Kinship | None:
        return Kinship.of(self._models, self._descriptions)


class _Begun(NamedTuple):
    """A fit under way, and how many scores there are when it is to be believed."""

    task: FitTask
    due: int


def _block_prior(parameters: Parameters | None, models: int) -> BlockPrior:
    if parameters is None:  # nothing is known: every arm is as good as any other
        return BlockPrior.of(np.zeros(models), np.ones(models), np.arange(models), UnitRows(models))
    covariance, strengths = parameters.covariance, parameters.strengths
    return BlockPrior.of(
        parameters.mean,
        np.diag(covariance).copy(),
        np.arange(models),
        MatrixRows(covariance),
        parameters.warp,
        strengths.freedom,
        strengths.tail,
    )


@dataclass(frozen=True, slots=True)
class UnitRows:
    """The rows of the identity."""

    models: int

    def __call__(self, column: int) -> Vector:
        """One row."""
        unit = np.zeros(self.models)
        unit[column] = 1.0
        return unit


def _widened(features: Features | None, models: int) -> Features | None:
    """Features of all models; one that came later is described by the average of the others."""
    if features is None or len(features.values) == models:
        return features
    average = features.values.mean(axis=0)
    late = np.tile(average, (models - len(features.values), 1))
    return Features(np.vstack([features.values, late]), features.group)


def _as_history(models: tuple[str, ...], history: npt.ArrayLike) -> Matrix:
    scores = as_array(history, "history", "study and model")
    if scores.size == 0:
        return np.zeros((0, len(models)))
    if scores.ndim != 2 or scores.shape[1] != len(models):
        raise InvalidPrior(
            f"history has shape {scores.shape}; expected (studies, {len(models)}), "
            "one row per study and one column per model"
        )
    bad = np.argwhere(~(np.isnan(scores) | (np.abs(scores) <= LARGEST)))
    if len(bad):
        study, model = bad[0]
        raise InvalidPrior(
            f"history[{study}, {model}] is {scores[study, model]}; a score is a number within "
            f"{LARGEST:g}, or missing"
        )
    return scores


def _as_features(
    models: tuple[str, ...], features: npt.ArrayLike, groups: Sequence[int] | None
) -> Features:
    given = as_array(features, "features", "model and feature")
    given = given[:, np.newaxis] if given.ndim == 1 else given
    width = given.shape[1] if given.ndim == 2 else 1
    if not models or not width:
        raise InvalidPrior("features describe models: name the models, and give each a feature")
    values = as_numbers(given, (len(models), width), "features", "model and feature")
    group = tuple(range(width)) if groups is None else tuple(groups)
    if len(group) != width or sorted(set(group)) != list(range(len(set(group)))):
        raise InvalidPrior(
            f"groups is {list(group)}; give each of the {width} features the number of its group, "
            "from 0 on"
        )
    span = np.ptp(values, axis=0)
    return Features((values - values.min(axis=0)) / np.where(span > 0.0, span, 1.0), group)
