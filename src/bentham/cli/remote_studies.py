"""`bentham study ...`: what is to be found out."""

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bentham.cli.connect import DEFAULT_SERVER, AsJson, Server, TokenFile, connect
from bentham.cli.remote import cell, confirm, find_study, grid, number, print_json, show, time_of
from bentham.cli.remote_study_page import study_page
from bentham.errors import InvalidInput

if TYPE_CHECKING:
    from bentham.wire import StopRules

study_app = typer.Typer(help="What is to be found out.", no_args_is_help=True)
STOP = "When it closes by itself"
MOST_SHOWN = 200

Which = Annotated[
    str, typer.Argument(metavar="ID", help="Its id, or its name.", show_default=False)
]


@study_app.command("create")
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What to call it.")],
    models: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="The candidate models with commas, each with its expected device time in seconds "
            "where that is known, as in svm=30,forest=120,boosting.",
        ),
    ] = None,
    models_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The same as a CSV file: columns model and, if known, "
                     "cost."),
    ] = None,
    dataset: Annotated[
        str, typer.Option(metavar="NAME", help="What it is about; studies of a tenant over the "
                          "same dataset share their trials."),
    ] = "",
    metric: Annotated[
        str, typer.Option(metavar="NAME", help="What scores measure; larger is better.")
    ] = "score",
    weight: Annotated[
        float, typer.Option(metavar="W", help="How much its gains count.")
    ] = 1.0,
    floor: Annotated[
        float, typer.Option(metavar="SCORE", help="What is had without any model.")
    ] = 0.0,
    rows: Annotated[int | None, typer.Option(metavar="N", help="Of the dataset.")] = None,
    columns: Annotated[int | None, typer.Option(metavar="N", help="Of the dataset.")] = None,
    max_trials: Annotated[
        int | None, typer.Option(metavar="N", help="After so many trials.", rich_help_panel=STOP)
    ] = None,
    max_cost: Annotated[
        float | None,
        typer.Option(metavar="S", help="After so many seconds of device time.",
                     rich_help_panel=STOP),
    ] = None,
    deadline: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Then: 2026-11-16T18:00, or +2h from now.",
                     rich_help_panel=STOP),
    ] = None,
    min_gain: Annotated[
        float | None,
        typer.Option(metavar="G", help="When no model is expected to raise the best score by "
                     "more than this.", rich_help_panel=STOP),
    ] = None,
    tenant: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Whose it is; a tenant's own token says it already."),
    ] = None,
    as_json: AsJson = False,
    server: Server = DEFAULT_SERVER,
    token_file: TokenFile = None,
) -> None:  # fmt: skip
    """Make a study.

    For example:

    [bold]bentham study create wine --models svm=30,forest=120,boosting --max-trials 20[/]
    """
    if (models is None) == (models_file is None):
        raise InvalidInput("give the models, by --models or by --models-file, as in svm=30,forest")
    listed = read_models(models) if models is not None else read_models_file(models_file or Path())
    stop = _stop_rules(max_trials, max_cost, deadline, min_gain)
    with connect(server, token_file) as client:
        made = client.create_study(
            name,
            listed,
            dataset=dataset,
            metric=metric,
            weight=weight,
            floor=floor,
            rows=rows,
            columns=columns,
            stop=stop,
            tenant=tenant,
        )
    if as_json:
        print_json(made)
    else:
        show(*study_page(made, None))


@study_app.command("list")
def list_studies(
    state: Annotated[
        str | None,
        typer.Option(metavar="STATE", help="Only those open, paused or closed."),
    ] = None,
    as_json: AsJson = False,
    server: Server = DEFAULT_SERVER,
    token_file: TokenFile = None,
) -> None:
    """Show studies, and the best score of each so far.

    For example:

    [bold]bentham study list --state open[/]
    """
    with connect(server, token_file) as client:
        studies = list(client.studies(state))
    if as_json:
        print_json(studies)
        return
    table = grid(["id", "~name", "~tenant", "state", ">tried", ">best", "~model"])
    for one in studies[:MOST_SHOWN]:
        best = one.incumbent
        table.add_row(
            one.id,
            cell(one.name),
            cell(one.tenant),
            one.state,
            f"{one.models - one.untried}/{one.models}",
            "-" if best is None else number(best.score),
            cell("-" if best is None else best.model),
        )
    show(table if studies else "No studies; make one: bentham study create NAME --models ...")
    if len(studies) > MOST_SHOWN:
        show(f"... and {len(studies) - MOST_SHOWN:,} more; --json gives all")


@study_app.command("show")
def show_study(
    study: Which,
    as_json: AsJson = False,
    server: Server = DEFAULT_SERVER,
    token_file: TokenFile = None,
) -> None:
    """Show a study and its models, the best first.

    For example:

    [bold]bentham study show wine[/]
    """
    with connect(server, token_file) as client:
        found = find_study(client, study)
        candidates = client.candidates(found.id)
    if as_json:
        listed = ", ".join(candidate.model_dump_json() for candidate in candidates)
        print(f'{found.model_dump_json()[:-1]}, "candidates": [{listed}]}}')
    else:
        show(*study_page(found, candidates))


@study_app.command("pause")
def pause(
    study: Which,
    as_json: AsJson = False,
    server: Server = DEFAULT_SERVER,
    token_file: TokenFile = None,
) -> None:
    """Start no more of its trials for now; those that run go on.

    For example:

    [bold]bentham study pause wine[/]
    """
    _move("pause", study, as_json, server, token_file)


@study_app.command("resume")
def resume(
    study: Which,
    as_json: AsJson = False,
    server: Server = DEFAULT_SERVER,
    token_file: TokenFile = None,
) -> None:
    """Take a paused study up again.

    For example:

    [bold]bentham study resume wine[/]
    """
    _move("resume", study, as_json, server, token_file)


@study_app.command("close")
def close(
    study: Which,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: AsJson = False,
    server: Server = DEFAULT_SERVER,
    token_file: TokenFile = None,
) -> None:
    """End a study for good: this cannot be undone.

    For example:

    [bold]bentham study close wine --yes[/]
    """
    _move("close", study, as_json, server, token_file, yes)


def _move(
    verb: str, study: str, as_json: bool, server: str, token_file: Path | None, yes: bool = True
) -> None:
    with connect(server, token_file) as client:
        found = find_study(client, study)
        confirm(f"Close study {found.name!r} ({found.id})? It cannot be opened again.", yes)
        moves = {
            "pause": client.pause_study,
            "resume": client.resume_study,
            "close": client.close_study,
        }
        moved = moves[verb](found.id)
    if as_json:
        print_json(moved)
    else:
        show(cell(f"Study {moved.name} ({moved.id}) is {moved.state}."))


def read_models(text: str) -> dict[str, float | None]:
    """Models and their costs, of a text such as svm=30,forest=120,boosting."""
    models: dict[str, float | None] = {}
    for item in text.split(","):
        name, has_cost, cost = item.rpartition("=")
        _add(models, "--models", name.strip() if has_cost else item.strip(), cost, bool(has_cost))
    return models


def read_models_file(path: Path) -> dict[str, float | None]:
    """Models and their costs, of a CSV file."""
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
        raise InvalidInput(f"{path} is no CSV file in UTF-8 ({error})") from None
    if not models:
        raise InvalidInput(f"{path} lists no model; write one a row")
    return models


def _add(models: dict[str, float | None], where: str, name: str, cost: str, has_cost: bool) -> None:
    if not name:
        raise InvalidInput(f"{where}: a model has no name; write them as in svm=30,forest")
    if name in models:
        raise InvalidInput(f"{where}: the model {name!r} stands there twice; leave one out")
    try:
        models[name] = float(cost) if has_cost else None
    except ValueError:
        raise InvalidInput(
            f"{where}: the cost of {name!r} is {cost!r}; write seconds, or leave it out"
        ) from None


def _stop_rules(
    trials: int | None, cost: float | None, deadline: str | None, gain: float | None
) -> "StopRules":
    from bentham.client.connection import asked
    from bentham.wire import StopRules

    given = {
        "trials": trials,
        "cost": cost,
        "deadline": None if deadline is None else time_of("--deadline", deadline),
        "expected_gain": gain,
    }
    return asked(StopRules, **{name: value for name, value in given.items() if value is not None})
