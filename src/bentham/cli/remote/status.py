"""`bentham status`: an overview of the pool, once or live."""

import sys
import time
from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from bentham.cli.connect import DEFAULT_SERVER, AsJson, Server, TokenFile, connect
from bentham.cli.remote.devices import trial_grid
from bentham.cli.remote.formatting import (
    cell,
    fields,
    grid,
    moment,
    number,
    plain,
    print_json,
    show,
    span,
)
from bentham.errors import Unavailable

if TYPE_CHECKING:
    from bentham.client import Client
    from bentham.wire import Overview

MOST_TENANTS, MOST_TRIALS = 20, 10


def status(
    once: Annotated[bool, typer.Option("--once", help="Print once and exit.")] = False,
    every: Annotated[
        float, typer.Option(min=0.2, max=3600.0, metavar="S", help="Seconds between updates.")
    ] = 2.0,
    as_json: AsJson = False,
    server: Server = DEFAULT_SERVER,
    token_file: TokenFile = None,
) -> None:
    """Show regret, tenants, devices and running trials; on a terminal, live until Ctrl-C.

    For example:

    [bold]bentham status --once[/]
    """
    with connect(server, token_file) as client:
        if as_json:
            print_json(client.overview())
        elif once or not sys.stdout.isatty():
            show(render(client))
        else:
            watch(client, every)


def watch(client: "Client", every: float) -> None:
    """Update until interrupted; if the server is unreachable, show the error and keep trying."""
    last = render(client)
    view: RenderableType = last
    with Live(view, console=Console(highlight=False), auto_refresh=False) as live:
        try:
            while True:
                live.update(view, refresh=True)
                time.sleep(every)
                try:
                    last = view = render(client)
                except Unavailable as error:
                    view = Group(Text(plain(str(error)), style="bold red"), last)
                live.update(view, refresh=True)
        except KeyboardInterrupt:
            pass


def render(client: "Client") -> Group:
    """Query the pool and return its current state, rendered."""
    overview = client.overview()
    running = list(islice(client.trials(state="running"), MOST_TRIALS + 1))
    parts: list[RenderableType] = [_summary(client.server, overview), _tenants(overview)]
    if running:
        parts.append(trial_grid(running[:MOST_TRIALS], "Running trials"))
    if len(running) > MOST_TRIALS:
        parts.append(Text("... and more: bentham trial list --state running"))
    return Group(*parts)


def _summary(server: str, overview: "Overview") -> RenderableType:
    queue, ended = overview.queue, overview.throughput
    rows = [("server", f"{server}, {moment(overview.time)}")]
    if overview.devices is not None:
        rows.append(("devices", f"{overview.devices.busy} of {overview.devices.present} busy"))
    rows += [
        ("waiting", f"{queue.open_studies:,} open studies, {queue.untried_arms:,} untried arms"),
        (
            "trials ended",
            f"{ended.last_ten_minutes:,} in the last ten minutes, {ended.last_hour:,} in the last "
            "hour",
        ),
        ("in total", f"{overview.decisions:,} decisions, {overview.leases_lost:,} leases lost"),
        (
            "regret",
            f"{number(overview.regret_estimate)} (estimated mean over open studies)",
        ),
    ]
    return fields(rows)


def _tenants(overview: "Overview") -> RenderableType:
    table = grid(["~tenant", ">weight", ">open", ">running", ">device time", ">share", ">regret"])
    for tenant in overview.tenants[:MOST_TENANTS]:
        table.add_row(
            cell(tenant.tenant),
            number(tenant.weight),
            f"{tenant.open_studies:,}",
            f"{tenant.running_trials:,}",
            span(tenant.device_seconds),
            "-" if tenant.share is None else f"{tenant.share:.0%}",
            number(tenant.regret_estimate),
        )
    hidden = len(overview.tenants) - MOST_TENANTS
    if hidden > 0:
        return Group(table, Text(f"... and {hidden:,} more: bentham tenant list"))
    return table
