"""The command line: `bentham ...`."""

import inspect
import io
import re
import sys
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_group

from bentham import __version__
from bentham.errors import BenthamError
from bentham.wording import choose

# Where each command is defined: a function, or a Typer app. A command is imported when it is used
# or listed, so that remote commands start without the numerical libraries.
COMMANDS = {
    "demo": "demo:demo",
    "simulate": "simulate:simulate",
    "replay": "replay:replay",
    "reproduce": "reproduce:reproduce",
    "serve": "serve:serve",
    "worker": "worker:worker",
    "status": "remote.status:status",
    "explain": "remote.explain:explain",
    "whatif": "remote.whatif:whatif",
    "algorithms": "remote.catalog:algorithms",
    "metrics": "remote.catalog:metrics",
    "costs": "remote.catalog:costs",
    "dataset": "remote.datasets:dataset_app",
    "study": "remote.studies:study_app",
    "trial": "remote.devices:trial_app",
    "device": "remote.devices:device_app",
    "tenant": "remote.tenants:tenant_app",
    "token": "remote.tokens:token_app",
    "history": "remote.history:history_app",
    "bench": "bench:bench_app",
    "db": "db:db_app",
    "log": "log:log_app",
}


# Typer's refusal of a value, of which all options with fixed values make use.
_NO_CHOICE = re.compile(r"Value error, '(.*)' is not one of (.*)\.", re.DOTALL)


class _Commands(TyperGroup):
    """The commands of `COMMANDS`, each imported on first use."""

    def __init__(self, **settings: Any):
        super().__init__(**settings)
        _tidy_help(self)

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            for name in COMMANDS:  # load all, so that the error can suggest a similar name
                self.get_command(ctx, name)
            return None
        if cmd_name not in self.commands:
            module, _, name = COMMANDS[cmd_name].partition(":")
            target = getattr(import_module(f"bentham.cli.{module}"), name)
            # A command built separately does not inherit the settings of the main app.
            single = typer.Typer(**_STYLE)
            if isinstance(target, typer.Typer):
                single.add_typer(target, name=cmd_name)
                command = get_group(single).commands[cmd_name]
            else:
                single.command(cmd_name)(target)
                command = get_command(single)
            _tidy_help(command)
            self.commands[cmd_name] = command
        return self.commands[cmd_name]

    def invoke(self, ctx: Any) -> Any:
        """Run a command; Typer's refusal of a value that is none of several is put in our words."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            if match := _NO_CHOICE.fullmatch(error.message):
                given, allowed = match[1], re.findall(r"'([^']*)'", match[2])
                error.message = f"{given!r} is not allowed; {choose(given, allowed)}"
            raise


_STYLE: dict[str, Any] = {
    "rich_markup_mode": "rich",
    "add_completion": False,
    "pretty_exceptions_enable": False,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}


def _tidy_help(command: Any) -> None:
    """Join the lines of each paragraph of the help, and show flags without a type.

    Typer keeps the line breaks of the source, and shows `<bool>` after each flag.
    """
    paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
    command.help = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
    context = typer.Context(command, **_STYLE["context_settings"])
    for parameter in command.get_params(context):
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    for child in getattr(command, "commands", {}).values():
        _tidy_help(child)


app = typer.Typer(
    name="bentham",
    cls=_Commands,
    help="Shares a pool of devices among many model-selection studies, so that all of them get "
    "good models as early as possible.",
    no_args_is_help=True,
    **_STYLE,
)


def _show_version(requested: bool) -> None:
    if requested:
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
    """Run the command line. An error prints one line to standard error and exits with code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Print ? for characters that the terminal cannot encode.
            stream.reconfigure(errors="replace")
    try:
        app()
    except BenthamError as error:
        _refuse(str(error))
    except KeyboardInterrupt:
        sys.exit(130)
    except MemoryError:
        _refuse("out of memory; use smaller settings or a larger machine")
    except OSError as error:
        where = "" if error.filename is None else f"{error.filename}: "
        _refuse(
            f"{where}{error.strerror or error}; check the path, its permissions and the free disk "
            "space"
        )


def _refuse(message: str) -> NoReturn:
    print("bentham:", message.replace("\r", " ").replace("\n", " "), file=sys.stderr)
    sys.exit(2)
