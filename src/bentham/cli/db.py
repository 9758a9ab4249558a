"""`bentham db`: make, upgrade and check the database of the service."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from bentham.storage import DEFAULT_FOLDER, place_of
from bentham.storage import check as check_database
from bentham.storage import upgrade as upgrade_database

db_app = typer.Typer(help="Look after the database of the service.", no_args_is_help=True)

Data = Annotated[
    Path, typer.Option("--data", metavar="DIR", help="The folder of the service's data (SQLite).")
]
Database = Annotated[
    str | None,
    typer.Option(
        "--database",
        metavar="URL",
        envvar="BENTHAM_DATABASE",
        help="PostgreSQL instead: postgresql://user:password@host:5432/name. The variable "
        "BENTHAM_DATABASE keeps the password out of the list of processes.",
        show_default=False,
        show_envvar=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


@db_app.command()
def upgrade(
    data: Data = DEFAULT_FOLDER, database: Database = None, as_json: AsJson = False
) -> None:
    """Make the tables, or bring those of an older Bentham to this version.

    Stop all instances and make a backup first; there is no way back to an older version.
    """
    place = place_of(database, data)
    before, after = upgrade_database(place)
    if as_json:
        print(json.dumps({"database": place.name, "before": before, "revision": after}))
    elif before is None:
        print(f"{place.name}: made the tables, revision {after}")
    elif before == after:
        print(f"{place.name}: nothing to do, revision {after} is the newest")
    else:
        print(f"{place.name}: upgraded from revision {before} to {after}")


@db_app.command()
def check(data: Data = DEFAULT_FOLDER, database: Database = None, as_json: AsJson = False) -> None:
    """Say whether this version can use the database; exit code 2 and the remedy if not."""
    condition = check_database(place_of(database, data))
    if as_json:
        result = {
            "database": condition.name,
            "revision": condition.revision,
            "events": condition.events,
            "warnings": list(condition.warnings),
        }
        print(json.dumps(result))
        return
    print(f"{condition.name}: revision {condition.revision}, {condition.events:,} events: in order")
    for warning in condition.warnings:
        print("bentham: warning:", warning, file=sys.stderr)
