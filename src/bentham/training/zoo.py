"""The algorithms that come with Bentham, all of them scikit-learn's.

Declarations only: nothing here imports what it names. Most defaults are scikit-learn's own. Limits
on the work (trees, iterations) are such that no trial on 20,000 rows takes minutes. If a study
requests fewer candidates than there are algorithms, the defaults are tried in this order.
"""

from collections.abc import Mapping
from typing import Any

from bentham.training.parameters import Setting
from bentham.training.spaces import AlgorithmSpec, Choice, Parameter, Real, Whole
from bentham.training.training_plan import Task

# A parameter's space, and its default.
Varied = tuple[Parameter, Setting]


def declared(
    name: str,
    title: str,
    estimators: Mapping[Task, str],
    varied: Mapping[str, Varied],
    **options: Any,
) -> AlgorithmSpec:
    """Return an algorithm; `varied` maps each parameter to its space and its default."""
    return AlgorithmSpec(
        name=name,
        title=title,
        estimators=estimators,
        parameters={each: space for each, (space, _) in varied.items()},
        defaults={each: default for each, (_, default) in varied.items()},
        **options,
    )


def both(module: str, classifier: str, regressor: str) -> dict[Task, str]:
    """Return two classes of one module, one for each task."""
    return {
        "classification": f"{module}:{classifier}",
        "regression": f"{module}:{regressor}",
    }


def _classifier(path: str) -> dict[Task, str]:
    return {"classification": path}


def _regressor(path: str) -> dict[Task, str]:
    return {"regression": path}


_FOREST: dict[str, Varied] = {
    "n_estimators": (Whole(50, 200, log=True), 100),
    "max_features": (Real(0.05, 1.0, log=True), 0.3),
    "min_samples_leaf": (Whole(1, 20, log=True), 1),
}

ZOO: tuple[AlgorithmSpec, ...] = (
    declared(
        "random-forest",
        "Random forest",
        both("sklearn.ensemble", "RandomForestClassifier", "RandomForestRegressor"),
        _FOREST,
        encoding="ordinal",
    ),
    declared(
        "gradient-boosting",
        "Histogram-based gradient boosting",
        both("sklearn.ensemble", "HistGradientBoostingClassifier", "HistGradientBoostingRegressor"),
        {
            "learning_rate": (Real(0.01, 0.5, log=True), 0.1),
            "max_leaf_nodes": (Whole(4, 63, log=True), 31),
            "min_samples_leaf": (Whole(2, 100, log=True), 20),
            "l2_regularization": (Real(0.0001, 10.0, log=True), 0.0001),
        },
        fixed={"max_iter": 100, "early_stopping": False},
        encoding="ordinal",
    ),
    declared(
        "logistic-regression",
        "Logistic regression",
        _classifier("sklearn.linear_model:LogisticRegression"),
        {
            "C": (Real(0.001, 1000.0, log=True), 1.0),
            "class_weight": (Choice((None, "balanced")), None),
        },
        fixed={"max_iter": 300},
        seed="",
        scaling=True,
    ),
    declared(
        "ridge",
        "Ridge regression or classification",
        both("sklearn.linear_model", "RidgeClassifier", "Ridge"),
        {"alpha": (Real(0.001, 10000.0, log=True), 1.0)},
        seed="",
        scaling=True,
        probabilities=False,
    ),
    declared(
        "svm",
        "Support vector machine with a Gaussian kernel",
        both("sklearn.svm", "SVC", "SVR"),
        {
            "C": (Real(0.03, 30.0, log=True), 1.0),
            "gamma": (Choice(("scale", 0.001, 0.01, 0.1)), "scale"),
        },
        fixed={"max_iter": 30_000},
        seed="",
        scaling=True,
        scale_target=True,
        probabilities=False,
    ),
    declared(
        "nearest-neighbours",
        "Nearest neighbours",
        both("sklearn.neighbors", "KNeighborsClassifier", "KNeighborsRegressor"),
        {
            "n_neighbors": (Whole(1, 50, log=True), 5),
            "weights": (Choice(("uniform", "distance")), "uniform"),
            "p": (Choice((1, 2), ordered=True), 2),
        },
        seed="",
        scaling=True,
    ),
    declared(
        "extra-trees",
        "Extremely randomised trees",
        both("sklearn.ensemble", "ExtraTreesClassifier", "ExtraTreesRegressor"),
        _FOREST,
        encoding="ordinal",
    ),
    declared(
        "neural-network",
        "Neural network with one hidden layer",
        both("sklearn.neural_network", "MLPClassifier", "MLPRegressor"),
        {
            "hidden_layer_sizes": (Whole(16, 200, log=True), 100),
            "alpha": (Real(0.00001, 1.0, log=True), 0.0001),
            "learning_rate_init": (Real(0.0003, 0.03, log=True), 0.001),
        },
        fixed={"max_iter": 100},
        scaling=True,
        scale_target=True,
    ),
    declared(
        "gaussian-naive-bayes",
        "Gaussian naive Bayes",
        _classifier("sklearn.naive_bayes:GaussianNB"),
        # Scikit-learn's own default, 1e-9, fails on columns that hardly vary.
        {"var_smoothing": (Real(1e-9, 1.0, log=True), 0.1)},
        seed="",
        scaling=True,
    ),
    declared(
        "elastic-net",
        "Elastic net",
        _regressor("sklearn.linear_model:ElasticNet"),
        {
            "alpha": (Real(0.0001, 1.0, log=True), 0.01),
            "l1_ratio": (Real(0.05, 0.95), 0.5),
        },
        seed="",
        scaling=True,
        scale_target=True,
    ),
    declared(
        "linear-discriminant",
        "Linear discriminant analysis",
        _classifier("sklearn.discriminant_analysis:LinearDiscriminantAnalysis"),
        {"shrinkage": (Real(0.001, 1.0, log=True), 0.01)},
        fixed={"solver": "lsqr"},
        seed="",
        scaling=True,
    ),
    declared(
        "lasso",
        "Lasso",
        _regressor("sklearn.linear_model:Lasso"),
        {"alpha": (Real(0.0001, 1.0, log=True), 0.01)},
        seed="",
        scaling=True,
        scale_target=True,
    ),
    declared(
        "quadratic-discriminant",
        "Quadratic discriminant analysis",
        _classifier("sklearn.discriminant_analysis:QuadraticDiscriminantAnalysis"),
        {"shrinkage": (Real(0.001, 1.0, log=True), 0.1)},
        fixed={"solver": "eigen"},  # the other solver rejects classes with fewer rows than columns
        rows_per_class=2,
        seed="",
        scaling=True,
    ),
    declared(
        "bayesian-ridge",
        "Bayesian ridge regression",
        _regressor("sklearn.linear_model:BayesianRidge"),
        {},  # it learns how much to shrink; its other parameters hardly matter
        seed="",
        scaling=True,
        scale_target=True,
    ),
    declared(
        "linear-svm",
        "Linear support vector machine",
        both("sklearn.svm", "LinearSVC", "LinearSVR"),
        {"C": (Real(0.001, 30.0, log=True), 1.0)},
        fixed={"max_iter": 1000},
        scaling=True,
        scale_target=True,
        probabilities=False,
    ),
    declared(
        "huber",
        "Huber's robust regression",
        _regressor("sklearn.linear_model:HuberRegressor"),
        {
            "epsilon": (Real(1.05, 3.0), 1.35),
            "alpha": (Real(0.00001, 10.0, log=True), 0.0001),
        },
        fixed={"max_iter": 300},
        seed="",
        scaling=True,
        scale_target=True,
    ),
    declared(
        "stochastic-gradient",
        "Linear model trained by stochastic gradient descent",
        both("sklearn.linear_model", "SGDClassifier", "SGDRegressor"),
        {
            "alpha": (Real(0.000001, 0.1, log=True), 0.0001),
            "penalty": (Choice(("l2", "elasticnet", "l1"), ordered=True), "l2"),
        },
        fixed={"average": True},
        fixed_for={"classification": {"loss": "log_loss"}},
        scaling=True,
        scale_target=True,
    ),
    declared(
        "adaboost",
        "AdaBoost with small trees",
        both("sklearn.ensemble", "AdaBoostClassifier", "AdaBoostRegressor"),
        {
            "n_estimators": (Whole(25, 200, log=True), 50),
            "learning_rate": (Real(0.05, 2.0, log=True), 1.0),
        },
        encoding="ordinal",
    ),
    declared(
        "bagging",
        "Bagged decision trees",
        both("sklearn.ensemble", "BaggingClassifier", "BaggingRegressor"),
        {
            "n_estimators": (Whole(10, 50, log=True), 20),
            "max_samples": (Real(0.2, 1.0), 1.0),
            "max_features": (Real(0.2, 1.0), 1.0),
        },
        encoding="ordinal",
    ),
    declared(
        "decision-tree",
        "Decision tree",
        both("sklearn.tree", "DecisionTreeClassifier", "DecisionTreeRegressor"),
        {
            "max_depth": (Whole(2, 32, log=True), 32),
            "min_samples_leaf": (Whole(1, 50, log=True), 1),
            "splitter": (Choice(("best", "random")), "best"),
        },
        encoding="ordinal",
    ),
)
