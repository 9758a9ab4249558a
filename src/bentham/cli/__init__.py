"""The command line: `bentham ...`."""

import os
import sys
from typing import Annotated

import typer

from bentham import __version__
from bentham.cli.bench import bench_app
from bentham.cli.replay import replay
from bentham.cli.simulate import simulate
from bentham.errors import BenthamError

app = typer.Typer(
    name="bentham",
    help="Shares a pool of devices among many model-selection studies, so that everybody's "
    "results get good as early as possible.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(simulate)
app.command()(replay)
app.add_typer(bench_app, name="bench")


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    if version:
        typer.echo(f"bentham {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command line; what is refused is one line on standard error and exit code 2."""
    try:
        app()
    except BenthamError as error:
        # One line, whatever a name in the message holds.
        print("bentham:", " ".join(str(error).split()), file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:  # the reader has had enough, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
