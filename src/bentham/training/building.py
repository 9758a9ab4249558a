"""The part of a script that builds the model: a pipeline from preprocessing to estimator."""

from collections.abc import Mapping, Sequence

from bentham.training.dataset import CATEGORIES, DATE_PARTS, DATES, NUMERIC, ColumnType
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
# Types of a target whose classes may be spelled in several ways.
MERGED: tuple[ColumnType, ...] = ("any-spelling", "yes-no")


def number_features(training: TrainingPlan) -> list[str]:
    """Return the names of the features that are numbers; of a date, its parts."""
    names: list[str] = []
    for name, kind in training.columns.items():
        if kind in NUMERIC:
            names.append(name)
        elif kind in DATES:
            names += date_features(name)
    return names


def date_features(name: str) -> list[str]:
    """Return the names of the features that a column of dates becomes."""
    return [f"{name} ({part})" for part in DATE_PARTS]


def category_features(training: TrainingPlan) -> list[str]:
    """Return the names of the features that are one of a few values."""
    return [name for name, kind in training.columns.items() if kind in CATEGORIES]


def features_source(training: TrainingPlan) -> str:
    """Return the source of a script's `features`, for the types of columns that there are."""
    found = set(training.columns.values())
    branches: list[tuple[str, list[str]]] = []
    if found & {"number", "decimal-comma"}:
        comma = ', kind == "decimal-comma"' if "decimal-comma" in found else ""
        kinds = '("number", "decimal-comma")'
        branches.append((f"kind in {kinds}", [f"columns[name] = as_numbers(table[name]{comma})"]))
    if "yes-no" in found:
        branches.append(('kind == "yes-no"', ["columns[name] = as_yes_no(table[name])"]))
    if found & set(DATES):
        read = [
            "for part, values in date_parts(table[name], kind).items():",
            '    columns[f"{name} ({part})"] = values',
        ]
        branches.append((f"kind in {_tuple(DATES)}", read))
    if found & set(CATEGORIES):
        spelled = ', kind == "any-spelling"' if "any-spelling" in found else ""
        read = [
            f"texts = as_categories(table[name]{spelled})",
            'columns[name] = texts.astype("object").fillna("(missing)")',
        ]
        branches.append((f"kind in {_tuple(CATEGORIES)}", read))
    lines = [
        "def features(table: pd.DataFrame) -> pd.DataFrame:",
        '    """Return the columns to learn from, each read by its type."""',
        "    lacking = [name for name in COLUMNS if name not in table]",
        "    if lacking:",
        '        raise ValueError(f"the table lacks columns that the model needs: {lacking}")',
        "    columns = {}",
        "    for name, kind in COLUMNS.items():",
    ]
    for place, (condition, read) in enumerate(branches):
        lines.append(f"        {'elif' if place else 'if'} {condition}:")
        lines += [f"            {line}" for line in read]
    lines.append("    return pd.DataFrame(columns, index=table.index)[NUMBERS + CATEGORIES]")
    return "\n".join(lines)


def merged_source(training: TrainingPlan) -> str:
    """Return the source of a script's `merged`: one text for all spellings of a class."""
    read = "as_categories(target, True)"
    if training.reads == "yes-no":
        read = 'as_yes_no(target).map({1.0: "yes", 0.0: "no"})'
    return "\n".join(
        [
            "def merged(target: pd.Series) -> pd.Series:",
            '    """Return one text for all spellings of a class."""',
            f"    return {read}",
        ]
    )


def _tuple(kinds: Sequence[str]) -> str:
    return f"({', '.join(map(literal, kinds))})"


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
