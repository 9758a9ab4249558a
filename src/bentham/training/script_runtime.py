"""The part of every script besides the model: load and split data, evaluate predictions.

`script` copies the sources of these functions, and sets the constants to the values of a study. So
they use only pandas, numpy and scikit-learn, and no other function of Bentham.
"""

import argparse
import hashlib
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    f1_score,
    log_loss,
    matthews_corrcoef,
    mean_absolute_error,
    median_absolute_error,
    r2_score,
    recall_score,
    roc_auc_score,
    root_mean_squared_error,
)
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split
from threadpoolctl import threadpool_limits

from bentham.training.reading import as_categories, as_numbers, as_yes_no, read_table

# Each script sets its own values.
DELIMITER: str | None = None
SHA256 = ""
TARGET = ""
DECIMAL_COMMA = False  # in the target
POSITIVE: str | None = None
COLUMNS: dict[str, str] = {}
METRIC = ""
FOLDS = 2
SHARE = 0.5
SEED = 0
RECORDED: float | None = None


def build(_target: np.ndarray) -> Any:
    """Build the model; each script has its own."""
    raise NotImplementedError


def features(_table: pd.DataFrame) -> pd.DataFrame:
    """Return the columns to learn from; each script has its own."""
    raise NotImplementedError


def load_classes(path: str) -> tuple[pd.DataFrame, np.ndarray, list[str]]:
    """Return features, class numbers and class names; rows without a target are left out."""
    table = read_table(path, DELIMITER)
    target = as_categories(table[TARGET])
    known = target.notna()
    classes = sorted(set(target[known]), key=lambda name: (name == POSITIVE, name))
    numbers = {name: number for number, name in enumerate(classes)}
    codes = np.array([numbers[name] for name in target[known]], dtype=np.int64)
    return features(table[known]), codes, classes


def load_spellings(path: str) -> tuple[pd.DataFrame, np.ndarray, list[str]]:
    """Return features, class numbers and class names; spellings of a class count as one.

    Each class has the name of its most frequent spelling. Rows without a target are left out.
    """
    table = read_table(path, DELIMITER)
    texts = as_categories(table[TARGET])
    target = merged(table[TARGET])
    known = target.notna()
    names = texts[known].groupby(target[known]).agg(lambda group: group.mode().iloc[0])
    classes = sorted(names, key=lambda name: (name == POSITIVE, name))
    numbers = {key: classes.index(name) for key, name in names.items()}
    codes = np.array([numbers[key] for key in target[known]], dtype=np.int64)
    return features(table[known]), codes, classes


def load_yes_no(path: str) -> tuple[pd.DataFrame, np.ndarray, list[str]]:
    """Return features, class numbers and class names; rows that say neither are left out."""
    table = read_table(path, DELIMITER)
    target = as_yes_no(table[TARGET])
    known = target.notna()
    return features(table[known]), target[known].to_numpy(dtype=np.int64), ["no", "yes"]


def merged(_target: pd.Series) -> pd.Series:
    """Return one text for all spellings of a class; each script has its own."""
    raise NotImplementedError


def load_numbers(path: str) -> tuple[pd.DataFrame, np.ndarray, list[str]]:
    """Return features and target, and no classes; rows without a target are left out."""
    table = read_table(path, DELIMITER)
    target = as_numbers(table[TARGET], DECIMAL_COMMA)
    known = target.notna()
    return features(table[known]), target[known].to_numpy(), []


def split_stratified_folds(target: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the training rows and the held-out rows of each fold."""
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=SEED)
    return list(folds.split(np.zeros(len(target)), target))


def split_folds(target: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the training rows and the held-out rows of each fold."""
    return list(KFold(FOLDS, shuffle=True, random_state=SEED).split(target))


def split_stratified_holdout(target: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the training rows and the held-out rows of a single split."""
    rows = np.arange(len(target))
    training, held = train_test_split(rows, test_size=SHARE, stratify=target, random_state=SEED)
    return [(training, held)]


def split_holdout(target: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the training rows and the held-out rows of a single split."""
    rows = np.arange(len(target))
    training, held = train_test_split(rows, test_size=SHARE, random_state=SEED)
    return [(training, held)]


def judge_labels(
    model: Any, rows: pd.DataFrame, truth: np.ndarray, _trained: np.ndarray
) -> tuple[float, dict[str, float]]:
    """Return the score on held-out rows, and all metrics."""
    metrics = label_metrics(model, rows, truth)
    return metrics[METRIC], metrics


def judge_ranks(
    model: Any, rows: pd.DataFrame, truth: np.ndarray, _trained: np.ndarray
) -> tuple[float, dict[str, float]]:
    """Return the score on held-out rows, and all metrics."""
    metrics = label_metrics(model, rows, truth)
    metrics[METRIC] = rank_metric(model, rows, truth)
    return metrics[METRIC], metrics


def judge_probabilities(
    model: Any, rows: pd.DataFrame, truth: np.ndarray, trained: np.ndarray
) -> tuple[float, dict[str, float]]:
    """Return the score on held-out rows, and all metrics; the class frequencies score 0."""
    metrics = label_metrics(model, rows, truth)
    labels, counts = np.unique(trained, return_counts=True)
    if not np.isin(truth, labels).all():
        raise ValueError("a held-out class is not in the training rows: log-loss is undefined")
    probabilities = np.asarray(model.predict_proba(rows), dtype=np.float64)
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    metrics[METRIC] = log_loss(truth, probabilities, labels=labels)
    shares = np.tile(counts / counts.sum(), (len(truth), 1))
    return compared(metrics[METRIC], log_loss(truth, shares, labels=labels)), metrics


def label_metrics(model: Any, rows: pd.DataFrame, truth: np.ndarray) -> dict[str, float]:
    """Return the metrics of the predicted classes of these rows."""
    guess = model.predict(rows)
    return {
        "accuracy": accuracy_score(truth, guess),
        "balanced-accuracy": recall_score(truth, guess, labels=np.unique(truth), average="macro"),
        "f1-macro": f1_score(truth, guess, average="macro"),
        "matthews": matthews_corrcoef(truth, guess),
    }


def rank_metric(model: Any, rows: pd.DataFrame, truth: np.ndarray) -> float:
    """Return ROC AUC or average precision: of the second of two classes, or the mean over all."""
    judge = roc_auc_score if METRIC == "roc-auc" else average_precision_score
    if hasattr(model, "predict_proba"):
        values = model.predict_proba(rows)
    else:
        values = model.decision_function(rows)
        if values.ndim == 1:
            values = np.column_stack([-values, values])
    labels = list(model.classes_)
    chosen = labels[-1:] if len(labels) == 2 else labels
    # Skip a class that has all or none of the held-out rows: its metric is undefined.
    chosen = [each for each in chosen if 0 < np.sum(truth == each) < len(truth)]
    if not chosen:
        raise ValueError("only one class was held out; hold out more rows, or use another metric")
    return float(np.mean([judge(truth == each, values[:, labels.index(each)]) for each in chosen]))


def judge_numbers(
    model: Any, rows: pd.DataFrame, truth: np.ndarray, trained: np.ndarray
) -> tuple[float, dict[str, float]]:
    """Return the score on held-out rows, and all metrics; a constant prediction scores 0."""
    guess = np.asarray(model.predict(rows), dtype=np.float64)
    losses = {
        "rmse": root_mean_squared_error,
        "mae": mean_absolute_error,
        "median-absolute-error": median_absolute_error,
    }
    metrics = {name: loss(truth, guess) for name, loss in losses.items()}
    metrics["r2"] = r2_score(truth, guess)
    if METRIC == "r2":
        return max(metrics["r2"], -1.0), metrics
    constant = np.mean(trained) if METRIC == "rmse" else np.median(trained)
    of_constant = losses[METRIC](truth, np.full(len(truth), constant))
    return compared(metrics[METRIC], of_constant), metrics


# A script has one function for each of these names.
load, split, judge = load_numbers, split_folds, judge_numbers


def compared(loss: float, of_constant: float) -> float:
    """Return a loss as a score: 1 is no loss, 0 the loss of a constant prediction; at least -1."""
    if of_constant == 0.0:
        return 0.0 if loss == 0.0 else -1.0
    return max(1.0 - loss / of_constant, -1.0)


def evaluate(
    path: str, report: Callable[[float, list[float]], None]
) -> tuple[float, dict[str, float], list[float]]:
    """Return the mean score, the means of all metrics, and the score of each fold.

    After each fold `report` is called with the completed fraction and the scores so far.
    """
    table, target, _ = load(path)
    scores: list[float] = []
    figures: list[dict[str, float]] = []
    # One thread: the order of sums is fixed, so the score is the same to the last digit.
    with threadpool_limits(limits=1):
        folds = split(target)
        for training, held in folds:
            model = build(target[training])
            model.fit(table.iloc[training], target[training])
            score, metrics = judge(model, table.iloc[held], target[held], target[training])
            if not np.isfinite(score):
                raise ValueError(f"the score is {score}: the predictions are not finite numbers")
            scores.append(float(score))
            figures.append(metrics)
            report(len(scores) / len(folds), list(scores))
    means = {name: float(np.mean([each[name] for each in figures])) for name in figures[0]}
    return float(np.mean(scores)), means, scores


def fit(path: str) -> tuple[Any, list[str]]:
    """Return the model trained on all rows, and the names of the class numbers it predicts."""
    table, target, classes = load(path)
    with threadpool_limits(limits=1):
        return build(target).fit(table, target), classes


def read_rows(path: str) -> pd.DataFrame:
    """Return the rows of a file to predict; raise ValueError if they lack a column."""
    parquet = path.lower().endswith((".parquet", ".pq"))
    delimiter = None if parquet else DELIMITER or ","
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always", pd.errors.ParserWarning)
            table = read_table(path, delimiter)
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror or error})") from None
    except Exception as error:
        reason = " ".join(str(error).split())[:300]
        raise ValueError(f"{path} cannot be read as a table ({reason})") from None
    lacking = [name for name in COLUMNS if name not in table]
    if lacking:
        names = ", ".join(map(repr, lacking[:20])) + (", ..." if len(lacking) > 20 else "")
        several = "s" if len(lacking) > 1 else ""
        hint = f"; its columns must be separated by {delimiter!r}" if table.shape[1] == 1 else ""
        raise ValueError(f"{path} lacks the column{several} {names}, which the model needs{hint}")
    if any(issubclass(each.category, pd.errors.ParserWarning) for each in warned):
        raise ValueError(
            f"{path} cannot be read as a table (its lines have more values than names)"
        )
    return table


def unread(table: pd.DataFrame) -> list[str]:
    """Return a message for each column with values that cannot be read, and so count as missing."""
    found = []
    rows = features(table)
    for name, kind in COLUMNS.items():
        if kind in ("category", "any-spelling"):
            continue
        dates = kind in ("date", "day-first", "month-first")
        parts = [f"{name} (days)", f"{name} (hour)"] if dates else [name]
        lost = table[name].notna() & rows[parts].isna().all(axis=1)
        if lost.any():
            what = "dates" if dates else "yes or no" if kind == "yes-no" else "numbers"
            found.append(
                f"{name!r}: {lost.sum():,} of {len(table):,} values are not {what}, such as "
                f"{str(table[name][lost].iloc[0])[:40]!r}, and count as missing"
            )
    return found


def predict(
    model: Any, classes: list[str], table: pd.DataFrame, kept: Sequence[str] = ()
) -> pd.DataFrame:
    """Return the `kept` columns of the rows, predictions, and the probability of each class."""
    columns: dict[str, Any] = {name: table[name] for name in kept}
    rows = features(table)
    names = [classes[number] for number in model.classes_] if classes else []
    shares = np.empty((len(table), len(names)))
    with threadpool_limits(limits=1):
        guess = model.predict(rows) if len(table) else []
        likely = bool(names) and hasattr(model, "predict_proba")
        if likely and len(table):
            shares = model.predict_proba(rows)
    new: dict[str, Any] = {
        "prediction": [classes[number] if classes else float(number) for number in guess]
    }
    if likely:
        new |= {f"probability of {name}": shares[:, at] for at, name in enumerate(names)}
    for name in new:
        if name in columns:
            raise ValueError(f"there is a column {name!r} already; rename it, or do not keep it")
    return pd.DataFrame({**columns, **new}, index=table.index)


def predict_file(model: Any, classes: list[str], path: str, options: argparse.Namespace) -> None:
    """Predict the rows of a file, and write them as CSV; raise ValueError if that fails."""
    table = read_rows(path)
    absent = [name for name in options.id if name not in table]
    if absent:
        raise ValueError(f"{path} lacks the column {absent[0]!r}, which is to be kept")
    kept = list(table.columns) if options.keep else list(dict.fromkeys(options.id))
    ignored = [name for name in table if name not in {*COLUMNS, TARGET, *kept}]
    if ignored:
        names = ", ".join(map(repr, ignored[:20])) + (", ..." if len(ignored) > 20 else "")
        print(f"Ignored, since the model does not use them: {names}", file=sys.stderr)
    for text in unread(table):
        print(text, file=sys.stderr)
    predicted = predict(model, classes, table, kept)
    try:
        predicted.to_csv(options.out or sys.stdout, index=False)
        sys.stdout.flush()
    except BrokenPipeError:  # a reader such as head has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        raise ValueError(f"{options.out} cannot be written ({error.strerror or error})") from None


def add_prediction_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for what is written, and where."""
    parser.add_argument("--out", metavar="FILE", help="write the predictions to this CSV file")
    parser.add_argument(
        "--id", metavar="COLUMN", action="append", default=[],
        help="write this column of the rows, too; can be repeated",
    )  # fmt: skip
    parser.add_argument("--keep", action="store_true", help="write all columns of the rows, too")


def main() -> int:
    """Evaluate the model and compare with the recorded score, or predict rows of another file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", help="the data file of the study")
    parser.add_argument("--predict", metavar="FILE", help="predict the rows of this file instead")
    add_prediction_options(parser)
    options = parser.parse_args()
    if hashlib.sha256(Path(options.data).read_bytes()).hexdigest() != SHA256:
        print(
            f"{options.data} is not the data file of the study: its SHA-256 is different. ",
            end="",
            file=sys.stderr,
        )
        if not options.predict:
            print("The score would be different; pass the original file.", file=sys.stderr)
            return 1
        print("The model is trained on it anyway.", file=sys.stderr)
    if options.predict:
        try:
            read_rows(options.predict)  # before the model is trained
            predict_file(*fit(options.data), options.predict, options)
        except ValueError as error:
            print(error, file=sys.stderr)
            return 1
        return 0
    score, metrics, _ = evaluate(
        options.data, lambda _, scores: print(f"fold {len(scores)}: {scores[-1]:.6f}")
    )
    for name, value in metrics.items():
        print(f"{name}: {value:.6g}")
    print(f"score: {score!r}")
    if RECORDED is None:
        return 0
    if abs(score - RECORDED) <= 1e-9:
        print("This is the recorded score.")
        return 0
    print(f"The recorded score is {RECORDED!r}: different library versions may be the reason.")
    return 1
