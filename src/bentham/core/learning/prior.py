"""The learned prior: fitted to history at the start, and updated while serving.

LearnedPrior  plain data: history, features of models, switches. Never changes.
Learner       made by every scheduler from a LearnedPrior. Collects scores, fits again at
              points that depend on the number of scores alone, uses each fit a few scores
              later, and is the Prior of the blocks.
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

# The next fit is due when the number of scores has grown by this factor since the last one.
GROWTH = 1.05
# A fit is used when the number of scores has grown by this share since it started, which leaves
# time to compute it elsewhere. With fewer than 50 scores it is used at once.
LEAD = 0.02
_EMPTY: dict[int, float] = {}


class LearnedPrior:
    """A prior of independent datasets; all its parameters are learned, and updated while serving.

    Studies may list models that are not named here; they are added when first listed.

    Args:
        models: Names of the models known at the start; no duplicates. Default: none.
        history: Scores of past studies, (studies, models); NaN where a model was not run.
            Default: none.
        features: Features of the models, (models, features), or (models,) for a single one. If
            given, the descriptions of models in studies are used for costs only. Default: none.
        groups: Group of each feature, (features,), counted from 0 without gaps; the features of a
            group share a length scale. Default: each feature is its own group.
        switches: Pieces to switch on or off: "serving", "warp", "scales", "strengths". Default:
            all on.

    Raises:
        InvalidPrior: A shape, value or switch is invalid; the message names it and what to give.
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
        """Return a new learner that starts from this prior."""
        return Learner(self)

    def describe(self) -> dict[str, Any]:
        """Return the prior as plain data for `prior_from`."""
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
        # Scores by dataset and column. Never changed in place: beliefs refer to them.
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
        # The function that computes fits belongs to the process. The task is saved, not its result.
        return {**self.__dict__, "_result": None, "begin": None}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self.__dict__.update(kept)
        self.begin = when_needed

    @property
    def parameters(self) -> Parameters | None:
        """The current beliefs, which hold for any study; None before the first score."""
        return self._parameters

    # -- the interface of a Prior

    @property
    def models(self) -> tuple[str, ...]:
        """Names of all models, in the order in which they were added."""
        return self._models

    def block_key(self, dataset: str) -> str:
        """Return the dataset: every dataset is its own block."""
        return dataset

    def block(self, key: str) -> BlockPrior:  # noqa: ARG002 - the same for every dataset
        """Return the current prior, which all datasets share."""
        if self._block is None:
            self._block = _block_prior(self._parameters, len(self._columns))
        return self._block

    def columns(self, dataset: str) -> Mapping[str, int]:  # noqa: ARG002
        """Return the columns of all models: every dataset covers every model."""
        return self._columns

    def describe(self) -> dict[str, Any]:
        """Return the prior that it started from, as plain data."""
        return self._prior.describe()

    # -- learning

    def admit(
        self, models: Sequence[str], descriptions: Mapping[str, ModelDescription] | None = None
    ) -> None:
        """Add new models, each predicted from similar models or, without any, as an average one.

        The first description of a model counts, even if it arrives after the model; later ones are
        ignored.
        """
        if descriptions and self._prior.features is None:
            for model in models:
                if model in descriptions:
                    self._descriptions.setdefault(model, descriptions[model])
        # Without duplicates: every model has one column.
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
        """Add a score; returns whether the beliefs changed."""
        self.note(dataset, column, score)
        return self.refit()

    def refit(self) -> bool:
        """Use a started fit and start the next one, if due; returns whether the beliefs changed."""
        changed = self._use_due_fit()
        learning = self._prior.switches.serving or self._parameters is None
        due = self._count >= self._next_fit and self._begun is None
        if not due or not learning:
            return changed
        task = self._task()
        self._begun = _Begun(task, self._count + int(LEAD * self._count))
        self._result = self.begin(task) if self._begun.due > self._count else None
        return self._use_due_fit() or changed

    def _use_due_fit(self) -> bool:
        """Use the fit that was started, if it is due; returns whether it was."""
        if self._begun is None or self._count < self._begun.due:
            return False
        result = self._result or self._begun.task.run
        self._believe(result())
        return True

    def note(self, dataset: str, column: int, score: float) -> None:
        """Add a score for a later fit."""
        self.revise(dataset, column, score)
        self._count += 1

    def revise(self, dataset: str, column: int, score: float) -> None:
        """Set a value that does not count as a new score, such as a correction."""
        self._served[dataset] = {**self._served.get(dataset, {}), column: score}

    def forget(self, dataset: str, column: int) -> None:
        """Remove a score."""
        if dataset in self._served:
            kept = self._served[dataset].items()
            self._served[dataset] = {known: score for known, score in kept if known != column}

    def scores(self, dataset: str) -> Mapping[int, float]:
        """Return the current scores of a dataset by column, in order of arrival."""
        return self._served.get(dataset, _EMPTY)

    def remember(self, history: Mapping[str, Mapping[str, float]]) -> None:
        """Add the scores of past studies and fit at once."""
        self.admit([model for runs in history.values() for model in runs])
        for runs in history.values():
            # In column order, as in a history given at the start.
            known = sorted((self._columns[model], score) for model, score in runs.items())
            self._history.append(
                Observed(
                    np.array([column for column, _ in known], dtype=np.int64),
                    np.array([score for _, score in known], dtype=np.float64),
                )
            )
        self.fit()

    def fit(self) -> None:
        """Fit to all scores so far, and use the fit at once."""
        self._believe(self._task().run())

    def _task(self) -> FitTask:
        """Return a fit to the current scores, from the current beliefs; schedules the next one."""
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
            parameters = self._parameters  # keep the last finite ones
        if parameters is not None and len(parameters.mean) < len(self._columns):
            parameters = self._extended(parameters)  # models were added meanwhile
        self._parameters = parameters
        self._begun = self._result = self._block = None

    def _extended(self, parameters: Parameters) -> Parameters:
        return extended(parameters, len(self._columns), self._kinship())

    def _kinship(self) -> Kinship | None:
        return Kinship.of(self._models, self._descriptions)


class _Begun(NamedTuple):
    """A fit in progress, and the number of scores at which it is used."""

    task: FitTask
    due: int


def _block_prior(parameters: Parameters | None, models: int) -> BlockPrior:
    if parameters is None:  # nothing is known: all arms are equal
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
    """The rows of the identity matrix."""

    models: int

    def __call__(self, column: int) -> Vector:
        """Return one row."""
        unit = np.zeros(self.models)
        unit[column] = 1.0
        return unit


def _widened(features: Features | None, models: int) -> Features | None:
    """Return the features of all models; those added later get the average of the others."""
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
            f"history[{study}, {model}] is {scores[study, model]}; a score must be a number from "
            f"{-LARGEST:g} to {LARGEST:g}, or NaN if it is missing"
        )
    return scores


def _as_features(
    models: tuple[str, ...], features: npt.ArrayLike, groups: Sequence[int] | None
) -> Features:
    array = as_array(features, "features", "model and feature")
    array = array[:, np.newaxis] if array.ndim == 1 else array
    width = array.shape[1] if array.ndim == 2 else 1
    if not models or not width:
        raise InvalidPrior(
            "features are given without models, or are empty; name the models, and give each at "
            "least one feature"
        )
    values = as_numbers(array, (len(models), width), "features", "model and feature")
    group = tuple(range(width)) if groups is None else tuple(groups)
    if len(group) != width or sorted(set(group)) != list(range(len(set(group)))):
        raise InvalidPrior(
            f"groups is {list(group)}; give each of the {width} features the number of its group, "
            "counted from 0 without gaps"
        )
    span = np.ptp(values, axis=0)
    return Features((values - values.min(axis=0)) / np.where(span > 0.0, span, 1.0), group)
