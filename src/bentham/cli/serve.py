"""`bentham serve`: the live service."""

import json
import logging
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from bentham.cli.db import Data, Database
from bentham.core import DEFAULT_ATTEMPTS, prior_from
from bentham.errors import InvalidInput
from bentham.storage import DEFAULT_FOLDER

POLICIES = ("joint", "mdmt")
ADMIN_TOKEN = "admin.token"


def serve(
    data: Data = DEFAULT_FOLDER,
    database: Database = None,
    host: Annotated[
        str,
        typer.Option(
            metavar="HOST",
            help="Where to listen. Put a proxy with TLS in front before it is anything but this "
            "machine: tokens travel in the clear.",
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="PORT", help="0 picks a free one.")
    ] = 8642,
    lease: Annotated[
        float, typer.Option(min=0.5, metavar="SECONDS", help="How long a lease holds.")
    ] = 30.0,
    heartbeat: Annotated[
        float, typer.Option(min=0.1, metavar="SECONDS", help="How often devices renew it.")
    ] = 10.0,
    attempts: Annotated[
        int,
        typer.Option(
            min=1,
            max=100,
            metavar="N",
            help="How often an arm is tried when its trials get lost; fixed at the first start.",
        ),
    ] = DEFAULT_ATTEMPTS,
    patience: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="N",
            help="The starvation guard: no study with untried models is passed over by more "
            "decisions than this. Keep it well above the number of studies; 0: no guard.",
        ),
    ] = 10_000,
    policy: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help=f"How to decide: {' or '.join(POLICIES)}; fixed at the first start.",
        ),
    ] = "joint",
    prior: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A fixed prior in JSON, as its describe() gives it, instead of a learned one; "
            "fixed at the first start.",
        ),
    ] = None,
    new_admin_token: Annotated[
        bool,
        typer.Option(
            "--new-admin-token",
            help="Issue another admin's token and write it to DIR/admin.token, should the first "
            "be lost; those issued before stay good until they are revoked.",
        ),
    ] = False,
    algorithms: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Algorithms of your own, in TOML, beside those that are built in; give the same "
            "file to the workers. See docs/own-training.md.",
        ),
    ] = None,
    max_upload: Annotated[
        int, typer.Option(min=1, max=4096, metavar="MIB", help="How large a dataset may be.")
    ] = 64,
    rate_limit: Annotated[
        float,
        typer.Option(min=0.0, metavar="N", help="Requests a second for each token; 0: no limit."),
    ] = 2000.0,
    secure_cookies: Annotated[
        bool,
        typer.Option(
            "--secure-cookies",
            help="Browsers send the dashboard's cookie over TLS only. Give it when a proxy with "
            "TLS is in front; without one nobody could sign in from another machine.",
        ),
    ] = False,
    log_level: Annotated[
        str, typer.Option(metavar="LEVEL", help="debug, info, warning or error.")
    ] = "info",
) -> None:
    """Serve tenants, studies, devices and trials over HTTP.

    Keeps everything in DIR (SQLite), or in PostgreSQL with --database; several instances on one
    database take over from each other. The first start writes an admin's token to DIR/admin.token.
    For example:

    [bold]bentham serve --data /var/lib/bentham[/]
    """
    from bentham.forecast.process import ForecastProcess
    from bentham.http.app import create_app
    from bentham.http.gate import Bounds
    from bentham.http.logs import configure_logs
    from bentham.http.metrics import Metrics
    from bentham.http.server import serve as run
    from bentham.service.admin import write_admin_token
    from bentham.service.engine import Engine
    from bentham.service.events import PoolCreated
    from bentham.service.leases import Terms
    from bentham.service.settings import Settings
    from bentham.storage import open_files, open_log
    from bentham.training.catalog import load_catalog
    from bentham.wire.studies import DEFAULT_CANDIDATES
    from bentham.wire.training import Task

    if policy not in POLICIES:
        raise InvalidInput(f"--policy is {policy!r}; choose {' or '.join(POLICIES)}")
    if heartbeat > lease / 2.0:
        raise InvalidInput(
            f"--heartbeat {heartbeat:g} is too long for --lease {lease:g}: at most half of it, so "
            "that one lost heartbeat does not lose a trial"
        )
    catalog = load_catalog(algorithms)
    for task in get_args(Task):  # what most ask for is there before anybody does
        catalog.candidates(task, DEFAULT_CANDIDATES)
    configure_logs(log_level)
    for problem in catalog.problems:
        logging.getLogger(__name__).warning(problem)
    if data.exists() and not data.is_dir():
        raise InvalidInput(f"--data {data} is a file; name a folder")
    # First of all: who cannot be reached should not begin anything.
    with _listening(host, port) as listener:
        data.mkdir(parents=True, exist_ok=True, mode=0o700)
        settings = Settings(
            PoolCreated(policy, "none", 0, attempts, 1.0, _read_prior(prior)),
            admin=lambda: write_admin_token(data / ADMIN_TOKEN),
            new_admin=new_admin_token,
            terms=Terms(lease, heartbeat),
            patience=patience or None,
        )
        metrics = Metrics()
        engine = Engine(
            open_log(database, data),
            settings,
            observer=metrics,
            snapshot=lambda: _begin_snapshot(data, database),
        )
        files = open_files(database, data)
        bounds = Bounds(dataset_bytes=max_upload * 2**20, requests_per_second=rate_limit)
        forecaster = ForecastProcess(data, database)
        app = create_app(engine, metrics, files, catalog, bounds, secure_cookies, forecaster)
        raise typer.Exit(run(engine, app, listener, bounds))


def _listening(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=1024)
    except (OSError, UnicodeError, OverflowError) as error:
        # Without the address, which asyncio and socket add in words of their own.
        reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else error
        raise InvalidInput(
            f"cannot listen on {host}:{port} ({reason}); is another server there? Choose another "
            "--port or --host"
        ) from None


def _read_prior(path: Path | None) -> dict[str, Any] | None:
    if path is None:
        return None
    try:
        described: dict[str, Any] = prior_from(json.loads(path.read_text("utf-8"))).describe()
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{path}: not a prior in JSON ({error})") from None
    return described


def _begin_snapshot(data: Path, database: str | None) -> None:
    """A process of its own reads the log and saves a snapshot; nobody waits for it."""
    environment = dict(os.environ)
    if database:  # not as an argument, which everybody on the machine could read
        environment["BENTHAM_DATABASE"] = database
    command = [sys.executable, "-m", "bentham", "log", "snapshot", "--data", str(data)]
    subprocess.Popen(
        ["nice", "-n", "10", *command] if os.name == "posix" else command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
