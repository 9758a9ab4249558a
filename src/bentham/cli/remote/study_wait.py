"""`bentham study wait`: wait until a study is closed, and show its progress."""

import shlex
import sys
import time
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from bentham.cli.connect import DEFAULT_SERVER, AsJson, Server, TokenFile, connect
from bentham.cli.remote.arguments import find_study, seconds_of
from bentham.cli.remote.formatting import (
    figures,
    grid,
    number,
    plain,
    print_json,
    show,
    span,
    spans,
)
from bentham.cli.remote.study_page import study_page
from bentham.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bentham.client import Client
    from bentham.wire import StudyView

TIMED_OUT, INTERRUPTED = 1, 130  # exit codes; 0 if the study is closed
MOST_RUNNING = 8
LINE_SECONDS = 60.0  # between lines without news, if standard error is not a terminal


def wait(
    study: Annotated[
        str, typer.Argument(metavar="ID", help="Id or name of the study.", show_default=False)
    ],
    timeout: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Stop waiting after this time, such as 30m or 2h. [dim]\\[default: none][/]",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
    server: Server = DEFAULT_SERVER,
    token_file: TokenFile = None,
) -> None:
    """Wait until a study is closed, and show its progress.

    Progress goes to standard error: live on a terminal, otherwise a line now and then. The study
    itself is printed at the end. The exit code is 0 if the study is closed, 1 after --timeout, and
    130 after Ctrl-C; the study continues in both cases.

    For example:

    [bold]bentham study wait churn --timeout 2h && bentham study export churn[/]
    """
    seconds = None if timeout is None else seconds_of("--timeout", timeout)
    with connect(server, token_file) as client:
        follow(client, find_study(client, study), as_json, seconds)


def follow(
    client: "Client", study: "StudyView", as_json: bool, timeout: float | None = None
) -> None:
    """Show the progress of a study until it is closed, then the study."""
    watched = client.watch(study, timeout)
    try:
        closed = _live(client, watched) if sys.stderr.isatty() else _lines(watched)
    except KeyboardInterrupt:
        _leave(study, "no longer waiting; the study continues", INTERRUPTED)
    except TimeoutError:
        _leave(study, f"not closed after {span(timeout)}; the study continues", TIMED_OUT)
    if as_json:
        print_json(closed)
        return
    show(*study_page(closed, None))
    if closed.training is not None and closed.incumbent is not None:
        show(Text(plain(f"Its best model as a script: bentham study export {_quoted(closed)}")))


def _leave(study: "StudyView", why: str, code: int) -> NoReturn:
    again = f"to wait again: bentham study wait {_quoted(study)}"
    print(plain(f"bentham: {study.name}: {why}; {again}"), file=sys.stderr)
    raise typer.Exit(code)


def _quoted(study: "StudyView") -> str:
    return shlex.quote(study.name)


def _live(client: "Client", watched: "Iterator[StudyView]") -> "StudyView":
    """Show the study and its running trials on the terminal until it is closed."""
    console = Console(stderr=True, highlight=False)
    with Live(console=console, auto_refresh=False, transient=True) as live:
        for study in watched:
            with suppress(Unavailable):  # the server may restart: watching goes on
                live.update(_view(client, study), refresh=True)
    return study


def _view(client: "Client", study: "StudyView") -> RenderableType:
    parts: list[RenderableType] = [
        Text(plain(f"{study.name}: {progress(study)}"), style="bold"),
    ]
    running = list(islice(client.trials(study.id, "running"), MOST_RUNNING))
    if running:
        table = grid(["~running", "?~device", figures("for", spans), figures("expected", spans, 2)])
        for trial in running:
            table.add_row(trial.model, trial.device, time.time() - trial.started, trial.cost)
        parts.append(table)
    elif study.state != "closed":
        parts.append(Text(plain(f"Next: {client.next_model(study.id).reason}")))
    parts.append(Text("Ctrl-C stops waiting; the study continues.", style="dim"))
    return Group(*parts)


def _lines(watched: "Iterator[StudyView]") -> "StudyView":
    """Print a line when the best score or the state has changed, or a minute has passed."""
    shown: tuple[object, ...] = ()
    printed = 0.0
    for study in watched:
        news = (study.state, study.incumbent and study.incumbent.score)
        if news != shown or time.monotonic() - printed >= LINE_SECONDS:
            print(plain(f"{study.name}: {progress(study)}"), file=sys.stderr, flush=True)
            shown, printed = news, time.monotonic()
    return study


def progress(study: "StudyView") -> str:
    """Return in one line how far a study is."""
    best = study.incumbent
    parts = [
        study.state,
        f"{study.tried} of {study.models} tried",
        f"{study.trials.running} running" if study.trials.running else "",
        "no score yet" if best is None else f"best {number(best.score)} by {best.model}",
        f"{span(study.device_seconds)} of device time",
    ]
    return ", ".join(filter(None, parts))
