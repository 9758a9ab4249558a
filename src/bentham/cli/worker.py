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
EXAMPLE_SLOT = "0123abcd-999"  # of a node of Ray: as long as they get
TRAINING, RAY, REPLAY = "Training", "Ray", "Replay"


class ExecutorName(StrEnum):
    """How trials are run."""

    PROCESS = "process"
    RAY = "ray"
    REPLAY = "replay"


def worker(
    executor: Annotated[
        ExecutorName | None,
        typer.Option(
            metavar="NAME",
            help="process trains, each trial in a process of its own; ray does so on the nodes of "
            "a Ray cluster; replay takes scores from a table, for trying out. "
            "[dim]\\[default: replay with a --table, else process][/]",
            show_default=False,
        ),
    ] = None,
    devices: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=MOST_DEVICES,
            metavar="N",
            help="How many devices there are: so many trials run at a time, each on one core. "
            "[dim]\\[default: 1; of a Ray cluster, all that are free][/]",
            show_default=False,
        ),
    ] = None,
    kind: Annotated[
        str, typer.Option(metavar="KIND", help="What they are: cpu, a type of GPU.")
    ] = "cpu",
    name: Annotated[
        str | None,
        typer.Option(
            metavar="PREFIX",
            help="Devices are called PREFIX-0, PREFIX-1, ...; no two workers may share it. Those "
            "of a Ray cluster are called PREFIX-NODE-0 and so on. "
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
            help="Where data and the logs of trials are kept; workers may share it. Of a Ray "
            "cluster each node has such a folder, by the same path.",
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
    address: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="The Ray cluster: HOST:PORT of its head, auto for the one that this machine is "
            "part of, or local to start one here. [dim]\\[default: auto][/]",
            show_default=False,
            rich_help_panel=RAY,
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
    that run; a second one gives them back to the server. On a Ray cluster each free CPU is a
    device; it comes and goes with its node. For example:

    [bold]bentham worker --devices 4 --memory 2G --token-file device.token[/]
    [bold]bentham worker --executor ray --address auto --token-file device.token[/]
    [bold]bentham worker --table oboe:8 --scale 0.01 --devices 4 --token-file device.token[/]
    """
    chosen = executor or (ExecutorName.PROCESS if table is None else ExecutorName.REPLAY)
    if chosen is ExecutorName.REPLAY and table is None:
        raise InvalidInput("there is nothing to replay; name a table with --table")
    if chosen is not ExecutorName.REPLAY and (table is not None or scale):
        raise InvalidInput("--table and --scale are for --executor replay; leave them out")
    if chosen is not ExecutorName.RAY and address is not None:
        raise InvalidInput("--address is that of a Ray cluster; add --executor ray")
    prefix = device_prefix(name)
    names = [] if chosen is ExecutorName.RAY else device_names(prefix, devices or 1)
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
        elif chosen is ExecutorName.RAY:
            from bentham.executors.ray import RayExecutor
            from bentham.executors.ray_host import make_setup

            checked_name(f"{prefix}-{EXAMPLE_SLOT}")
            setup = make_setup(folder, limits, passed, algorithms)
            runner = RayExecutor(
                setup,
                lambda lease: client.trial_data(lease.trial),
                address=address or "auto",
                prefix=prefix,
                most=devices,
                warn=lambda text: log.warning("trouble with Ray", reason=text),
            )
        else:
            runner = training_executor(client, log, limits, folder, algorithms, passed, len(names))
        which = {"devices": len(names), "first": names[0]} if names else {"prefix": prefix}
        log.info("worker started", server=client.server, executor=chosen.value, **which)
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
        warn=lambda text: log.warning("trouble on this machine", reason=text),
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


def device_prefix(prefix: str | None) -> str:
    """What the names of all devices begin with: if nothing is asked for, like no other worker's."""
    if prefix is None:
        host = re.sub(r"[^A-Za-z0-9-]+", "-", socket.gethostname().partition(".")[0]).strip("-")
        return f"{host[:40] or 'worker'}-{secrets.token_hex(2)}"
    if not PREFIX.fullmatch(prefix):
        raise InvalidInput(
            f"--name is {prefix!r}; begin with a letter or digit, go on with those or '.', '_', '-'"
        )
    return prefix


def device_names(prefix: str | None, count: int) -> list[str]:
    """So many names; without a prefix they are this machine's, and like no other worker's."""
    begin = device_prefix(prefix)
    return [checked_name(f"{begin}-{place}") for place in range(count)]


def checked_name(name: str) -> str:
    """A device's name, unless it is too long."""
    if len(name) > LONGEST_NAME:
        raise InvalidInput(f"--name makes {name!r}, longer than {LONGEST_NAME} characters")
    return name
