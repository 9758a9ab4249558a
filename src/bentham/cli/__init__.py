"""The command line: `bentham ...`."""

import io
import sys
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_group

from bentham import __version__
from bentham.errors import BenthamError

# Where each command is: a function, or an app of commands. They are imported when they are used, or
# listed: who asks a server need not wait for numerics.
COMMANDS = {
    "demo": "demo:demo",
    "simulate": "simulate:simulate",
    "replay": "replay:replay",
    "reproduce": "reproduce:reproduce",
    "serve": "serve:serve",
    "worker": "worker:worker",
    "status": "remote_status:status",
    "explain": "remote_explain:explain",
    "whatif": "remote_whatif:whatif",
    "algorithms": "remote_catalog:algorithms",
    "metrics": "remote_catalog:metrics",
    "costs": "remote_catalog:costs",
    "dataset": "remote_datasets:dataset_app",
    "study": "remote_studies:study_app",
    "trial": "remote_devices:trial_app",
    "device": "remote_devices:device_app",
    "tenant": "remote_tenants:tenant_app",
    "token": "remote_tokens:token_app",
    "history": "remote_history:history_app",
    "bench": "bench:bench_app",
    "db": "db:db_app",
    "log": "log:log_app",
}


class _Commands(TyperGroup):
    """The commands of `COMMANDS`, each imported on first use."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            for name in COMMANDS:  # known, they can be compared with what was meant
                self.get_command(ctx, name)
            return None
        if cmd_name not in self.commands:
            module, _, name = COMMANDS[cmd_name].partition(":")
            found = getattr(import_module(f"bentham.cli.{module}"), name)
            # With the settings of the whole, which a command made by itself would not have.
            alone = typer.Typer(**_STYLE)
            if isinstance(found, typer.Typer):
                alone.add_typer(found, name=cmd_name)
                made = get_group(alone).commands[cmd_name]
            else:
                alone.command(cmd_name)(found)
                made = get_command(alone)
            self.commands[cmd_name] = made
        return self.commands[cmd_name]


_STYLE: dict[str, Any] = {
    "rich_markup_mode": "rich",
    "add_completion": False,
    "pretty_exceptions_enable": False,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}
app = typer.Typer(
    name="bentham",
    cls=_Commands,
    help="Shares a pool of devices among many model-selection studies, so that everybody's "
    "results get good as early as possible.",
    no_args_is_help=True,
    **_STYLE,
)


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
