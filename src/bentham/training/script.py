"""A model as a script: what a trial executes, and what a study exports. One source for both.

So an exported script gives the recorded score by construction. Everything that a tenant or operator
named goes into it as the literal of a plain value, never as code. Nothing here imports pandas or
scikit-learn: the sources are read as text.
"""

import ast
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

from bentham.errors import InvalidInput
from bentham.training.metrics import METRICS
from bentham.training.spaces import AlgorithmSpec
from bentham.wire.training import Setting, Training

_WIDTH = 100
# One-hot columns in all, as near as can be: thousands of categories must not fill the memory.
_MOST_COLUMNS, _FEWEST_CATEGORIES, _MOST_CATEGORIES = 2000, 4, 24
_RANKED = ("roc-auc", "average-precision")
# What the model is built of; the module that each comes from.
_BUILT_OF = {
    "CalibratedClassifierCV": "sklearn.calibration",
    "ColumnTransformer": "sklearn.compose",
    "OneHotEncoder": "sklearn.preprocessing",
    "OrdinalEncoder": "sklearn.preprocessing",
    "SimpleImputer": "sklearn.impute",
    "StandardScaler": "sklearn.preprocessing",
    "TransformedTargetRegressor": "sklearn.compose",
    "make_pipeline": "sklearn.pipeline",
}


def script(
    training: Training,
    model: str,
    algorithm: AlgorithmSpec,
    configuration: Mapping[str, Setting],
    *,
    score: float | None = None,
    study: str = "",
) -> str:
    """The source of a script that trains and judges a model; with its recorded score, if known."""
    if algorithm.command:
        raise InvalidInput(f"{algorithm.name} is a command of the operator's: there is no script")
    if training.task not in algorithm.estimators:
        raise InvalidInput(f"{algorithm.name} is not for {training.task}; take another model")
    numbers = [name for name, kind in training.columns.items() if kind == "number"]
    categories = [name for name, kind in training.columns.items() if kind == "category"]
    folds = training.split.kind == "folds"
    constants: dict[str, Setting | list[str]] = {
        "STUDY": study,
        "MODEL": model,
        "RECORDED": score,
        "DATASET": training.name,
        "SHA256": training.hash,
        "DELIMITER": training.delimiter if training.format == "csv" else None,
        "MISSING": _missing(),
        "TARGET": training.target,
        "NUMBERS": numbers,
        "CATEGORIES": categories,
        "METRIC": training.metric,
        "FOLDS" if folds else "SHARE": training.split.folds if folds else training.split.share,
        "SEED": training.split.seed,
    }
    module, name = algorithm.estimators[training.task].split(":")
    taken = {**_imports(), **{each: (origin, each) for each, origin in _BUILT_OF.items()}}
    alias = f"Estimator{name}" if name in taken or name in _functions() else name
    taken[alias] = (module, name)
    build = _build(training, algorithm, algorithm.check(configuration), alias, categories, numbers)
    body = "\n\n\n".join([*_reading(training), build, *_judging(training)])
    parts = [
        _docstring(training, model, algorithm),
        "\n",
        _import_lines(taken, body),
        "\n",
        *(_constant(each, value) for each, value in constants.items()),
        "\n\n",
        body,
        '\n\n\nif __name__ == "__main__":\n    sys.exit(main())\n',
    ]
    return "".join(parts)


def _reading(training: Training) -> list[str]:
    kind = "classes" if training.task == "classification" else "numbers"
    return [
        _source("read_table"),
        _source("as_numbers"),
        _source("as_categories"),
        _source("features"),
        _source(f"load_{kind}", "load"),
    ]


def _judging(training: Training) -> list[str]:
    stratified = training.task == "classification"
    split = (
        f"split_stratified_{training.split.kind}" if stratified else f"split_{training.split.kind}"
    )
    helpers = []
    if not stratified:
        judge = "judge_numbers"
    elif training.metric in _RANKED:
        judge, helpers = "judge_ranks", ["rank_metric"]
    elif training.metric == "log-loss":
        judge, helpers = "judge_probabilities", []
    else:
        judge = "judge_labels"
    if stratified:
        helpers.append("label_metrics")
    if judge in ("judge_numbers", "judge_probabilities"):
        helpers.append("compared")
    rest = [*helpers, "evaluate", "fit", "predict", "main"]
    return [_source(split, "split"), _source(judge, "judge"), *(_source(each) for each in rest)]


def _build(
    training: Training,
    algorithm: AlgorithmSpec,
    configuration: Mapping[str, Setting],
    estimator: str,
    categories: Sequence[str],
    numbers: Sequence[str],
) -> str:
    lines = [
        "def build() -> Any:",
        '    """The model, with all that prepares its inputs; not trained yet."""',
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
        name: _literal(value)
        for name, value in {
            **configuration,
            **algorithm.fixed,
            **algorithm.fixed_for.get(training.task, {}),
        }.items()
    }
    if algorithm.seed:
        arguments[algorithm.seed] = "SEED"
    lines.append(f"    model = {estimator}(")
    lines += [f"        {name}={value}," for name, value in arguments.items()]
    lines.append("    )")
    if training.task == "regression" and algorithm.scale_target:
        lines += [
            "    # It expects a target of about unit size.",
            "    model = TransformedTargetRegressor(",
            "        model, transformer=StandardScaler(), check_inverse=False",
            "    )",
        ]
    if training.metric == "log-loss" and not algorithm.probabilities:
        lines += [
            "    # It gives no probabilities by itself.",
            "    pipeline = make_pipeline(prepare, model)",
            "    return CalibratedClassifierCV(pipeline, cv=3, ensemble=False)",
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


def _docstring(training: Training, model: str, algorithm: AlgorithmSpec) -> str:
    package = next(iter(algorithm.estimators.values())).split(":")[0].split(".")[0]
    metric = METRICS[training.metric]
    own = "" if package == "sklearn" else f", {package}"
    needs = f"pandas, scikit-learn{', pyarrow' if training.format == 'parquet' else ''}{own}"
    return f'''"""{_plain(algorithm.title)}: {_plain(model)}, a model that Bentham found.

    python model.py data.{training.format}
        trains and judges it as the study did, and compares with the recorded score
    python model.py data.{training.format} --predict new.{training.format}
        trains it on all rows, and predicts those of another file

Or import it: `fit(path)` gives the model trained on all rows. Needs {needs}.
Judged by {training.metric} ({metric.title}). The score is made of it {metric.score}.
"""
'''


@cache
def _trees() -> tuple[tuple[str, ast.Module], ...]:
    folder = files("bentham.training")
    texts = [(folder / name).read_text(encoding="utf-8") for name in ("reading.py", "recipe.py")]
    return tuple((text, ast.parse(text)) for text in texts)


@cache
def _functions() -> dict[str, str]:
    """The sources of the functions that scripts are made of, by name."""
    return {
        node.name: ast.get_source_segment(text, node) or ""
        for text, tree in _trees()
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
    }


@cache
def _imports() -> dict[str, tuple[str, str]]:
    """What those functions import: by the name it has there, the module and the name in it."""
    found: dict[str, tuple[str, str]] = {}
    for _, tree in _trees():
        for node in tree.body:
            if isinstance(node, ast.Import):
                found |= {each.asname or each.name: (each.name, "") for each in node.names}
            elif isinstance(node, ast.ImportFrom) and not (node.module or "").startswith("bentham"):
                found |= {each.name: (node.module or "", each.name) for each in node.names}
    return found


def _missing() -> list[str]:
    for node in _trees()[0][1].body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "MISSING":
            return list(ast.literal_eval(node.value))
    raise AssertionError("reading.py has no MISSING")


def _source(name: str, called: str = "") -> str:
    source = _functions()[name]
    return source.replace(f"def {name}(", f"def {called}(", 1) if called else source


def _import_lines(known: Mapping[str, tuple[str, str]], body: str) -> str:
    """Import what the body uses: Python's own first, then packages, each in order."""
    used = {node.id for node in ast.walk(ast.parse(body)) if isinstance(node, ast.Name)} | {"sys"}
    whole: dict[bool, list[str]] = {True: [], False: []}
    parts: dict[bool, dict[str, list[str]]] = {True: {}, False: {}}
    for name in sorted(used & set(known)):
        module, original = known[name]
        own = module.split(".")[0] in sys.stdlib_module_names
        if not original:
            whole[own].append(f"import {module}" + (f" as {name}" if name != module else ""))
        else:
            text = original if original == name else f"{original} as {name}"
            parts[own].setdefault(module, []).append(text)
    sections = []
    for own in (True, False):
        lines = sorted(whole[own])
        for module, names in sorted(parts[own].items()):
            lines.append(_from_import(module, sorted(names, key=_import_order)))
        sections.append("\n".join(lines))
    return "\n\n".join(sections) + "\n"


def _import_order(name: str) -> tuple[int, str]:
    kind = 0 if name.isupper() and len(name) > 1 else 1 if name[0].isupper() else 2
    return kind, name


def _from_import(module: str, names: Sequence[str]) -> str:
    line = f"from {module} import {', '.join(names)}"
    if len(line) <= _WIDTH:
        return line
    return f"from {module} import (\n" + "".join(f"    {name},\n" for name in names) + ")"


def _constant(name: str, value: Setting | list[str]) -> str:
    if not isinstance(value, list):
        return f"{name} = {_literal(value)}\n"
    items = [_literal(each) for each in value]
    line = f"{name} = [{', '.join(items)}]"
    if len(line) <= _WIDTH:
        return line + "\n"
    return f"{name} = [\n" + "".join(f"    {item},\n" for item in items) + "]\n"


def _literal(value: Setting) -> str:
    """The value as Python writes it, with double quotes where that takes no escaping."""
    text = repr(value)
    if isinstance(value, str) and text[0] == "'" and "'" not in text[1:-1] and '"' not in text:
        return f'"{text[1:-1]}"'
    return text


def _plain(text: str) -> str:
    """Text that can stand in a docstring whatever it is."""
    return "".join(sign for sign in text if sign.isprintable() and sign not in "\"'\\")
