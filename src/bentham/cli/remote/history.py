"""`bentham history ...`: import and export past runs, which set the prior."""

from pathlib import Path
from typing import Annotated

import typer

from bentham.cli.connect import DEFAULT_SERVER, AsJson, Server, TokenFile, connect
from bentham.cli.files import check_writable
from bentham.cli.remote.formatting import print_json
from bentham.errors import InvalidInput
from bentham.wording import counted

history_app = typer.Typer(
    help="History: past runs, from which the server learns its prior.", no_args_is_help=True
)


@history_app.command("import")
def import_history(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="CSV file with the columns study,model,score and optionally cost (seconds).",
            show_default=False,
        ),
    ],
    as_json: AsJson = False,
    server: Server = DEFAULT_SERVER,
    token_file: TokenFile = None,
) -> None:
    """Import past runs for the server to learn from.

    For example:

    [bold]bentham history import past-runs.csv[/]
    """
    if not file.is_file():
        raise InvalidInput(f"{file}: no such file; check its name")
    with connect(server, token_file) as client:
        summary = client.import_history(file)
    if as_json:
        print_json(summary)
    else:
        print(
            f"Imported {counted(summary.runs, 'run')} of {counted(summary.models, 'model')} in "
            f"{counted(summary.studies, 'study', 'studies')}."
        )


@history_app.command("export")
def export_history(
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="File to write. [dim]\\[default: standard output][/]",
            show_default=False,
        ),
    ] = None,
    server: Server = DEFAULT_SERVER,
    token_file: TokenFile = None,
) -> None:
    """Export all past runs as CSV.

    For example:

    [bold]bentham history export --out runs.csv[/]
    """
    if out is not None:
        check_writable(out, [token_file])
    with connect(server, token_file) as client:
        text = client.export_history()
    if out is None:
        print(text, end="")
    else:
        out.write_text(text, encoding="utf-8", newline="")
