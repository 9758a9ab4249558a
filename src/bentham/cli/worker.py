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
    from bentham.executors import Executor, TrialLimits
    from bentham.worker.context import Log

MOST_DEVICES = 1000
LONGEST_NAME = 63
PREFIX = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([KMGT]?)(?:i?B)?", re.IGNORECASE | re.ASCII)
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
DEFAULT_FOLDER = Path("bentham-worker")
EXAMPLE_SLOT = "0123abcd-999"  # the longest name of a slot on a Ray node
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
            help="How trials run: process (train, each trial in its own process), ray (the same "
            "on the nodes of a Ray cluster) or replay (take scores from a table, for "
            "experiments). [dim]\\[default: replay with --table, else process][/]",
            show_default=False,
        ),
    ] = None,
    devices: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=MOST_DEVICES,
            metavar="N",
            help="Number of devices; each runs one trial at a time on one core. [dim]\\[default: "
            "1; with Ray, all free CPUs][/]",
            show_default=False,
        ),
    ] = None,
    kind: Annotated[
        str,
        typer.Option(
            metavar="KIND",
            help="Kind of the devices, such as cpu or a type of GPU: trial times are learned for "
            "each kind.",
        ),
    ] = "cpu",
    name: Annotated[
        str | None,
        typer.Option(
            metavar="PREFIX",
            help="Prefix of device names: PREFIX-0, PREFIX-1, ...; it must be unique among "
            "workers. On a Ray cluster: PREFIX-NODE-0 and so on. [dim]\\[default: this "
            "machine's name and random letters][/]",
            show_default=False,
        ),
    ] = None,
    exit_when_idle: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            metavar="SECONDS",
            help="Exit after this many seconds without work. [dim]\\[default: never][/]",
            show_default=False,
        ),
    ] = None,
    algorithms: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="TOML file with your own algorithms, in addition to the built-in models; the same "
            "file as the server's. [dim]\\[default: none][/]",
            show_default=False,
            rich_help_panel=TRAINING,
        ),
    ] = None,
    memory: Annotated[
        str,
        typer.Option(
            metavar="SIZE",
            help="Memory limit of a trial, for all of its processes together: 512M, 2G. K, M, G "
            "and T are powers of 1024.",
            rich_help_panel=TRAINING,
        ),
    ] = "2G",
    cpu_time: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            help="CPU time limit of a trial, in seconds.",
            rich_help_panel=TRAINING,
        ),
    ] = 3600.0,
    time_limit: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            help="Wall-clock limit of a trial, in seconds.",
            rich_help_panel=TRAINING,
        ),
    ] = 7200.0,
    folder: Annotated[
        Path,
        typer.Option(
            metavar="FOLDER",
            help="Directory for datasets and trial logs; workers may share it. On a Ray cluster, "
            "each node uses this path.",
            rich_help_panel=TRAINING,
        ),
    ] = DEFAULT_FOLDER,
    pass_environment: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Environment variable to pass to trials; repeat the option for several. "
            "[dim]\\[default: none; trials see only PATH, the locale and a few others][/]",
            show_default=False,
            rich_help_panel=TRAINING,
        ),
    ] = None,
    address: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Address of the Ray cluster: HOST:PORT of its head, auto for the cluster of this "
            "machine, or local to start one here. [dim]\\[default: auto][/]",
            show_default=False,
            rich_help_panel=RAY,
        ),
    ] = None,
    table: Annotated[
        str | None,
        typer.Option(
            metavar="TABLE",
            help="Table to replay trials from, as for [bold]bentham simulate[/]: a CSV file with "
            "the columns study,model,score,cost, or a bundled table. A trial is matched to a "
            "study of the table by its dataset, else by the name of its study.",
            show_default=False,
            rich_help_panel=REPLAY,
        ),
    ] = None,
    scale: Annotated[
        float,
        typer.Option(
            min=0.0,
            metavar="S",
            help="Seconds that a replayed trial takes per unit of cost; 0: as fast as possible.",
            rich_help_panel=REPLAY,
        ),
    ] = 0.0,
    server: Server = DEFAULT_SERVER,
    token_file: TokenFile = None,
) -> None:
    """Run trials for a server: lease a trial, run it, report the score.

    A trial trains one model on a study's data in its own process with limits. If it exceeds a
    limit, it is killed with all its child processes and fails; the reason is recorded.

    If the server is unreachable, the worker waits until it is back. After 80 % of the lease time
    (24 s by default) without an answer it kills its trials, since the server may give them to
    others. On the first signal (Ctrl-C, SIGTERM), the worker waits for its running trials and then
    exits; a second signal gives the running trials back at once. On a Ray cluster, each free CPU is
    a device; devices are added and removed with their nodes. For example:

    [bold]bentham worker --devices 4 --memory 2G --token-file device.token[/]

    [bold]bentham worker --executor ray --address auto --token-file device.token[/]

    [bold]bentham worker --table oboe:8 --scale 0.01 --devices 4 --token-file device.token[/]
    """
    chosen = executor or (ExecutorName.PROCESS if table is None else ExecutorName.REPLAY)
    if chosen is ExecutorName.REPLAY and table is None:
        raise InvalidInput("nothing to replay; name a table with --table")
    if chosen is not ExecutorName.REPLAY and (table is not None or scale):
        raise InvalidInput("--table and --scale need --executor replay; remove them")
    if chosen is not ExecutorName.RAY and address is not None:
        raise InvalidInput("--address needs --executor ray; add it")
    prefix = device_prefix(name)
    names = [] if chosen is ExecutorName.RAY else device_names(prefix, devices or 1)
    # Imported here, so that other commands start faster.
    from bentham.executors import ReplayExecutor, TrialLimits
    from bentham.tables import load_table
    from bentham.worker import Worker
    from bentham.worker.logs import make_log

    limits = TrialLimits(size(memory), cpu_time, time_limit)
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
                warn=lambda text: log.warning("problem with Ray", reason=text),
            )
        else:
            runner = training_executor(client, log, limits, folder, algorithms, passed, len(names))
        fields = {"devices": len(names), "first": names[0]} if names else {"prefix": prefix}
        log.info("worker started", server=client.server, executor=chosen.value, **fields)
        Worker(client, runner, names, log, kind=kind, exit_when_idle=exit_when_idle).run()
        log.info("worker stopped")


def training_executor(
    client: "Client",
    log: "Log",
    limits: "TrialLimits",
    folder: Path,
    algorithms: Path | None,
    environment: dict[str, str],
    devices: int,
) -> "Executor":
    """Return the executor that trains, prepared for this number of devices."""
    from bentham.executors import ProcessExecutor
    from bentham.executors.launch import PRELOAD, CatalogPlan

    plan = CatalogPlan(algorithms)
    for problem in plan.problems:
        log.warning("algorithms not available", reason=problem)
    executor = ProcessExecutor(
        folder,
        plan,
        lambda lease: client.trial_data(lease.trial),
        limits,
        preload=PRELOAD,
        environment=environment,
        warn=lambda text: log.warning("problem on this machine", reason=text),
    )
    executor.prepare(devices)
    return executor


def size(text: str) -> int:
    """Parse a number of bytes from text such as 512M or 2G."""
    match = SIZE.fullmatch(text.strip())
    if match is None or len(text) > 30:
        raise InvalidInput(f"--memory is {text!r}; give a size such as 512M or 2G")
    return int(float(match[1]) * 1024 ** " KMGT".index(match[2].upper() or " "))


def variables(names: list[str]) -> dict[str, str]:
    """Return the environment variables to pass to trials."""
    for name in names:
        if not VARIABLE.fullmatch(name) or name not in os.environ:
            raise InvalidInput(
                f"--pass-environment names {name!r}, which is not set; set it, or remove the option"
            )
        if name.startswith("BENTHAM_TOKEN"):
            raise InvalidInput(f"--pass-environment names {name!r}: trials must not see the token")
    return {name: os.environ[name] for name in names}


def device_prefix(prefix: str | None) -> str:
    """Check the prefix of device names, or generate a unique one."""
    if prefix is None:
        host = re.sub(r"[^A-Za-z0-9-]+", "-", socket.gethostname().partition(".")[0]).strip("-")
        return f"{host[:40] or 'worker'}-{secrets.token_hex(2)}"
    if not PREFIX.fullmatch(prefix):
        raise InvalidInput(
            f"--name is {prefix!r}; it must start with a letter or digit and contain only those, "
            "'.', '_' and '-'"
        )
    return prefix


def device_names(prefix: str | None, count: int) -> list[str]:
    """Return names for `count` devices; without a prefix, unique ones."""
    start = device_prefix(prefix)
    return [checked_name(f"{start}-{number}") for number in range(count)]


def checked_name(name: str) -> str:
    """Return the name of a device; raise InvalidInput if it is too long."""
    if len(name) > LONGEST_NAME:
        raise InvalidInput(
            f"--name gives {name!r}, which is longer than {LONGEST_NAME} characters; choose a "
            "shorter prefix"
        )
    return name
