"""Writes a model as a script, which trials execute and studies export.

Both use the same source, so an exported script reproduces the recorded score by construction. Every
name chosen by a tenant or operator is inserted as a literal, never as code. Nothing here imports
pandas or scikit-learn: the sources are read as text.
"""

import ast
import sys
import textwrap
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

from bentham.errors import InvalidInput
from bentham.training.building import (
    BUILT_OF,
    MERGED,
    build_source,
    category_features,
    features_source,
    literal,
    merged_source,
    number_features,
)
from bentham.training.dataset import DATES
from bentham.training.metrics import METRICS
from bentham.training.parameters import Setting
from bentham.training.spaces import AlgorithmSpec
from bentham.training.training_plan import NAMED_YES, TrainingPlan
from bentham.training.words import MISSING, NO, YES

_WIDTH = 100
_RANKED = ("roc-auc", "average-precision")


def script(
    training: TrainingPlan,
    model: str,
    algorithm: AlgorithmSpec,
    configuration: Mapping[str, Setting],
    *,
    score: float | None = None,
    study: str = "",
) -> str:
    """Return a script that trains and evaluates a model; includes its recorded score, if known."""
    _check(training, algorithm)
    numbers, categories = number_features(training), category_features(training)
    folds = training.split.kind == "folds"
    constants: dict[str, Setting | list[str] | dict[str, str]] = {
        "STUDY": study,
        "MODEL": model,
        "RECORDED": score,
        "DATASET": training.name,
        "SHA256": training.hash,
        "DELIMITER": training.delimiter if training.format == "csv" else None,
        "MISSING": list(MISSING),
        **({"YES": list(YES), "NO": list(NO)} if _reads_yes_no(training) else {}),
        "TARGET": training.target,
        **({"POSITIVE": training.positive} if training.task == "classification" else {}),
        **({"DECIMAL_COMMA": True} if training.reads == "decimal-comma" else {}),
        "COLUMNS": dict(training.columns),
        "NUMBERS": numbers,
        "CATEGORIES": categories,
        "METRIC": training.metric,
        "FOLDS" if folds else "SHARE": training.split.folds if folds else training.split.share,
        "SEED": training.split.seed,
    }
    module, name = algorithm.estimators[training.task].split(":")
    taken = {**_imports(), **{each: (origin, each) for each, origin in BUILT_OF.items()}}
    # The class must not shadow another name in the script.
    clash = name in taken or name in constants or not name[0].isupper()
    alias = f"Estimator_{name}" if clash else name
    taken[alias] = (module, name)
    build = build_source(
        training, algorithm, algorithm.check(configuration), alias, categories, numbers
    )
    body = "\n\n\n".join([*_loading_sources(training), build, *_evaluation_sources(training)])
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


def _check(training: TrainingPlan, algorithm: AlgorithmSpec) -> None:
    """Raise if there can be no script; server and worker may have different versions."""
    metric = METRICS.get(training.metric)
    if algorithm.command:
        raise InvalidInput(f"{algorithm.name} is a command of the operator: there is no script")
    if training.task not in algorithm.estimators:
        raise InvalidInput(f"{algorithm.name} is not for {training.task}; choose another model")
    if metric is None:
        raise InvalidInput(f"there is no metric {training.metric!r:.100}; upgrade this Bentham")
    if metric.task != training.task:
        raise InvalidInput(f"{metric.name} is for {metric.task}; choose another metric")
    if not training.columns:
        raise InvalidInput("there are no columns to learn from; choose other data")


def _reads_yes_no(training: TrainingPlan) -> bool:
    return "yes-no" in {*training.columns.values(), training.reads}


def _loading_sources(training: TrainingPlan) -> list[str]:
    kinds = {*training.columns.values(), training.reads}
    needed = ["read_table", "without_spaces", "as_categories"]
    if kinds & {"number", "decimal-comma"} or training.task == "regression":
        needed += ["as_numbers", "number_parts"]
    if _reads_yes_no(training):
        needed.append("as_yes_no")
    if kinds & set(DATES):
        needed.append("date_parts")
    sources = [*map(function_source, needed), features_source(training)]
    if training.task == "regression":
        load = function_source("load_numbers", "load")
        comma = "DECIMAL_COMMA" if training.reads == "decimal-comma" else "False"
        return [
            *sources,
            load.replace(", DECIMAL_COMMA)", f", {comma})" if comma != "False" else ")"),
        ]
    if training.reads == "yes-no" and training.positive == NAMED_YES:
        return [*sources, function_source("load_yes_no", "load")]
    if training.reads in MERGED:
        return [*sources, merged_source(training), function_source("load_spellings", "load")]
    return [*sources, function_source("load_classes", "load")]


def _evaluation_sources(training: TrainingPlan) -> list[str]:
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
    rest = [*helpers, "evaluate", "fit", "read_rows", "unread", "predict", "predict_file"]
    rest += ["add_prediction_options", "main"]
    renamed = [function_source(split, "split"), function_source(judge, "judge")]
    return [*renamed, *map(function_source, rest)]


def _docstring(training: TrainingPlan, model: str, algorithm: AlgorithmSpec) -> str:
    package = next(iter(algorithm.estimators.values())).split(":")[0].split(".")[0]
    metric = METRICS[training.metric]
    extra = "" if package == "sklearn" else f", {package}"
    needs = f"pandas, scikit-learn{', pyarrow' if training.format == 'parquet' else ''}{extra}"
    return f'''"""{_plain(algorithm.title)}: {_plain(model)}, a model that Bentham found.

    python FILE data.{training.format}
        trains and evaluates the model as in the study, and compares its score with the recorded one
    python FILE data.{training.format} --predict new.{training.format}
        trains the model on all rows, and writes predictions for the rows of another file as CSV;
        --out, --id and --keep say where to, and with which columns (see --help)

FILE is this file. Or import it: `fit(path)` returns the model trained on all rows, and its classes.
Requires {needs}.

{textwrap.fill(f"Metric: {metric.name}, {metric.title}. Score: {metric.score}.", _WIDTH)}
"""
'''


@cache
def _trees() -> tuple[tuple[str, ast.Module], ...]:
    folder = files("bentham.training")
    texts = [
        (folder / name).read_text(encoding="utf-8") for name in ("reading.py", "script_runtime.py")
    ]
    return tuple((text, ast.parse(text)) for text in texts)


@cache
def _functions() -> dict[str, str]:
    """Return the sources of the functions that are copied into scripts, by name."""
    return {
        node.name: ast.get_source_segment(text, node) or ""
        for text, tree in _trees()
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
    }


@cache
def _imports() -> dict[str, tuple[str, str]]:
    """Return the imports of those functions: the module and the name in it, by local name."""
    found: dict[str, tuple[str, str]] = {}
    for _, tree in _trees():
        for node in tree.body:
            if isinstance(node, ast.Import):
                found |= {each.asname or each.name: (each.name, "") for each in node.names}
            elif isinstance(node, ast.ImportFrom) and not (node.module or "").startswith("bentham"):
                found |= {each.name: (node.module or "", each.name) for each in node.names}
    return found


def function_source(name: str, alias: str = "") -> str:
    """Return the source of a function that is copied into scripts, under another name if given."""
    source = _functions()[name]
    return source.replace(f"def {name}(", f"def {alias}(", 1) if alias else source


def _import_lines(available: Mapping[str, tuple[str, str]], body: str) -> str:
    """Return the imports that the body needs: standard library first, then packages, sorted."""
    used = {node.id for node in ast.walk(ast.parse(body)) if isinstance(node, ast.Name)} | {"sys"}
    modules: dict[bool, list[str]] = {True: [], False: []}
    members: dict[bool, dict[str, list[str]]] = {True: {}, False: {}}
    for name in sorted(used & set(available)):
        module, original = available[name]
        standard = module.split(".")[0] in sys.stdlib_module_names
        if not original:
            modules[standard].append(f"import {module}" + (f" as {name}" if name != module else ""))
        else:
            text = original if original == name else f"{original} as {name}"
            members[standard].setdefault(module, []).append(text)
    sections = []
    for standard in (True, False):
        lines = sorted(modules[standard])
        for module, names in sorted(members[standard].items()):
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


def _constant(name: str, value: Setting | list[str] | dict[str, str]) -> str:
    if isinstance(value, dict):
        opening, closing = "{", "}"
        items = [f"{literal(key)}: {literal(each)}" for key, each in value.items()]
    elif isinstance(value, list):
        opening, closing = "[", "]"
        items = [literal(each) for each in value]
    else:
        return f"{name} = {literal(value)}\n"
    line = f"{name} = {opening}{', '.join(items)}{closing}"
    if len(line) <= _WIDTH:
        return line + "\n"
    return f"{name} = {opening}\n" + "".join(f"    {item},\n" for item in items) + f"{closing}\n"


def _plain(text: str) -> str:
    """Return the text without characters that could end or break a docstring."""
    return "".join(
        character for character in text if character.isprintable() and character not in "\"'\\"
    )
