"""`bentham study ...`: create, list, show, rename, pause, resume, close, reopen, wait for."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bentham.cli.connect import DEFAULT_SERVER, AsJson, Server, TokenFile, connect
from bentham.cli.remote.arguments import find_study
from bentham.cli.remote.formatting import cell, figures, grid, print_json, show
from bentham.cli.remote.results import export, record
from bentham.cli.remote.stop_options import (
    Deadline,
    ExhaustReopened,
    MaxCost,
    MaxTrials,
    MinGain,
    stop_rules,
)
from bentham.cli.remote.study_create import create
from bentham.cli.remote.study_page import study_page
from bentham.cli.remote.study_wait import wait

if TYPE_CHECKING:
    from bentham.wire import StudyView

study_app = typer.Typer(
    help="Studies: a dataset, a metric and candidate models.", no_args_is_help=True
)
MOST_SHOWN = 200

StudyName = Annotated[
    str, typer.Argument(metavar="ID", help="Id or name of the study.", show_default=False)
]
NewName = Annotated[str, typer.Argument(metavar="NAME", help="New name.", show_default=False)]


study_app.command("create")(create)
study_app.command("export")(export)
study_app.command("record")(record)
study_app.command("wait")(wait)


@study_app.command("list")
def list_studies(
    state: Annotated[
        str | None,
        typer.Option(metavar="STATE", help="Only studies in this state: open, paused or closed."),
    ] = None,
    as_json: AsJson = False,
    server: Server = DEFAULT_SERVER,
    token_file: TokenFile = None,
) -> None:
    """List studies with their best score so far.

    For example:

    [bold]bentham study list --state open[/]
    """
    with connect(server, token_file) as client:
        studies = list(client.studies(state))
    if as_json:
        print_json(studies)
        return
    table = grid(["???id", "~name", "??~tenant", "state", ">tried", figures("score"), "?~model"])
    for study in studies[:MOST_SHOWN]:
        best = study.incumbent
        table.add_row(
            study.id,
            study.name,
            study.tenant,
            study.state,
            f"{study.tried}/{study.models}",
            None if best is None else best.score,
            "-" if best is None else best.model,
        )
    show(table if studies else "No studies; create one: bentham study create NAME --data FILE")
    if len(studies) > MOST_SHOWN:
        show(f"... and {len(studies) - MOST_SHOWN:,} more; --json gives all")


@study_app.command("show")
def show_study(
    study: StudyName,
    as_json: AsJson = False,
    server: Server = DEFAULT_SERVER,
    token_file: TokenFile = None,
) -> None:
    """Show a study and its models, best first.

    For example:

    [bold]bentham study show wine[/]
    """
    with connect(server, token_file) as client:
        found = client.study(find_study(client, study).id)  # all fields; lists omit some
        candidates = client.candidates(found.id)
        best = client.best(found.id)
        waits = client.next_model(found.id).waits if found.state == "open" else ""
    if as_json:
        listed = ", ".join(candidate.model_dump_json() for candidate in candidates)
        shown = f'"best": {best.model_dump_json()}, "candidates": [{listed}]'
        print(f"{found.model_dump_json()[:-1]}, {shown}}}")
    else:
        show(*study_page(found, candidates, waits, best))


@study_app.command("rename")
def rename(
    study: StudyName,
    name: NewName,
    as_json: AsJson = False,
    server: Server = DEFAULT_SERVER,
    token_file: TokenFile = None,
) -> None:
    """Rename a study; its id stays the same.

    For example:

    [bold]bentham study rename wine "wine, first try"[/]
    """
    with connect(server, token_file) as client:
        found = find_study(client, study)
        renamed = client.rename_study(found.id, name)
    if as_json:
        print_json(renamed)
    else:
        show(cell(f"Study {found.name} ({found.id}) is now called {renamed.name}."))


@study_app.command("pause")
def pause(
    study: StudyName,
    as_json: AsJson = False,
    server: Server = DEFAULT_SERVER,
    token_file: TokenFile = None,
) -> None:
    """Pause a study: start no new trials; running ones continue.

    For example:

    [bold]bentham study pause wine[/]
    """
    _change_state("pause", study, as_json, server, token_file)


@study_app.command("resume")
def resume(
    study: StudyName,
    as_json: AsJson = False,
    server: Server = DEFAULT_SERVER,
    token_file: TokenFile = None,
) -> None:
    """Resume a paused study.

    For example:

    [bold]bentham study resume wine[/]
    """
    _change_state("resume", study, as_json, server, token_file)


@study_app.command("close")
def close(
    study: StudyName,
    as_json: AsJson = False,
    server: Server = DEFAULT_SERVER,
    token_file: TokenFile = None,
) -> None:
    """Close a study: start no new trials; running ones continue. It can be reopened.

    For example:

    [bold]bentham study close wine[/]
    """
    _change_state("close", study, as_json, server, token_file)


@study_app.command("reopen")
def reopen(
    study: StudyName,
    max_trials: MaxTrials = None,
    max_cost: MaxCost = None,
    deadline: Deadline = None,
    min_gain: MinGain = None,
    exhaust: ExhaustReopened = False,
    as_json: AsJson = False,
    server: Server = DEFAULT_SERVER,
    token_file: TokenFile = None,
) -> None:
    """Continue with a closed study.

    Without options, a study that was closed by request keeps its stop rules, and one that a stop
    rule has closed continues until every model has been tried. With options, only these rules
    apply, and the study still ends when every model has been tried.

    For example:

    [bold]bentham study reopen wine --max-cost 3600[/]
    """
    stop = stop_rules(max_trials, max_cost, deadline, min_gain, exhaust)
    with connect(server, token_file) as client:
        found = find_study(client, study)
        changed = client.reopen_study(found.id, stop if stop.model_fields_set else None)
    _show_state(changed, as_json)


def _change_state(
    verb: str, study: str, as_json: bool, server: str, token_file: Path | None
) -> None:
    with connect(server, token_file) as client:
        found = find_study(client, study)
        actions = {
            "pause": client.pause_study,
            "resume": client.resume_study,
            "close": client.close_study,
        }
        changed = actions[verb](found.id)
    _show_state(changed, as_json)


def _show_state(study: "StudyView", as_json: bool) -> None:
    if as_json:
        print_json(study)
    else:
        show(cell(f"Study {study.name} ({study.id}) is {study.state}."))
