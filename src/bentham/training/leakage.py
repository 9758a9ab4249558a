"""Looks for columns that alone predict another one almost perfectly.

Such a column often holds what is to be predicted in another form, or is known only afterwards. A
model that uses it scores well and is of no use. Only a person can tell, so it is only reported.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from bentham.training.dataset import (
    DATES,
    MOST_PREDICTORS,
    ColumnSummary,
)
from bentham.training.reading import as_categories, as_yes_no, date_parts

MOST_ROWS = 5000  # a sample of this size suffices
ALL_PAIRS = 60  # up to this number of columns, each may be the target
FEW_VALUES = 20  # in a wider table, the likely targets are at its ends, or have few values
MOST_CLASSES, MOST_BINS, ROWS_OF_BIN = 100, 64, 10
RIGHT = 0.98  # fraction of rows predicted rightly, and
FEWER_ERRORS = 0.1  # errors relative to always predicting the commonest class
CORRELATED = 0.999
LEAST_NUMBERS = 3  # distinct; two always lie on a line
TARGET = re.compile(r"(.*[^a-z])?(target|label|class|outcome|y|churn|churned|fraud|default)", re.I)


@dataclass(frozen=True, slots=True)
class Values:
    """A column's numbers and their ranks, and which rows have one."""

    numbers: npt.NDArray[np.float64]
    ranks: npt.NDArray[np.float64]
    known: npt.NDArray[np.bool_]


def sampled(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a table that `predictors` needs."""
    return table if len(table) <= MOST_ROWS else table.sample(MOST_ROWS, random_state=0)


def predictors(
    table: pd.DataFrame, columns: Sequence[ColumnSummary], numbers_of: Mapping[str, pd.Series]
) -> dict[str, list[str]]:
    """Return for each column that may be a target those that alone predict it, the best first.

    `numbers_of` has the numbers of the columns that hold some.
    """
    used = [column for column in columns if column.type != "ignored"]
    targets = used
    if len(used) > ALL_PAIRS:
        ends = {used[0].name, used[-1].name, columns[0].name, columns[-1].name}
        likely = [each for each in used if each.name in ends or TARGET.fullmatch(each.name)]
        few = [each for each in used if each.distinct <= FEW_VALUES and each not in likely]
        targets = [*likely, *few][:ALL_PAIRS]
    read = {
        each.name: numbers_of[each.name]
        if each.type in ("number", "decimal-comma")
        else _numbers(table[each.name], each)
        for each in used
    }
    numbers = {name: None if column is None else _values(column) for name, column in read.items()}
    groups = {
        each.name: _groups(table[each.name], each, read[each.name], numbers[each.name])
        for each in used
    }
    found: dict[str, list[str]] = {}
    for target in targets:
        near = _near(target, table[target.name], numbers, groups)
        best = sorted((name for name in near if near[name] > 0.0), key=lambda name: -near[name])
        if best:
            found[target.name] = best[:MOST_PREDICTORS]
    return found


def _near(
    target: ColumnSummary,
    column: pd.Series,
    numbers: Mapping[str, Values | None],
    groups: Mapping[str, npt.NDArray[np.int64]],
) -> dict[str, float]:
    """Return how well each other column predicts the target; 0 if not almost perfectly."""
    own = numbers[target.name]
    others = [name for name in groups if name != target.name]
    if own is not None and target.distinct > MOST_BINS:
        return {name: _correlation(own, numbers[name]) for name in others}
    if target.type == "yes-no":
        values = as_yes_no(column)
    else:
        values = as_categories(column, target.type == "any-spelling")
    classes, distinct = pd.factorize(values)
    if not 2 <= len(distinct) <= MOST_CLASSES:
        return {}
    return {name: _purity(groups[name], classes, len(distinct)) for name in others}


def _numbers(column: pd.Series, summary: ColumnSummary) -> pd.Series | None:
    if summary.type == "yes-no":
        return as_yes_no(column)
    if summary.type in DATES:
        parts = date_parts(column, summary.type)
        return parts["days"].fillna(0.0).where(parts["days"].notna() | parts["hour"].notna()) + (
            parts["hour"].fillna(0.0) / 24.0
        )
    return None


def _values(column: pd.Series) -> Values | None:
    if column.nunique() < LEAST_NUMBERS:
        return None
    known = column.notna().to_numpy(dtype=np.bool_)
    return Values(
        column.fillna(0.0).to_numpy(dtype=np.float64),
        column.rank().fillna(0.0).to_numpy(dtype=np.float64),
        known,
    )


def _groups(
    column: pd.Series, summary: ColumnSummary, numbers: pd.Series | None, values: Values | None
) -> npt.NDArray[np.int64]:
    """Return the number of each row's group: one per category or range, -1 for missing."""
    if numbers is None:
        texts = as_categories(column, summary.type == "any-spelling")
        return np.asarray(pd.factorize(texts)[0], dtype=np.int64)
    known = int(numbers.notna().sum())
    bins = max(2, min(MOST_BINS, known // ROWS_OF_BIN))
    if values is None or numbers.nunique() <= bins:
        return np.asarray(pd.factorize(numbers)[0], dtype=np.int64)
    ranges = np.ceil(values.ranks * bins / known).astype(np.int64) - 1
    return np.where(values.known, ranges, -1)


def _purity(groups: npt.NDArray[np.int64], classes: npt.NDArray[np.int64], count: int) -> float:
    known = classes >= 0
    groups, classes = groups[known] + 1, classes[known]
    size = int(groups.max(initial=0)) + 1
    if len(classes) == 0 or size > max(2, len(classes) // ROWS_OF_BIN) + 1:
        return 0.0
    table = np.bincount(groups * count + classes, minlength=size * count).reshape(size, count)
    right = float(table.max(axis=1).sum()) / len(classes)
    always = float(table.sum(axis=0).max()) / len(classes)
    if always == 1.0 or right < RIGHT or 1.0 - right > FEWER_ERRORS * (1.0 - always):
        return 0.0
    return right


def _correlation(target: Values | None, other: Values | None) -> float:
    if target is None or other is None:
        return 0.0
    both = target.known & other.known
    if both.sum() < max(ROWS_OF_BIN, 0.5 * target.known.sum()):
        return 0.0
    strength = max(
        _pearson(target.numbers[both], other.numbers[both]),
        _pearson(target.ranks[both], other.ranks[both]),
    )
    return strength if strength >= CORRELATED else 0.0


def _pearson(first: npt.NDArray[np.float64], second: npt.NDArray[np.float64]) -> float:
    first, second = first - first.mean(), second - second.mean()
    scale = float(np.sqrt((first @ first) * (second @ second)))
    return abs(float(first @ second)) / scale if scale > 0.0 else 0.0
