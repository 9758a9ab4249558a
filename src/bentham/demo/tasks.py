"""The studies of the demo: real data that comes with scikit-learn, and meaningful tasks on it.

No target leaks into the input columns. Random choices, such as which values are missing, depend on
the seed only.
"""

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bentham.training.sources import TARGET, fetch

if TYPE_CHECKING:
    import pandas as pd

MISSING = 0.2


@dataclass(frozen=True, slots=True)
class DemoTask:
    """A tenant's study: the file to upload, the column to predict, and the metric."""

    tenant: str
    study: str
    metric: str
    file: str
    target: str
    content: bytes


def demo_tasks(seed: int) -> list[DemoTask]:
    """Return all tasks; those that train quickly come first."""
    cancer, wine, iris = _table("breast_cancer"), _table("wine"), _table("iris")
    digits, diabetes = _table("digits"), _table("diabetes")
    return [
        _task("herbarium", "iris", "accuracy", "flowers.csv", iris),
        _task("herbarium", "sepals alone", "f1-macro", "sepals.csv", _sepals_alone(iris)),
        _task("herbarium", "petal width", "rmse", "flowers.csv", iris, "petal width (cm)"),
        _task("winery", "cultivar", "accuracy", "wines.csv", wine),
        _task("winery", "alcohol", "rmse", "wines.csv", wine, "alcohol"),
        _task("winery", "colour", "mae", "wines.csv", wine, "color_intensity"),
        _task("diabetology", "progression", "rmse", "patients.csv", diabetes),
        _task("diabetology", "above median", "roc-auc", "median.csv", _above_median(diabetes)),
        _task("oncology", "breast cancer", "roc-auc", "cells.csv", cancer),
        _task("oncology", "a fifth missing", "roc-auc", "holes.csv", _with_holes(cancer, seed)),
        _task("oncology", "means alone", "matthews", "means.csv", _means_alone(cancer)),
        _task("post-office", "digits", "accuracy", "digits.csv", digits),
        _task("post-office", "odd or even", "accuracy", "parity.csv", _odd_or_even(digits)),
        _task("post-office", "3 against 8", "accuracy", "threes.csv", _three_or_eight(digits)),
    ]


def _task(
    tenant: str,
    study: str,
    metric: str,
    file: str,
    table: "pd.DataFrame",
    target: str = TARGET,
) -> DemoTask:
    text = io.StringIO(newline="")
    table.to_csv(text, index=False, lineterminator="\n")
    return DemoTask(tenant, study, metric, file, target, text.getvalue().encode())


def _table(name: str) -> "pd.DataFrame":
    import pandas as pd

    return pd.read_csv(io.BytesIO(fetch(f"sklearn:{name}").content))


def _odd_or_even(digits: "pd.DataFrame") -> "pd.DataFrame":
    return digits.assign(**{TARGET: np.where(digits[TARGET] % 2 == 1, "odd", "even")})


def _three_or_eight(digits: "pd.DataFrame") -> "pd.DataFrame":
    return digits[digits[TARGET].isin([3, 8])]


def _means_alone(cancer: "pd.DataFrame") -> "pd.DataFrame":
    return cancer[[name for name in cancer.columns if name.startswith("mean ")] + [TARGET]]


def _above_median(diabetes: "pd.DataFrame") -> "pd.DataFrame":
    above = diabetes[TARGET] > diabetes[TARGET].median()
    return diabetes.assign(**{TARGET: np.where(above, "above", "not above")})


def _sepals_alone(iris: "pd.DataFrame") -> "pd.DataFrame":
    return iris[[name for name in iris.columns if name.startswith("sepal")] + [TARGET]]


def _with_holes(table: "pd.DataFrame", seed: int) -> "pd.DataFrame":
    """Return the table with a fifth of its values missing, but none of the target's."""
    hidden = np.random.default_rng(seed).random(table.shape) < MISSING
    hidden[:, list(table.columns).index(TARGET)] = False
    return table.mask(hidden)
