"""`bentham worker`: run trials on this machine for a server."""

import re
import secrets
import socket
from typing import Annotated

import typer

from bentham.cli.connect import DEFAULT_SERVER, Server, TokenFile, connect
from bentham.errors import InvalidInput

MOST_DEVICES = 1000
LONGEST_NAME = 63
PREFIX = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def worker(
    table: Annotated[
        str,
        typer.Option(
            metavar="TABLE",
            help="Replay trials from this table, as for [bold]bentham simulate[/]: a CSV file with "
            "the columns study,model,score,cost, or a bundled one. A trial's study is found by its "
            "dataset, or else by its name.",
            show_default=False,
        ),
    ],
    scale: Annotated[
        float,
        typer.Option(
            min=0.0, metavar="S", help="How many seconds a trial takes per unit of its cost."
        ),
    ] = 0.0,
    devices: Annotated[
        int, typer.Option(min=1, max=MOST_DEVICES, metavar="N", help="How many devices there are.")
    ] = 1,
    kind: Annotated[
        str, typer.Option(metavar="KIND", help="What they are: cpu, a type of GPU.")
    ] = "cpu",
    name: Annotated[
        str | None,
        typer.Option(
            metavar="PREFIX",
            help="Devices are called PREFIX-0, PREFIX-1, ...; no two workers may share it. "
            "[dim]\\[default: this machine's name and some letters][/]",
            show_default=False,
        ),
    ] = None,
    exit_when_idle: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            metavar="SECONDS",
            help="End when there was nothing to run for so long. [dim]\\[default: never][/]",
            show_default=False,
        ),
    ] = None,
    server: Server = DEFAULT_SERVER,
    token_file: TokenFile = None,
) -> None:
    """Run trials for a server: ask what to run, run it, report the score.

    When the server is away it waits, and reports when it is back. A signal (Ctrl-C, SIGTERM) ends
    it after the trials that run; a second one gives them back to the server. For example:

    [bold]bentham worker --table oboe:8 --scale 0.01 --devices 4 --token-file device.token[/]
    """
    names = device_names(name, devices)
    # Here, so that other commands start without HTTP.
    from bentham.executors import ReplayExecutor
    from bentham.tables import load_table
    from bentham.worker import Worker
    from bentham.worker.logs import make_log

    with connect(server, token_file, patience=0.0) as client:
        executor = ReplayExecutor(load_table(table), scale)
        log = make_log()
        log.info("worker started", server=client.server, devices=len(names), first=names[0])
        Worker(client, executor, names, log, kind=kind, exit_when_idle=exit_when_idle).run()
        log.info("worker ended")


def device_names(prefix: str | None, count: int) -> list[str]:
    """So many names; without a prefix they are this machine's, and like no other worker's."""
    if prefix is None:
        host = re.sub(r"[^A-Za-z0-9-]+", "-", socket.gethostname().partition(".")[0]).strip("-")
        prefix = f"{host[:40] or 'worker'}-{secrets.token_hex(2)}"
    elif not PREFIX.fullmatch(prefix):
        raise InvalidInput(
            f"--name is {prefix!r}; begin with a letter or digit, go on with those or '.', '_', '-'"
        )
    names = [f"{prefix}-{place}" for place in range(count)]
    if len(names[-1]) > LONGEST_NAME:
        raise InvalidInput(f"--name makes {names[-1]!r}, longer than {LONGEST_NAME} characters")
    return names
