"""LightGBM and XGBoost, if they are installed: the extra `boosting` of the package."""

from importlib.util import find_spec

from bentham.training.spaces import AlgorithmSpec, Real, Whole
from bentham.training.zoo import ZOO, both, declared

BOOSTING: tuple[AlgorithmSpec, ...] = (
    declared(
        "lightgbm",
        "LightGBM",
        both("lightgbm", "LGBMClassifier", "LGBMRegressor"),
        {
            "learning_rate": (Real(0.01, 0.5, log=True), 0.1),
            "num_leaves": (Whole(4, 63, log=True), 31),
            "min_child_samples": (Whole(2, 100, log=True), 20),
            "colsample_bytree": (Real(0.3, 1.0), 1.0),
        },
        fixed={
            "n_estimators": 100,
            "n_jobs": 1,
            "deterministic": True,
            "force_col_wise": True,
            "verbose": -1,
        },
        encoding="ordinal",
    ),
    declared(
        "xgboost",
        "XGBoost",
        both("xgboost", "XGBClassifier", "XGBRegressor"),
        {
            "learning_rate": (Real(0.01, 0.5, log=True), 0.3),
            "max_depth": (Whole(2, 10), 6),
            "subsample": (Real(0.4, 1.0), 1.0),
            "reg_lambda": (Real(0.01, 100.0, log=True), 1.0),
        },
        fixed={"n_estimators": 100, "n_jobs": 1, "tree_method": "hist"},
        encoding="ordinal",
    ),
)


def installed() -> tuple[AlgorithmSpec, ...]:
    """Return the zoo and the boosting algorithms whose packages are installed; imports none."""
    available = tuple(spec for spec in BOOSTING if find_spec(spec.name) is not None)
    return ZOO[:2] + available + ZOO[2:]  # they are strong, so they come early
