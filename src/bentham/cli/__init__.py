"""The command line: `bentham ...`."""

import io
import sys
from typing import Annotated, NoReturn

import typer

from bentham import __version__
from bentham.cli.bench import bench_app
from bentham.cli.db import db_app
from bentham.cli.demo import demo
from bentham.cli.log import log_app
from bentham.cli.remote_catalog import algorithms, costs, metrics
from bentham.cli.remote_datasets import dataset_app
from bentham.cli.remote_devices import device_app, trial_app
from bentham.cli.remote_explain import explain
from bentham.cli.remote_history import history_app
from bentham.cli.remote_status import status
from bentham.cli.remote_studies import study_app
from bentham.cli.remote_tenants import tenant_app
from bentham.cli.remote_tokens import token_app
from bentham.cli.replay import replay
from bentham.cli.reproduce import reproduce
from bentham.cli.serve import serve
from bentham.cli.simulate import simulate
from bentham.cli.worker import worker
from bentham.errors import BenthamError

app = typer.Typer(
    name="bentham",
    help="Shares a pool of devices among many model-selection studies, so that everybody's "
    "results get good as early as possible.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(demo)
app.command()(simulate)
app.command()(replay)
app.command()(reproduce)
app.command()(serve)
app.command()(worker)
app.command()(status)
app.command()(explain)
app.command()(algorithms)
app.command()(metrics)
app.command()(costs)
app.add_typer(dataset_app, name="dataset")
app.add_typer(study_app, name="study")
app.add_typer(trial_app, name="trial")
app.add_typer(device_app, name="device")
app.add_typer(tenant_app, name="tenant")
app.add_typer(token_app, name="token")
app.add_typer(history_app, name="history")
app.add_typer(bench_app, name="bench")
app.add_typer(db_app, name="db")
app.add_typer(log_app, name="log")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"bentham {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line; what is refused is one line on standard error and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without the sign gets a question mark
    try:
        app()
    except BenthamError as error:
        _refuse(str(error))
    except KeyboardInterrupt:
        sys.exit(130)
    except MemoryError:
        _refuse("out of memory; ask for less, or use a larger machine")
    except OSError as error:
        where = "" if error.filename is None else f"{error.filename}: "
        _refuse(f"{where}{error.strerror or error}; check the files and the disk")


def _refuse(message: str) -> NoReturn:
    print("bentham:", message.replace("\r", " ").replace("\n", " "), file=sys.stderr)
    sys.exit(2)
