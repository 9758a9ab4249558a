"""`bentham study create`: create a study on data, or with your own models."""

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bentham.cli.connect import DEFAULT_SERVER, AsJson, Server, TokenFile, connect
from bentham.cli.remote.datasets import SOURCES, find_dataset, upload
from bentham.cli.remote.formatting import print_json, show
from bentham.cli.remote.stop_options import (
    Deadline,
    Exhaust,
    MaxCost,
    MaxTrials,
    MinGain,
    stop_rules,
)
from bentham.cli.remote.study_page import study_page
from bentham.cli.remote.study_wait import follow
from bentham.errors import InvalidInput
from bentham.wording import choose

if TYPE_CHECKING:
    from bentham.client import Client
    from bentham.wire import DataAsked, StudyView

DATA = "Training on data"
MOST_LISTED = 20
COLUMN_TYPES = (
    "number", "decimal-comma", "yes-no", "date", "day-first", "month-first", "category",
    "any-spelling", "ignored",
)  # fmt: skip


def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the study.")],
    models: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="With --data or --candidates: algorithms to draw candidates from (see bentham "
            "algorithms). [dim]\\[default: all][/] Otherwise: your own names of models, separated "
            "by commas, each with its expected device time in seconds if known: "
            "svm=30,forest=120,boosting.",
        ),
    ] = None,
    models_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="CSV file with your own names of models, instead of --models: columns model and, "
            "if known, cost (seconds).",
        ),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="A CSV or Parquet file to upload, the name of an existing dataset (see bentham "
            "dataset list), or sklearn:NAME, openml:NAME.",
            rich_help_panel=DATA,
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column to predict. [dim]\\[default: the usual one for sklearn: and openml: data; "
            "otherwise required][/]",
            rich_help_panel=DATA,
        ),
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(
            metavar="TASK",
            help="classification or regression. [dim]\\[default: inferred from the target][/]",
            rich_help_panel=DATA,
        ),
    ] = None,
    column_type: Annotated[
        list[str] | None,
        typer.Option(
            "--type",
            metavar="COLUMN=TYPE",
            help="Override how a column is read: number, decimal-comma (1.200,5), yes-no, date, "
            "day-first (31.12.2024), month-first (12/31/2024), category, any-spelling (upper and "
            "lower case make no difference) or ignored; repeat the "
            "option for several.",
            rich_help_panel=DATA,
        ),
    ] = None,
    candidates: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=500,
            metavar="N",
            help="Number of candidate models; the defaults of all algorithms come first. Without "
            "--data, the candidates are from algorithms that need no data. [dim]\\[default with "
            "--data: 40][/]",
            rich_help_panel=DATA,
        ),
    ] = None,
    split: Annotated[
        str | None,
        typer.Option(
            metavar="HOW",
            help="How models are evaluated: folds (cross-validation) or holdout. [dim]\\[default: "
            "folds for fewer than 2,000 rows, else holdout][/]",
            rich_help_panel=DATA,
        ),
    ] = None,
    folds: Annotated[
        int,
        typer.Option(
            min=2,
            max=20,
            metavar="N",
            help="Number of folds, for --split folds.",
            rich_help_panel=DATA,
        ),
    ] = 5,
    share: Annotated[
        float,
        typer.Option(
            min=0.05,
            max=0.5,
            metavar="X",
            help="Fraction of rows held out, for --split holdout.",
            rich_help_panel=DATA,
        ),
    ] = 0.25,
    seed: Annotated[
        int,
        typer.Option(
            min=0,
            max=2**32 - 1,
            metavar="N",
            help="Random seed for the split and the models.",
            rich_help_panel=DATA,
        ),
    ] = 0,
    dataset: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Without --data: any label for what your models train on; a tenant's studies with "
            "the same label share their trials.",
        ),
    ] = "",
    metric: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Metric; higher scores are better. With --data: see bentham metrics. "
            "[dim]\\[default: accuracy, or if a class is rare, average-precision (two classes) or "
            "balanced-accuracy; r2 for regression; score without --data][/]",
            show_default=False,
        ),
    ] = None,
    weight: Annotated[
        float,
        typer.Option(
            metavar="W",
            help="Weight of the study's gains relative to others: 0.000001 to 1,000,000.",
        ),
    ] = 1.0,
    floor: Annotated[
        float | None,
        typer.Option(
            metavar="SCORE",
            help="Baseline score: the study's best score before its first result. "
            "[dim]\\[default: with --data, that of the best constant prediction; otherwise 0][/]",
        ),
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Without --data: number of rows in the dataset, used to predict costs. "
            "[dim]\\[default: unknown][/]",
        ),
    ] = None,
    columns: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Without --data: number of columns in the dataset, used to predict costs. "
            "[dim]\\[default: unknown][/]",
        ),
    ] = None,
    max_trials: MaxTrials = None,
    max_cost: MaxCost = None,
    deadline: Deadline = None,
    min_gain: MinGain = None,
    exhaust: Exhaust = False,
    tenant: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Tenant that owns the study; needed with an admin token. [dim]\\[default: that of "
            "the token][/]",
        ),
    ] = None,
    following: Annotated[
        bool, typer.Option("--follow", help="Wait until the study is closed; show its progress.")
    ] = False,
    as_json: AsJson = False,
    server: Server = DEFAULT_SERVER,
    token_file: TokenFile = None,
) -> None:
    """Create a study: a dataset, a metric, and candidate models to choose among.

    With --data, the candidates are drawn from the catalogue and trained on the dataset. With
    --candidates but without --data, they are drawn from the operator's commands that need no data.
    Otherwise --models or --models-file lists names only; such models are run by a worker that
    replays a table, or by a program of your own. For example:

    [bold]bentham study create churn --data churn.csv --target left --metric roc-auc[/]

    [bold]bentham study create wine --models svm=30,forest=120,boosting --max-trials 20[/]
    """
    drawn = data is not None or candidates is not None
    if not drawn and (models is None) == (models_file is None):
        raise InvalidInput(
            "nothing to train; give data with --data FILE --target COLUMN, or your own models "
            "with --models or --models-file, for example svm=30,forest"
        )
    if drawn and models_file is not None:
        raise InvalidInput(
            "--models-file lists your own models; with --data, use --models or neither"
        )
    listed: dict[str, float | None] = {}
    if not drawn:
        listed = read_models(models) if models else read_models_file(models_file or Path())
    algorithms = [part.strip() for part in (models or "").split(",") if part.strip()]
    stop = stop_rules(max_trials, max_cost, deadline, min_gain, exhaust)
    types = _read_types(column_type or [])
    with connect(server, token_file) as client:
        study_data = None
        if data is not None:
            split_fields = {"kind": split, "folds": folds, "share": share, "seed": seed}
            study_data = _data(client, data, target, task, types, split_fields, tenant)
        created = client.create_study(
            name,
            listed,
            data=study_data,
            algorithms=algorithms if drawn else (),
            candidates=candidates,
            dataset=dataset,
            metric=metric,
            weight=weight,
            floor=floor,
            rows=rows,
            columns=columns,
            stop=stop,
            tenant=tenant,
        )
        if not (following and as_json):
            _show(created, as_json)
        if following:
            follow(client, created, as_json)


def _show(created: "StudyView", as_json: bool) -> None:
    if as_json:
        print_json(created)
    else:
        show(*study_page(created, None))


def _data(
    client: "Client",
    source: str,
    target: str | None,
    task: str | None,
    types: dict[str, str],
    split: dict[str, Any],
    tenant: str | None,
) -> "DataAsked":
    """Describe the study's data for the request; upload a file first."""
    from bentham.client.connection import request_body
    from bentham.wire import DataAsked, SplitAsked

    is_file = source.startswith(SOURCES) or Path(source).is_file()
    default_target = None
    if is_file:
        found, default_target = upload(client, source, tenant=tenant)
    else:
        found = find_dataset(client, source, tenant, "file or dataset")
    target = target or default_target
    if target is None:
        raise InvalidInput(
            f"name the column to predict with --target; the columns are "
            f"{_listed([column.name for column in found.columns])}"
        )
    split_request = request_body(
        SplitAsked, **{name: value for name, value in split.items() if value is not None}
    )
    optional: dict[str, Any] = {} if task is None else {"task": task}
    return request_body(
        DataAsked, dataset=found.id, target=target, types=types, split=split_request, **optional
    )


def _listed(names: list[str]) -> str:
    """Return the first names and, if there are many, the number of the others."""
    if len(names) <= MOST_LISTED:
        return ", ".join(map(repr, names))
    shown = ", ".join(map(repr, names[: MOST_LISTED - 1]))
    return f"{shown} and {len(names) - MOST_LISTED + 1:,} more (see bentham dataset show)"


def _read_types(texts: list[str]) -> dict[str, str]:
    types: dict[str, str] = {}
    for text in texts:
        column, separator, name = text.rpartition("=")
        if not separator:
            raise InvalidInput(f"--type is {text!r}; write COLUMN=TYPE, as in zip=category")
        if name not in COLUMN_TYPES:
            raise InvalidInput(f"--type is {text!r}; {choose(name, COLUMN_TYPES)}")
        types[column] = name
    return types


def read_models(text: str) -> dict[str, float | None]:
    """Parse models and their costs from text such as svm=30,forest=120,boosting."""
    models: dict[str, float | None] = {}
    for item in text.split(","):
        name, has_cost, cost = item.rpartition("=")
        _add(models, "--models", name.strip() if has_cost else item.strip(), cost, bool(has_cost))
    return models


def read_models_file(path: Path) -> dict[str, float | None]:
    """Read models and their costs from a CSV file."""
    models: dict[str, float | None] = {}
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            if "model" not in (reader.fieldnames or ()):
                raise InvalidInput(f"{path}, row 1: the column 'model' is missing; add it")
            for row in reader:
                cost = (row.get("cost") or "").strip()
                where = f"{path}, row {reader.line_num}"
                _add(models, where, (row["model"] or "").strip(), cost, bool(cost))
    except (UnicodeDecodeError, csv.Error) as error:
        raise InvalidInput(f"{path} is not a CSV file in UTF-8 ({error})") from None
    if not models:
        raise InvalidInput(f"{path} lists no models; write one per row")
    return models


def _add(models: dict[str, float | None], where: str, name: str, cost: str, has_cost: bool) -> None:
    if not name:
        raise InvalidInput(f"{where}: a model has no name; write models as in svm=30,forest")
    if name in models:
        raise InvalidInput(f"{where}: the model {name!r} is listed twice; remove one")
    try:
        models[name] = float(cost) if has_cost else None
    except ValueError:
        raise InvalidInput(
            f"{where}: the cost of {name!r} is {cost!r}; give seconds, or leave it out"
        ) from None
