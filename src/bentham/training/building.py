"""The part of a script that builds the model: a pipeline, from preparation to estimator."""

from collections.abc import Mapping, Sequence

from bentham.training.parameters import Setting
from bentham.training.spaces import AlgorithmSpec
from bentham.training.training_plan import TrainingPlan

# One-hot columns in all, as near as can be: thousands of categories must not fill the memory.
_MOST_COLUMNS, _FEWEST_CATEGORIES, _MOST_CATEGORIES = 2000, 4, 24
# What the model is built of; the module that each comes from.
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
    """The function `build` of a script; `estimator` is the name that the class has there."""
    calibrated = training.metric == "log-loss" and not algorithm.probabilities
    counted = training.task == "classification" and algorithm.rows_per_class > 1
    lines = [
        f"def build({'target' if calibrated or counted else '_target'}: np.ndarray) -> Any:",
        '    """The model, with all that prepares its inputs; not trained yet."""',
    ]
    if counted:
        lines += [
            f"    if np.unique(target, return_counts=True)[1].min() < {algorithm.rows_per_class}:",
            "        raise ValueError(",
            f'            "this model learns from at least {algorithm.rows_per_class} rows of each '
            'class, and one has fewer; "',
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
            "    # It expects a target of about unit size.",
            "    model = TransformedTargetRegressor(",
            "        model,",
            "        transformer=StandardScaler(),",
            "        check_inverse=False,",
            "    )",
        ]
    if calibrated:
        lines += [
            "    # It gives no probabilities by itself. They are learned of rows held out; where",
            "    # a class has one row only, of all rows.",
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
        "    # The rarer ones of many share a column; so do those not seen in training.",
        "    categories = OneHotEncoder(",
        '        handle_unknown="infrequent_if_exist",',
        f"        max_categories={most},",
        "        sparse_output=False,",
        "    )",
    ]


def literal(value: Setting) -> str:
    """The value as Python writes it, with double quotes where that takes no escaping."""
    text = repr(value)
    if isinstance(value, str) and text[0] == "'" and "'" not in text[1:-1] and '"' not in text:
        return f'"{text[1:-1]}"'
    return text
