"""`bentham device ...` and `bentham trial ...`: devices, and the trials they run."""

from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from bentham.cli.connect import DEFAULT_SERVER, AsJson, Server, TokenFile, connect
from bentham.cli.remote.arguments import find_study
from bentham.cli.remote.formatting import (
    age,
    cell,
    fields,
    figures,
    grid,
    moment,
    number,
    plain_log,
    print_json,
    show,
    span,
    spans,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bentham.cli.remote.tables import FittingTable
    from bentham.wire import DeviceView, TrialView

device_app = typer.Typer(help="Devices, which run trials.", no_args_is_help=True)
trial_app = typer.Typer(
    help="Trials: single runs of a model, with state and score.", no_args_is_help=True
)
MOST_SHOWN = 100

DeviceName = Annotated[
    str, typer.Argument(metavar="NAME", help="Name of the device.", show_default=False)
]
TrialId = Annotated[str, typer.Argument(metavar="ID", help="Id of the trial.", show_default=False)]


@device_app.command("list")
def list_devices(
    as_json: AsJson = False, server: Server = DEFAULT_SERVER, token_file: TokenFile = None
) -> None:
    """List all devices.

    For example:

    [bold]bentham device list[/]
    """
    with connect(server, token_file) as client:
        devices = client.devices()
    if as_json:
        print_json(devices)
        return
    table = grid(["~device", "??~kind", "state", "?trial", figures("busy", spans, 1), ">seen"])
    for device in devices:
        table.add_row(
            device.name,
            device.kind,
            _state(device),
            device.trial or "-",
            device.busy_seconds,
            age(device.seen),
        )
    show(table if devices else "No devices; start some: bentham worker --devices N")


@device_app.command("show")
def show_device(
    name: DeviceName,
    as_json: AsJson = False,
    server: Server = DEFAULT_SERVER,
    token_file: TokenFile = None,
) -> None:
    """Show one device.

    For example:

    [bold]bentham device show gpu-0[/]
    """
    with connect(server, token_file) as client:
        found = client.device(name)
    _print_device(found, as_json)


@device_app.command("leave")
def leave(
    name: DeviceName,
    as_json: AsJson = False,
    server: Server = DEFAULT_SERVER,
    token_file: TokenFile = None,
) -> None:
    """Remove a device that is gone; its trial, if any, is lost and its model runs elsewhere.

    A running worker removes its devices itself. For example:

    [bold]bentham device leave gpu-0[/]
    """
    with connect(server, token_file) as client:
        left = client.leave_device(name)
    if as_json:
        print_json(left)
    else:
        lost = f" Trial {left.trial} is lost." if left.trial else ""
        show(cell(f"Removed device {left.name}.{lost}"))


@trial_app.command("list")
def list_trials(
    study: Annotated[
        str | None,
        typer.Option(
            metavar="ID", help="Only trials of this study, by id or name.", show_default=False
        ),
    ] = None,
    state: Annotated[
        str | None,
        typer.Option(
            metavar="STATE",
            help="Only trials in this state: running, complete, failed or lost.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
    server: Server = DEFAULT_SERVER,
    token_file: TokenFile = None,
) -> None:
    """List trials, newest first.

    For example:

    [bold]bentham trial list --study wine --state running[/]
    """
    with connect(server, token_file) as client:
        study_id = None if study is None else find_study(client, study).id
        trials = client.trials(study_id, state)
        if as_json:
            print_json(trials)
            return
        shown = list(islice(trials, MOST_SHOWN + 1))
        own = study is None and client.session().tenant is not None
    name = None if study is not None else _name if own else _full_name
    show(trial_grid(shown[:MOST_SHOWN], name) if shown else "No matching trials.")
    if len(shown) > MOST_SHOWN:
        show("... and older ones; --json gives all, --study and --state filter")


@trial_app.command("show")
def show_trial(
    trial: TrialId,
    as_json: AsJson = False,
    server: Server = DEFAULT_SERVER,
    token_file: TokenFile = None,
) -> None:
    """Show one trial.

    For example:

    [bold]bentham trial show t_0123456789abcdef[/]
    """
    with connect(server, token_file) as client:
        found = client.trial(trial)
    if as_json:
        print_json(found)
        return
    took = None if found.ended is None else found.ended - found.started
    show(
        fields(
            [
                ("trial", f"{found.id}, attempt {found.attempt}"),
                ("state", f"{found.state}{f': {found.reason}' if found.reason else ''}"),
                ("score", number(found.score)),
                *_progress(found),
                ("model", found.model),
                ("dataset", found.dataset or "-"),
                ("study", f"{_name(found)} of {found.tenant}"),
                ("device", f"{found.device}{f' ({found.kind})' if found.kind else ''}"),
                ("started", f"{moment(found.started)} ({age(found.started)})"),
                ("took", f"{span(took)}, expected {span(found.cost)}"),
                ("why", f"bentham explain {found.id}"),
            ]
        )
    )


def trial_grid(
    trials: "Iterable[TrialView]", study_name: "Callable[[TrialView], str] | None"
) -> "FittingTable":
    """Return a table with one row per trial; `study_name` tells the name of its study."""
    named = [] if study_name is None else ["~study"]
    table = grid(
        ["id", *named, "~model", "??~dataset", "???~device", figures("score"), "state",
         "?>started"]
    )  # fmt: skip
    for trial in trials:
        table.add_row(
            trial.id,
            *([] if study_name is None else [study_name(trial)]),
            trial.model,
            trial.dataset or trial.study,
            trial.device,
            trial.score,
            trial.state,
            age(trial.started),
        )
    return table


def _name(trial: "TrialView") -> str:
    return trial.study_name or trial.study


def _full_name(trial: "TrialView") -> str:
    return f"{trial.tenant}/{_name(trial)}"


def _state(device: "DeviceView") -> str:
    """Return what a device does; one that is away does nothing."""
    return device.state if device.presence == "present" else "away"


def _print_device(device: "DeviceView", as_json: bool) -> None:
    if as_json:
        print_json(device)
        return
    show(
        fields(
            [
                ("device", f"{device.name}{f' ({device.kind})' if device.kind else ''}"),
                ("state", f"{_state(device)}{f', runs {device.trial}' if device.trial else ''}"),
                ("registered", f"{moment(device.registered)} ({age(device.registered)})"),
                ("last seen", f"{moment(device.seen)} ({age(device.seen)})"),
                ("busy in total", span(device.busy_seconds)),
            ]
        )
    )


def _progress(trial: "TrialView") -> list[tuple[str, str]]:
    """Return rows with the progress, intermediate scores and other metrics of a trial."""
    rows = []
    if trial.progress is not None:
        rows.append(("progress", f"{trial.progress:.0%}"))
    if trial.scores:
        rows.append(("intermediate", ", ".join(number(score) for score in trial.scores)))
    if trial.metrics:
        values = (f"{name} {number(value)}" for name, value in trial.metrics.items())
        rows.append(("metrics", ", ".join(values)))
    return rows


@trial_app.command("log")
def trial_log(
    trial: TrialId, server: Server = DEFAULT_SERVER, token_file: TokenFile = None
) -> None:
    """Print the output of a trial.

    For example:

    [bold]bentham trial log t_0123456789abcdef[/]
    """
    with connect(server, token_file) as client:
        print(plain_log(client.trial_log(trial)), end="")
