"""`bentham worker`: run trials on this machine for a server."""

import os
import re
import secrets
import socket
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bentham.cli.connect import DEFAULT_SERVER, Server, TokenFile, connect
from bentham.errors import InvalidInput

if TYPE_CHECKING:
    from bentham.client import Client
    from bentham.executors import Executor, Limits
    from bentham.worker.pool import Log

MOST_DEVICES = 1000
LONGEST_NAME = 63
PREFIX = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([KMGT]?)(?:i?B)?", re.IGNORECASE | re.ASCII)
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
DEFAULT_FOLDER = Path("bentham-worker")
TRAINING, REPLAY = "Training", "Replay"


class ExecutorName(StrEnum):
    """How trials are run."""

    PROCESS = "process"
    REPLAY = "replay"


def worker(
    executor: Annotated[
        ExecutorName | None,
        typer.Option(
            metavar="NAME",
            help="process trains, each trial in a process of its own; replay takes scores from a "
            "table, for trying out. [dim]\\[default: replay with a --table, else process][/]",
            show_default=False,
        ),
    ] = None,
    devices: Annotated[
        int,
        typer.Option(
            min=1,
            max=MOST_DEVICES,
            metavar="N",
            help="How many devices there are: so many trials run at a time, each on one core.",
        ),
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
    algorithms: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A TOML file with commands that train, besides the models that are built in.",
            show_default=False,
            rich_help_panel=TRAINING,
        ),
    ] = None,
    memory: Annotated[
        str,
        typer.Option(
            metavar="SIZE",
            help="What a trial may use of memory, all of its processes together: 512M, 2G.",
            rich_help_panel=TRAINING,
        ),
    ] = "2G",
    cpu_time: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            help="What a trial may use of CPU time.",
            rich_help_panel=TRAINING,
        ),
    ] = 3600.0,
    time_limit: Annotated[
        float,
        typer.Option(metavar="SECONDS", help="How long a trial may run.", rich_help_panel=TRAINING),
    ] = 7200.0,
    folder: Annotated[
        Path,
        typer.Option(
            metavar="FOLDER",
            help="Where data and the logs of trials are kept; workers may share it.",
            rich_help_panel=TRAINING,
        ),
    ] = DEFAULT_FOLDER,
    pass_environment: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A variable of the environment that trials are to see; may be given repeatedly. "
            "Else they see PATH, the language and little more.",
            show_default=False,
            rich_help_panel=TRAINING,
        ),
    ] = None,
    table: Annotated[
        str | None,
        typer.Option(
            metavar="TABLE",
            help="Replay trials from this table, as for [bold]bentham simulate[/]: a CSV file with "
            "the columns study,model,score,cost, or a bundled one. A trial's study is found by its "
            "dataset, or else by its name.",
            show_default=False,
            rich_help_panel=REPLAY,
        ),
    ] = None,
    scale: Annotated[
        float,
        typer.Option(
            min=0.0,
            metavar="S",
            help="How many seconds a trial takes per unit of its cost.",
            rich_help_panel=REPLAY,
        ),
    ] = 0.0,
    server: Server = DEFAULT_SERVER,
    token_file: TokenFile = None,
) -> None:
    """Run trials for a server: ask what to run, run it, report the score.

    A trial trains a model on a study's data, in a process of its own with limits; beyond one it
    is ended, with all that it started, and fails with the reason. When the server is away the
    worker waits, and reports when it is back. A signal (Ctrl-C, SIGTERM) ends it after the trials
    that run; a second one gives them back to the server. For example:

    [bold]bentham worker --devices 4 --memory 2G --token-file device.token[/]
    [bold]bentham worker --table oboe:8 --scale 0.01 --devices 4 --token-file device.token[/]
    """
    names = device_names(name, devices)
    chosen = executor or (ExecutorName.PROCESS if table is None else ExecutorName.REPLAY)
    if chosen is ExecutorName.REPLAY and table is None:
        raise InvalidInput("there is nothing to replay; name a table with --table")
    if chosen is ExecutorName.PROCESS and (table is not None or scale):
        raise InvalidInput("--table and --scale are for --executor replay; leave them out")
    # Here, so that other commands start without HTTP.
    from bentham.executors import Limits, ReplayExecutor
    from bentham.tables import load_table
    from bentham.worker import Worker
    from bentham.worker.logs import make_log

    limits = Limits(size(memory), cpu_time, time_limit)
    passed = variables(pass_environment or [])
    with connect(server, token_file, patience=0.0) as client:
        log = make_log()
        runner: Executor
        if table is not None:
            runner = ReplayExecutor(load_table(table), scale)
        else:
            runner = training_executor(client, log, limits, folder, algorithms, passed, len(names))
        log.info(
            "worker started",
            server=client.server,
            executor=chosen.value,
            devices=len(names),
            first=names[0],
        )
        Worker(client, runner, names, log, kind=kind, exit_when_idle=exit_when_idle).run()
        log.info("worker ended")


def training_executor(
    client: "Client",
    log: "Log",
    limits: "Limits",
    folder: Path,
    algorithms: Path | None,
    environment: dict[str, str],
    devices: int,
) -> "Executor":
    """The executor that trains, ready for so many trials, with what is installed here."""
    from bentham.executors import ProcessExecutor
    from bentham.executors.plans import PRELOAD, CatalogPlan

    plan = CatalogPlan(algorithms)
    for problem in plan.problems:
        log.warning("algorithms left out", reason=problem)
    executor = ProcessExecutor(
        folder,
        plan,
        lambda lease: client.trial_data(lease.trial),
        limits,
        preload=PRELOAD,
        environment=environment,
    )
    executor.prepare(devices)
    return executor


def size(text: str) -> int:
    """A number of bytes, as 512M or 2G."""
    found = SIZE.fullmatch(text.strip())
    if found is None or len(text) > 30:
        raise InvalidInput(f"--memory is {text!r}; write a size as 512M or 2G")
    return int(float(found[1]) * 1024 ** " KMGT".index(found[2].upper() or " "))


def variables(names: list[str]) -> dict[str, str]:
    """The variables of the environment that trials are to see."""
    for name in names:
        if not VARIABLE.fullmatch(name) or name not in os.environ:
            raise InvalidInput(
                f"--pass-environment names {name!r}, which is not set; set it, or leave it out"
            )
        if name.startswith("BENTHAM_TOKEN"):
            raise InvalidInput(f"--pass-environment names {name!r}: trials must not see the token")
    return {name: os.environ[name] for name in names}


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
