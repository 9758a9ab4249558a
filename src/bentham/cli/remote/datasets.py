"""`bentham dataset ...`: upload, list, show, download, rename and delete datasets."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape

from bentham.cli.connect import DEFAULT_SERVER, AsJson, Server, TokenFile, connect
from bentham.cli.files import check_new, write_verified
from bentham.cli.remote.arguments import confirm
from bentham.cli.remote.formatting import (
    age,
    cell,
    fields,
    figures,
    file_name,
    grid,
    plain,
    print_json,
    show,
    size,
    sizes,
)
from bentham.errors import InvalidInput, NotFound
from bentham.wording import did_you_mean, likewise

if TYPE_CHECKING:
    from bentham.client import Client
    from bentham.wire import DatasetView

dataset_app = typer.Typer(help="Datasets: tables to train on.", no_args_is_help=True)
MOST_COLUMNS, LAST_COLUMNS = 100, 10
SOURCES = ("sklearn:", "openml:")
DatasetName = Annotated[
    str, typer.Argument(metavar="ID", help="Id or name of the dataset.", show_default=False)
]


@dataset_app.command("add")
def add(
    source: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="A CSV or Parquet file, a dataset that scikit-learn contains (sklearn:digits), or "
            "one to download from OpenML (openml:credit-g).",
            show_default=False,
        ),
    ],
    name: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Name of the dataset. [dim]\\[default: the file's name][/]",
            show_default=False,
        ),
    ] = None,
    tenant: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Tenant that owns it. [dim]\\[default: that of the token][/] With an admin token "
            "and no --tenant, all tenants can use it.",
        ),
    ] = None,
    as_json: AsJson = False,
    server: Server = DEFAULT_SERVER,
    token_file: TokenFile = None,
) -> None:
    """Upload a dataset and show its columns.

    For example:

    [bold]bentham dataset add churn.csv[/]
    """
    with connect(server, token_file) as client:
        uploaded, _ = upload(client, source, name, tenant)
    if as_json:
        print_json(uploaded)
    else:
        _show(uploaded)


@dataset_app.command("list")
def list_datasets(
    as_json: AsJson = False, server: Server = DEFAULT_SERVER, token_file: TokenFile = None
) -> None:
    """List your datasets and those shared with all tenants.

    For example:

    [bold]bentham dataset list[/]
    """
    with connect(server, token_file) as client:
        datasets = list(client.datasets())
    if as_json:
        print_json(datasets)
        return
    table = grid(
        ["???id", "~name", "?~owner", ">rows", ">columns", figures("size", sizes), "??>added"]
    )
    for dataset in datasets:
        table.add_row(
            dataset.id,
            dataset.name,
            dataset.tenant or "shared",
            f"{dataset.rows:,}",
            f"{dataset.width:,}",
            dataset.bytes,
            age(dataset.created),
        )
    show(table if datasets else "No datasets; add one: bentham dataset add FILE")


@dataset_app.command("show")
def show_dataset(
    dataset: DatasetName,
    as_json: AsJson = False,
    server: Server = DEFAULT_SERVER,
    token_file: TokenFile = None,
) -> None:
    """Show the columns of a dataset, with notes.

    For example:

    [bold]bentham dataset show churn.csv[/]
    """
    with connect(server, token_file) as client:
        found = find_dataset(client, dataset)
    if as_json:
        print_json(found)
    else:
        _show(found)


@dataset_app.command("download")
def download(
    dataset: DatasetName,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="File to write. [dim]\\[default: the dataset's name, in this directory][/]",
            show_default=False,
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    server: Server = DEFAULT_SERVER,
    token_file: TokenFile = None,
) -> None:
    """Download a dataset exactly as it was uploaded.

    For example:

    [bold]bentham dataset download sklearn:iris --out iris.csv[/]
    """
    with connect(server, token_file) as client:
        found = find_dataset(client, dataset)
        path = out or Path(file_name(found.name))
        check_new(path, force)
        with waiting(f"Downloading {found.name}"):
            write_verified(path, client.dataset_content(found.id), found.hash)
    show(cell(f"Wrote {path}, {size(found.bytes)}"))


@dataset_app.command("rename")
def rename(
    dataset: DatasetName,
    name: Annotated[str, typer.Argument(metavar="NAME", help="New name.", show_default=False)],
    as_json: AsJson = False,
    server: Server = DEFAULT_SERVER,
    token_file: TokenFile = None,
) -> None:
    """Rename a dataset; its id and the studies on it stay the same.

    For example:

    [bold]bentham dataset rename churn.csv churn-2024.csv[/]
    """
    with connect(server, token_file) as client:
        found = find_dataset(client, dataset)
        renamed = client.rename_dataset(found.id, name)
    if as_json:
        print_json(renamed)
    else:
        show(cell(f"Dataset {found.name} ({found.id}) is now called {renamed.name}."))


@dataset_app.command("drop")
def drop(
    dataset: DatasetName,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    as_json: AsJson = False,
    server: Server = DEFAULT_SERVER,
    token_file: TokenFile = None,
) -> None:
    """Delete a dataset permanently; studies on it must be closed.

    For example:

    [bold]bentham dataset drop churn.csv --yes[/]
    """
    with connect(server, token_file) as client:
        found = find_dataset(client, dataset)
        confirm(f"Delete dataset {found.name!r} ({found.id})? Its content is lost.", yes)
        client.drop_dataset(found.id)
    if as_json:
        print_json(found)
    else:
        show(cell(f"Deleted dataset {found.name} ({found.id})."))


def upload(
    client: "Client", source: str, name: str | None = None, tenant: str | None = None
) -> tuple["DatasetView", str | None]:
    """Upload a file or a scikit-learn dataset; return it and its default target column, if any."""
    path = Path(source)
    if source.startswith(SOURCES):
        # Imported here, since it imports scikit-learn.
        from bentham.training.sources import fetch

        with waiting(f"Fetching {source}"):
            fetched = fetch(source)
        with waiting(f"Uploading {source}"):
            uploaded = client.add_dataset(name or source, fetched.content, fetched.format, tenant)
        return uploaded, fetched.target
    if not name and not path.name.isprintable():
        raise InvalidInput(f"{path.name!r} cannot be the name of a dataset; choose one with --name")
    with waiting(f"Uploading {path.name}"):
        uploaded = client.add_dataset(name or path.name, path, tenant=tenant)
    return uploaded, None


def find_dataset(
    client: "Client", text: str, tenant: str | None = None, kind: str = "dataset"
) -> "DatasetView":
    """Find a dataset by its id or name; your own take precedence over shared ones.

    `kind` is what the text may name.
    """
    visible = list(client.datasets())
    found = [
        dataset
        for dataset in visible
        if text in (dataset.id, dataset.name) and (tenant is None or dataset.tenant in ("", tenant))
    ]
    if not found:
        others = did_you_mean(
            text,
            [dataset.name for dataset in visible],
            "; bentham dataset list shows the existing ones, and bentham dataset add FILE adds one",
        )
        if Path(text).is_dir():
            others = "; the directory of that name is none: name a file in it"
        raise NotFound(f"there is no {kind} {text!r}{others}", 404)
    own = [dataset for dataset in found if dataset.tenant]
    if len(own) > 1:
        ids = ", ".join(dataset.id for dataset in own[:4])
        raise InvalidInput(f"{len(own)} datasets are named {text!r}; use the id instead: {ids}")
    return client.dataset((own or found)[0].id)  # all fields; lists omit some


@contextmanager
def waiting(text: str) -> Iterator[None]:
    """Show a spinner on a terminal during a slow operation."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status(escape(plain(text))):
        yield


def _sample(sample: tuple[str, str]) -> str:
    """Return a value as written and, unless it is obviously the same, as read."""
    written, read = sample
    try:
        same = float(written) == float(read)
    except ValueError:
        same = read in (written, "")
    return written if same else f"{written} = {read}"


def _show(dataset: "DatasetView") -> None:
    rows = [
        ("dataset", f"{dataset.name} ({dataset.id})"),
        ("owner", dataset.tenant or "shared"),
        (
            "size",
            f"{dataset.rows:,} rows x {len(dataset.columns):,} columns, {dataset.bytes:,} bytes",
        ),
        ("sha256", dataset.hash),
        *(("note", note) for note in dataset.notes),
    ]
    table = grid(["~column", "type", "?>missing", "?>values", "~as written = as read"])
    columns = dataset.columns
    more = len(columns) - MOST_COLUMNS
    # The last ones, too: the target is often there.
    listed = [*columns[:-LAST_COLUMNS][: MOST_COLUMNS - LAST_COLUMNS], *columns[-LAST_COLUMNS:]]
    for at, column in enumerate(listed):
        if more > 0 and at == MOST_COLUMNS - LAST_COLUMNS:
            table.add_row(f"... {more:,} more ...", "", "", "", "")
        table.add_row(
            column.name,
            column.type,
            f"{column.missing:,}" if column.missing else "-",
            f"{column.distinct:,}",
            "; ".join(map(_sample, column.samples)),
        )
    notes = likewise((column.name, column.note) for column in columns if column.note)
    show(fields(rows), table, *([fields(notes)] if notes else []))
    if more > 0:
        show(f"{more:,} columns are not listed; --json gives all")
