"""The part of a script that builds the model: a pipeline from preprocessing to estimator."""

from collections.abc import Mapping, Sequence

from bentham.training.parameters import Setting
from bentham.training.spaces import AlgorithmSpec
from bentham.training.training_plan import TrainingPlan

# Approximate limits for one-hot columns: thousands of categories must not use up the memory.
_MOST_COLUMNS, _FEWEST_CATEGORIES, _MOST_CATEGORIES = 2000, 4, 24
# The classes and functions that a script's `build` uses, and their modules.
BUILT_OF = {
    "CalibratedClassifierCV": "sklearn.calibration",
    "ColumnTransformer": "sklearn.compose",
    "OneHotEncoder": "sklearn.preprocessing",
    "OrdinalEncoder": "sklearn.preprocessing",
    "SimpleImputer": "sklearn.impute",
    "StandardScaler": "sklearn.preprocessing",
    "TransformedTargetRegressor": "sklearn.compose",
    "make_pipeline": "sklearn.pipeline",
}


def build_source(
    training: TrainingPlan,
    algorithm: AlgorithmSpec,
    configuration: Mapping[str, Setting],
    estimator: str,
    categories: Sequence[str],
    numbers: Sequence[str],
) -> str:
    """Return the source of a script's `build`; `estimator` is the class's name in the script."""
    calibrate = training.metric == "log-loss" and not algorithm.probabilities
    check_rows = training.task == "classification" and algorithm.rows_per_class > 1
    lines = [
        f"def build({'target' if calibrate or check_rows else '_target'}: np.ndarray) -> Any:",
        '    """Return the untrained model, including the preprocessing of its inputs."""',
    ]
    if check_rows:
        lines += [
            f"    if np.unique(target, return_counts=True)[1].min() < {algorithm.rows_per_class}:",
            "        raise ValueError(",
            f'            "this model needs at least {algorithm.rows_per_class} rows of each '
            'class, and one class has fewer; "',
            '            "merge rare classes, or leave them out"',
            "        )",
        ]
    steps = []
    if numbers:
        impute = 'SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)'
        if algorithm.scaling:
            lines += [
                "    numbers = make_pipeline(",
                f"        {impute},",
                "        StandardScaler(),",
                "    )",
            ]
        else:
            lines.append(f"    numbers = {impute}")
        steps.append('("numbers", numbers, NUMBERS)')
    if categories:
        lines += _encoder(algorithm, len(categories))
        steps.append('("categories", categories, CATEGORIES)')
    lines += [
        "    prepare = ColumnTransformer(",
        "        [",
        *(f"            {step}," for step in steps),
        "        ]",
        "    )",
    ]
    arguments: dict[str, str] = {
        name: literal(value)
        for name, value in {
            **configuration,
            **algorithm.fixed,
            **algorithm.fixed_for.get(training.task, {}),
        }.items()
    }
    if algorithm.seed:
        arguments[algorithm.seed] = "SEED"
    if arguments:
        lines.append(f"    model = {estimator}(")
        lines += [f"        {name}={value}," for name, value in arguments.items()]
        lines.append("    )")
    else:
        lines.append(f"    model = {estimator}()")
    if training.task == "regression" and algorithm.scale_target:
        lines += [
            "    # The model expects a standardized target.",
            "    model = TransformedTargetRegressor(",
            "        model,",
            "        transformer=StandardScaler(),",
            "        check_inverse=False,",
            "    )",
        ]
    if calibrate:
        lines += [
            "    # The model itself predicts no probabilities. They are calibrated on held-out",
            "    # rows, or on all rows if a class has only one.",
            "    folds = min(3, int(np.unique(target, return_counts=True)[1].min()))",
            "    every = np.arange(len(target))",
            "    cv = folds if folds > 1 else [(every, every)]",
            "    pipeline = make_pipeline(prepare, model)",
            "    return CalibratedClassifierCV(pipeline, cv=cv, ensemble=False)",
        ]
    else:
        lines.append("    return make_pipeline(prepare, model)")
    return "\n".join(lines)


def _encoder(algorithm: AlgorithmSpec, count: int) -> list[str]:
    if algorithm.encoding == "ordinal":
        return [
            "    categories = OrdinalEncoder(",
            '        handle_unknown="use_encoded_value",',
            "        unknown_value=-1,",
            "        max_categories=255,",
            "    )",
        ]
    most = min(_MOST_CATEGORIES, max(_FEWEST_CATEGORIES, _MOST_COLUMNS // count))
    return [
        "    # Rare categories share a column, as do categories not seen in training.",
        "    categories = OneHotEncoder(",
        '        handle_unknown="infrequent_if_exist",',
        f"        max_categories={most},",
        "        sparse_output=False,",
        "    )",
    ]


def literal(value: Setting) -> str:
    """Return the value as a Python literal, with double quotes where that needs no escaping."""
    text = repr(value)
    if isinstance(value, str) and text[0] == "'" and "'" not in text[1:-1] and '"' not in text:
        return f'"{text[1:-1]}"'
    return text
