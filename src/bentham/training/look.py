"""A look at a trained model, from its held-out predictions: what its score does not show.

The predictions are collected while the score is computed, by objects that only pass values on.
Everything else is computed after the score, so it cannot change a bit of it.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from bentham.training.building import date_features
from bentham.training.dataset import DATES
from bentham.training.training_plan import TrainingPlan

# Limits on its size.
LARGEST = 16 * 2**10  # in bytes, as JSON
MOST_CLASSES, MOST_THRESHOLDS, MOST_POINTS, MOST_COLUMNS, MOST_UNMEASURED = 20, 50, 150, 30, 10
LONGEST_LABEL = 60
LEVELS = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
# Permutation importance: how many rows and rounds, and how much time in addition to the training.
MOST_ROWS, ROUNDS = 1000, 3
SHARE, LEAST_SECONDS = 0.1, 0.5
Judge = Callable[[Any, Any, Any, Any], tuple[float, dict[str, float]]]
Clock = Callable[[], float]


class Watched:
    """A model that remembers what it predicted; everything else is passed on unchanged."""

    def __init__(self, model: Any):
        self._model, self.seen = model, dict[str, Any]()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._model, name)
        if name not in ("predict", "predict_proba", "decision_function"):
            return found

        def remembered(rows: Any) -> Any:
            self.seen[name] = found(rows)
            return self.seen[name]

        return remembered


class HeldOut:
    """Collects the held-out predictions of a script's folds; `install` it before `evaluate`."""

    def __init__(self, training: TrainingPlan, clock: Clock = time.monotonic):
        self._training, self._clock, self._began = training, clock, clock()
        self._classes: list[str] = []
        self._truths: list[Any] = []
        self._guesses: list[Any] = []
        self._values: list[Any] = []  # of the second of two classes; None where not predicted
        self._last: tuple[Any, Any, Any, Any] | None = None  # of the last fold
        self._judge: Judge | None = None

    def install(self, namespace: dict[str, Any]) -> None:
        """Have the script's `load` and `judge` pass their values through this object."""
        load, judge = namespace["load"], namespace["judge"]

        def loading(path: str) -> Any:
            loaded = load(path)
            self._classes = loaded[2]
            return loaded

        def judging(model: Any, rows: Any, truth: Any, trained: Any) -> Any:
            watched = Watched(model)
            judged = judge(watched, rows, truth, trained)
            self._truths.append(truth)
            self._guesses.append(watched.seen["predict"])
            self._values.append(_second(watched.seen))
            self._last = model, rows, truth, trained
            return judged

        namespace["load"], namespace["judge"] = loading, judging
        self._judge = judge

    def look(self) -> dict[str, Any]:
        """Return the look, as plain data; takes a small share of the time of the training."""
        seconds = max(LEAST_SECONDS, SHARE * (self._clock() - self._began))
        until = self._clock() + seconds
        truth, guess = np.concatenate(self._truths), np.concatenate(self._guesses)
        look: dict[str, Any] = {"rows": len(truth)}
        if self._training.task == "regression":
            look["residuals"] = residuals(truth, guess, self._training.split.seed)
        else:
            look["confusion"] = confusion(truth, guess, self._classes)
            if len(self._classes) == 2:
                look["thresholds"] = self._thresholds()
        if self._judge is not None and self._last is not None:
            look["importance"] = importance(
                self._judge, *self._last, _columns(self._training), self._training.split.seed,
                lambda: self._clock() >= until,
            )  # fmt: skip
        return fitting({name: value for name, value in look.items() if value is not None})

    def _thresholds(self) -> dict[str, Any] | None:
        """Return the curve over all folds; over the last, if the metric needed only classes."""
        assert self._last is not None
        model, rows, truth, _ = self._last
        values = [each for each in self._values if each is not None]
        if len(values) == len(self._truths):
            return thresholds(
                np.concatenate(self._truths), np.concatenate(values), self._classes[1]
            )
        name = "predict_proba" if hasattr(model, "predict_proba") else "decision_function"
        if not hasattr(model, name):
            return None
        found = _second({name: getattr(model, name)(rows)})
        return thresholds(truth, found, self._classes[1])


def _second(seen: Mapping[str, Any]) -> Any:
    """Return what was predicted for the second of two classes; None if nothing was."""
    if "predict_proba" in seen and np.shape(seen["predict_proba"])[1:] == (2,):
        return np.asarray(seen["predict_proba"], dtype=np.float64)[:, 1]
    if "decision_function" in seen and np.ndim(seen["decision_function"]) == 1:
        return np.asarray(seen["decision_function"], dtype=np.float64)
    return None


def _columns(training: TrainingPlan) -> dict[str, list[str]]:
    """Return the columns of the file, each with the features that are made of it."""
    return {
        name: date_features(name) if kind in DATES else [name]
        for name, kind in training.columns.items()
    }


def confusion(truth: Any, guess: Any, classes: Sequence[str]) -> dict[str, Any]:
    """Return how often each class was predicted as each; rare classes of many count as one."""
    count = len(classes)
    kept = np.arange(count)
    if count > MOST_CLASSES:
        frequent = np.argsort(-np.bincount(truth, minlength=count), kind="stable")
        kept = np.sort(frequent[: MOST_CLASSES - 1])
    place = np.full(count, len(kept))
    place[kept] = np.arange(len(kept))
    width = len(kept) + (len(kept) < count)
    counts = np.zeros((width, width), dtype=np.int64)
    np.add.at(counts, (place[truth], place[np.asarray(guess, dtype=np.int64)]), 1)
    return {
        "classes": [_label(classes[each]) for each in kept.tolist()],
        "merged": count - len(kept),
        "counts": counts.tolist(),
    }


def residuals(truth: Any, guess: Any, seed: int) -> dict[str, Any]:
    """Return quantiles of prediction minus truth, and a sample of pairs of the two."""
    guess = np.asarray(guess, dtype=np.float64).reshape(len(truth))
    rows = np.arange(len(truth))
    if len(rows) > MOST_POINTS:
        rows = np.sort(np.random.default_rng(seed).choice(len(rows), MOST_POINTS, replace=False))
    return {
        "quantiles": [
            [level, _short(value)]
            for level, value in zip(LEVELS, np.quantile(guess - truth, LEVELS), strict=True)
        ],
        "sample": [[_short(truth[row]), _short(guess[row])] for row in rows],
    }


def thresholds(truth: Any, values: Any, positive: str) -> dict[str, Any] | None:
    """Return precision, recall and false positive rate for thresholds on the predicted values."""
    flags = np.asarray(truth) == 1
    positives, negatives = int(flags.sum()), int((~flags).sum())
    if not positives or not negatives or not np.isfinite(values).all():
        return None
    distinct = np.unique(values)
    if len(distinct) > MOST_THRESHOLDS:
        # Spread over both classes, since one of them may be rare.
        levels = np.linspace(0.0, 1.0, MOST_THRESHOLDS // 2)
        parts = [np.quantile(values[which], levels, method="lower") for which in (flags, ~flags)]
        distinct = np.unique(np.concatenate(parts))
    points = []
    for threshold in distinct:
        chosen = values >= threshold
        found, wrong = int((chosen & flags).sum()), int((chosen & ~flags).sum())
        figures = (threshold, found / (found + wrong), found / positives, wrong / negatives)
        points.append([_short(each) for each in figures])
    return {"positive": _label(positive), "rows": len(flags), "points": points}


def importance(
    judge: Judge,
    model: Any,
    rows: Any,
    truth: Any,
    trained: Any,
    columns: Mapping[str, Sequence[str]],
    seed: int,
    late: Callable[[], bool],
) -> dict[str, Any] | None:
    """Return how much the score of held-out rows falls when one column is shuffled.

    Each round shuffles every column once. `late` ends it; columns without a round are named.
    """
    random = np.random.default_rng(seed)
    if len(rows) > MOST_ROWS:
        sample = np.sort(random.choice(len(rows), MOST_ROWS, replace=False))
        rows, truth = rows.iloc[sample], truth[sample]
    score, _ = judge(model, rows, truth, trained)
    drops: dict[str, list[float]] = {name: [] for name in columns}
    for name in [name for _ in range(ROUNDS) for name in columns]:
        if late():
            break
        order = random.permutation(len(rows))
        shuffled = rows.copy(deep=False)
        for feature in columns[name]:
            shuffled[feature] = rows[feature].to_numpy()[order]
        drops[name].append(float(score - judge(model, shuffled, truth, trained)[0]))
    measured = sorted(
        (name for name in columns if drops[name]), key=lambda name: -float(np.mean(drops[name]))
    )
    unmeasured = [name for name in columns if not drops[name]]
    return {
        "rows": len(rows),
        "score": _short(score),
        "columns": [
            [_label(name), *(_short(of(drops[name])) for of in (np.mean, min, max))]
            for name in measured[:MOST_COLUMNS]
        ],
        "omitted": len(measured[MOST_COLUMNS:]),
        "unmeasured": [_label(name) for name in unmeasured[:MOST_UNMEASURED]],
        "unmeasured_count": len(unmeasured),
    }


def fitting(look: dict[str, Any]) -> dict[str, Any]:
    """Shorten the list of columns until the look has its largest size: names may be long."""
    found = look.get("importance")
    while len(json.dumps(look)) > LARGEST and found and found["columns"]:
        found["columns"].pop()
        found["omitted"] += 1
    return look


def _short(value: Any) -> float:
    """Return a number with six digits."""
    return float(f"{float(value):.6g}")


def _label(name: str) -> str:
    """Return a name as printable text that is not too long."""
    text = "".join(each if each.isprintable() else "?" for each in name)
    return (text if len(text) <= LONGEST_LABEL else f"{text[: LONGEST_LABEL - 3]}...") or "?"
