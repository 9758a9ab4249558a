"""`bentham study export` and `bentham study record`: a study's best model and its scores."""

import hashlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bentham.cli.connect import DEFAULT_SERVER, AsJson, Server, TokenFile, connect
from bentham.cli.files import check_new, write_verified
from bentham.cli.remote.arguments import find_study
from bentham.cli.remote.formatting import (
    cell,
    figures,
    file_name,
    grid,
    print_json,
    say,
    show,
    size,
    spans,
)

if TYPE_CHECKING:
    from bentham.wire import FittedModel

MOST_SHOWN = 200
StudyName = Annotated[
    str, typer.Argument(metavar="ID", help="Id or name of the study.", show_default=False)
]


def export(
    study: StudyName,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="File to write; - for standard output. [dim]\\[default: the study's name with "
            ".py, or .pyz with --fit][/]",
            show_default=False,
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Export this model of the study. [dim]\\[default: the best so far][/]",
            show_default=False,
        ),
    ] = None,
    fit: Annotated[
        bool,
        typer.Option(
            "--fit",
            help="Write the fitted model instead: a device trains it on all rows, unless that is "
            "done. The file runs code when it is opened: open only files that you trust.",
        ),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    server: Server = DEFAULT_SERVER,
    token_file: TokenFile = None,
) -> None:
    """Write a script that trains a study's best model and reproduces its score.

    The script is plain scikit-learn and does not need Bentham. For example:

    [bold]bentham study export churn --out churn.py && python churn.py churn.csv[/]

    With --fit, write the model itself, trained on all rows; it needs neither Bentham nor the data:

    [bold]bentham study export churn --fit && python churn.pyz new.csv --out predictions.csv[/]
    """
    if fit:
        _export_fitted(study, out, model, force, server, token_file)
        return
    with connect(server, token_file) as client:
        found = find_study(client, study)
        text = client.script(found.id, model)
    if out == Path("-"):
        print(text, end="")
        return
    path = out or Path(f"{file_name(found.name)}.py")
    check_new(path, force)
    path.write_text(text, "utf-8")
    data = found.data or "DATA"
    show(cell(f"Wrote {path}; train it: python {path} {data if Path(data).is_file() else 'FILE'}"))
    if not Path(data).is_file():
        show(cell(f"FILE is the dataset: bentham dataset download {data} --out FILE"))


def _export_fitted(
    study: str,
    out: Path | None,
    model: str | None,
    force: bool,
    server: str,
    token_file: Path | None,
) -> None:
    """Write the fitted model, and say what is waited for."""
    said: list[str] = []

    def tell(fitted: "FittedModel") -> None:
        text = f"{fitted.model}: " + {"running": "a device is training it on all rows"}.get(
            fitted.state, fitted.reason or "waiting for a device"
        )
        if said[-1:] != [text]:
            said.append(text)
            say(text)

    with connect(server, token_file) as client:
        found = find_study(client, study)
        path = out or Path(f"{file_name(found.name)}.pyz")
        if path == Path("-"):
            sys.stdout.buffer.write(client.fitted_model(found.id, model, progress=tell))
            return
        check_new(path, force)
        content = client.fitted_model(found.id, model, progress=tell)
        fitted = client.fitted(found.id)
    digest = hashlib.sha256(content).hexdigest()
    write_verified(path, [content], digest)
    show(
        cell(f"Wrote {path} ({size(len(content))}): {fitted.model}, trained on all rows"),
        cell(f"SHA-256 {digest}"),
        cell(f"Needs {', '.join(fitted.versions)}"),
        cell(f"Predict: python {path} FILE --out predictions.csv"),
        "It runs code when it is opened: pass it only to people who trust you.",
    )


def record(
    study: StudyName,
    as_json: AsJson = False,
    server: Server = DEFAULT_SERVER,
    token_file: TokenFile = None,
) -> None:
    """Show a study's scores in order of arrival, with the best so far.

    For example:

    [bold]bentham study record churn[/]
    """
    with connect(server, token_file) as client:
        lines = client.record(find_study(client, study).id)
    if as_json:
        print_json(lines)
        return
    table = grid(
        [figures("after", spans), figures("used", spans, 2), "~model", figures("score"),
         figures("best"), figures("took", spans, 1), figures("predicted", spans, 3)]
    )  # fmt: skip
    for line in lines[-MOST_SHOWN:]:
        table.add_row(
            line.seconds,
            line.device_seconds,
            line.model,
            line.score,
            line.best,
            line.duration,
            line.cost,
        )
    show(table if lines else "No trial of the study has a score yet.")
    if len(lines) > MOST_SHOWN:
        show(f"The last {MOST_SHOWN} of {len(lines):,}; --json gives all")
