"""`bentham db`: create, upgrade and check the service's database."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from bentham.storage import DEFAULT_FOLDER, place_of
from bentham.storage import check as check_database
from bentham.storage import upgrade as upgrade_database

db_app = typer.Typer(help="Create, upgrade and check the service's database.", no_args_is_help=True)

Data = Annotated[
    Path,
    typer.Option(
        "--data", metavar="DIR", help="Directory for the SQLite database and the admin token."
    ),
]
Database = Annotated[
    str | None,
    typer.Option(
        "--database",
        metavar="URL",
        envvar="BENTHAM_DATABASE",
        help="Use PostgreSQL instead of SQLite: postgresql://user:pw@host/db. Set it in the "
        "environment variable BENTHAM_DATABASE to keep the password out of the process list. "
        "[dim]\\[default: SQLite in the directory of --data][/]",
        show_default=False,
        show_envvar=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


@db_app.command()
def upgrade(
    data: Data = DEFAULT_FOLDER, database: Database = None, as_json: AsJson = False
) -> None:
    """Create the tables, or upgrade those of an older version of Bentham.

    Stop all instances and make a backup first; a downgrade is not possible.
    """
    place = place_of(database, data)
    before, after = upgrade_database(place)
    if as_json:
        print(json.dumps({"database": place.name, "before": before, "revision": after}))
    elif before is None:
        print(f"{place.name}: created the tables, revision {after}")
    elif before == after:
        print(f"{place.name}: nothing to do, revision {after} is the latest")
    else:
        print(f"{place.name}: upgraded from revision {before} to {after}")


@db_app.command()
def check(data: Data = DEFAULT_FOLDER, database: Database = None, as_json: AsJson = False) -> None:
    """Check whether this version can use the database; if not, print what to do (exit code 2)."""
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
    print(f"{condition.name}: revision {condition.revision}, {condition.events:,} events: ok")
    for warning in condition.warnings:
        print("bentham: warning:", warning, file=sys.stderr)
