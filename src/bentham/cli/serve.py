"""`bentham serve`: run the live service."""

import json
import logging
import os
import socket
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from bentham.cli.db import Data, Database
from bentham.core import DEFAULT_ATTEMPTS, prior_from
from bentham.errors import InvalidInput
from bentham.storage import DEFAULT_FOLDER
from bentham.wording import choose

POLICIES = ("joint", "mdmt")
ADMIN_TOKEN = "admin.token"


def serve(
    data: Data = DEFAULT_FOLDER,
    database: Database = None,
    host: Annotated[
        str,
        typer.Option(
            metavar="HOST",
            help="Address to listen on. Tokens are sent unencrypted: put a proxy with TLS in "
            "front before you listen on an address that other machines can reach.",
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option(
            min=0, max=65535, metavar="PORT", help="Port to listen on; 0 picks a free port."
        ),
    ] = 8642,
    lease: Annotated[
        float,
        typer.Option(
            min=0.5,
            metavar="SECONDS",
            help="How long a trial's lease is valid without a heartbeat, in seconds.",
        ),
    ] = 30.0,
    heartbeat: Annotated[
        float,
        typer.Option(
            min=0.1,
            metavar="SECONDS",
            help="How often devices renew their leases, in seconds; at most half of --lease.",
        ),
    ] = 10.0,
    away: Annotated[
        float | None,
        typer.Option(
            max=3600.0,
            metavar="S",
            help="After how long without a sign of life a device counts as away, in seconds; at "
            "least --lease. [dim]\\[default: 60, or twice --lease if that is longer][/]",
            show_default=False,
        ),
    ] = None,
    attempts: Annotated[
        int,
        typer.Option(
            min=1,
            max=100,
            metavar="N",
            help="How many trials a model gets on a dataset if they are lost or fail, before it "
            "counts as failed; fixed at the first start.",
        ),
    ] = DEFAULT_ATTEMPTS,
    patience: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="N",
            help="Starvation guard: a study with untried models waits for at most this many "
            "decisions. With n open studies the guard starts n decisions earlier, so keep it well "
            "above the number of studies. 0 disables it.",
        ),
    ] = 10_000,
    policy: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Scheduling policy: joint (takes running trials into account) or mdmt (the "
            "paper's); fixed at the first start.",
        ),
    ] = "joint",
    prior: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="JSON file with a fixed prior (written with prior.describe(), see "
            "docs/tutorial.md), to use instead of the learned prior; fixed at the first start.",
        ),
    ] = None,
    new_admin_token: Annotated[
        bool,
        typer.Option(
            "--new-admin-token",
            help="Create another admin token and write it to DIR/admin.token, for example if the "
            "first is lost; existing tokens stay valid until they are revoked.",
        ),
    ] = False,
    algorithms: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="TOML file with your own algorithms, in addition to the built-in ones; give the "
            "same file to the workers. See docs/own-training.md. [dim]\\[default: none][/]",
            show_default=False,
        ),
    ] = None,
    max_upload: Annotated[
        int, typer.Option(min=1, max=4096, metavar="MIB", help="Maximum size of a dataset, in MiB.")
    ] = 64,
    rate_limit: Annotated[
        float,
        typer.Option(
            min=0.0,
            metavar="N",
            help="Maximum requests per second for each token; 0 disables the limit.",
        ),
    ] = 2000.0,
    secure_cookies: Annotated[
        bool,
        typer.Option(
            "--secure-cookies",
            help="Mark the dashboard's cookie as Secure, so that browsers send it over TLS only. "
            "Use it behind a proxy with TLS; without TLS, sign-in works only from this machine.",
        ),
    ] = False,
    log_level: Annotated[
        str,
        typer.Option(
            metavar="LEVEL",
            help="Minimum level to log: debug (every request), info (a line a minute about "
            "requests), warning or error.",
        ),
    ] = "info",
    log_format: Annotated[
        str,
        typer.Option(
            metavar="FORMAT",
            help="Log format on standard error: text (one readable line per message), json (one "
            "object per line) or auto (text on a terminal, otherwise json).",
        ),
    ] = "auto",
) -> None:
    """Run the server: tenants, studies, devices and trials over HTTP.

    Stores everything in DIR (SQLite), or in PostgreSQL with --database. If several instances
    share one PostgreSQL database, one serves, and another takes over if it fails. The first start
    writes an admin token to DIR/admin.token. For example:

    [bold]bentham serve --data /var/lib/bentham[/]
    """
    from bentham.forecast.process import ForecastProcess
    from bentham.http.app import create_app
    from bentham.http.logs import configure_logs
    from bentham.http.metrics import Metrics
    from bentham.http.middleware import RequestLimits
    from bentham.http.server import serve as run
    from bentham.service import (
        Engine,
        FitProcess,
        PoolCreated,
        Service,
        Settings,
        SnapshotProcess,
        Terms,
        write_admin_token,
    )
    from bentham.storage import open_files, open_log
    from bentham.training.catalog import load_catalog
    from bentham.wire.studies import DEFAULT_CANDIDATES
    from bentham.wire.training import Task

    if policy not in POLICIES:
        raise InvalidInput(f"--policy is {policy!r}; {choose(policy, POLICIES)}")
    if heartbeat > lease / 2.0:
        raise InvalidInput(
            f"--heartbeat {heartbeat:g} is too long for --lease {lease:g}: it must be at most "
            "half of it, so that one lost heartbeat does not lose a trial"
        )
    if away is not None and away < lease:
        raise InvalidInput(
            f"--away {away:g} is too short for --lease {lease:g}: it must be at least as long, so "
            "that a device that is away has lost its trial"
        )
    catalog = load_catalog(algorithms)
    for task in get_args(Task):  # computed before the first request needs it
        catalog.candidates(task, DEFAULT_CANDIDATES)
    configure_logs(log_level, log_format)
    for problem in catalog.problems:
        logging.getLogger(__name__).warning(problem)
    if data.exists() and not data.is_dir():
        raise InvalidInput(f"--data {data} is a file; name a directory")
    # Listen first: an instance that cannot listen must not change anything.
    with _listening(host, port) as listener:
        data.mkdir(parents=True, exist_ok=True, mode=0o700)
        settings = Settings(
            PoolCreated(policy, "none", 0, attempts, 1.0, _read_prior(prior)),
            admin=lambda: write_admin_token(data / ADMIN_TOKEN),
            new_admin=new_admin_token,
            terms=Terms(lease, heartbeat, max(60.0, 2.0 * lease) if away is None else away),
            patience=patience or None,
        )
        metrics = Metrics()
        engine = Engine(
            open_log(database, data),
            settings,
            observer=metrics,
            snapshot=SnapshotProcess(data, database),
            fits=FitProcess(),
        )
        files = open_files(database, data)
        limits = RequestLimits(dataset_bytes=max_upload * 2**20, requests_per_second=rate_limit)
        forecaster = ForecastProcess(data, database)
        service = Service(engine, files, catalog, forecaster, metrics.latency)
        app = create_app(service, metrics, limits, secure_cookies)
        raise typer.Exit(run(service, app, listener, limits))


def _listening(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=1024)
    except (OSError, UnicodeError, OverflowError) as error:
        # Use only the error's description: socket's own message repeats the address.
        reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else error
        raise InvalidInput(
            f"cannot listen on {host}:{port} ({reason}); is another server running there? Choose "
            "another --port or --host"
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
