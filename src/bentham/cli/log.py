"""`bentham log`: export the service's event log, replay its decisions, save snapshots."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from bentham.cli.db import AsJson, Data, Database
from bentham.cli.files import check_writable
from bentham.cli.progress import progress_bar
from bentham.errors import InvalidInput
from bentham.storage import DEFAULT_FOLDER, Record, open_log
from bentham.wording import counted

log_app = typer.Typer(
    help="Export and replay the service's event log, and save snapshots.", no_args_is_help=True
)
SHOWN = 5


@log_app.command()
def export(
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File to write. [dim]\\[default: standard output][/]"),
    ] = None,
    after: Annotated[
        int, typer.Option(min=0, metavar="N", help="Only events after this sequence number.")
    ] = 0,
    data: Data = DEFAULT_FOLDER,
    database: Database = None,
) -> None:
    """Write the log as JSON lines: who did what, when, and every decision.

    You can run this while the service is running. The export contains no tokens and no hashes of
    tokens. For example:

    [bold]bentham log export --out log.jsonl && bentham log replay log.jsonl[/]
    """
    from bentham.service import export_lines

    if out is not None:
        check_writable(out, [])
    log = open_log(database, data, must_exist=True)
    try:
        with progress_bar(max(1, log.head() - after)) as bar:
            bar.describe("exporting")
            file = sys.stdout if out is None else out.open("w", encoding="utf-8")
            for line in export_lines(log.read(after=after)):
                file.write(line + "\n")
                bar.advance()
            if out is not None:
                file.close()
    finally:
        log.close()


@log_app.command()
def replay(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE", help="An exported log. [dim]\\[default: the service's own log][/]"
        ),
    ] = None,
    data: Data = DEFAULT_FOLDER,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Recompute every decision in the log; exit code 1 if any differs.

    On a different machine, rounding in the last digit may break a tie differently.
    """
    from bentham.service import Pool, ReplayDifference, read_lines, verify

    log = None if file is not None else open_log(database, data, must_exist=True)
    total = 1 if log is None else log.head()
    pool, differences = Pool(), list[ReplayDifference]()
    with progress_bar(total) as bar:
        bar.describe("replaying")
        records: Iterator[Record]
        records = read_lines(file) if file is not None else log.read() if log else iter(())
        for difference in verify(records, pool):
            if difference is not None:
                differences.append(difference)
            bar.advance()
    if log is not None:
        log.close()
    if not pool.sequence:
        raise InvalidInput("the log is empty; there is nothing to replay")
    decisions = len(pool.trials)
    if as_json:
        result: dict[str, Any] = {
            "events": pool.sequence,
            "decisions": decisions,
            "differences": [difference.trial for difference in differences],
        }
        print(json.dumps(result))
    elif not differences:
        events = counted(pool.sequence, "event")
        print(f"recomputed {counted(decisions, 'decision')} from {events}: identical")
    else:
        print(f"{len(differences):,} of {decisions:,} decisions differ:")
        for difference in differences[:SHOWN]:
            was, now = difference.recorded, difference.remade
            new = "nothing" if now is None else f"{now.study} {now.model} (value {now.ranked:.6g})"
            print(
                f"  event {difference.sequence}, trial {difference.trial}: recorded {was.study} "
                f"{was.model} (value {was.ranked:.6g}), now {new}"
            )
    raise typer.Exit(1 if differences else 0)


@log_app.command()
def snapshot(data: Data = DEFAULT_FOLDER, database: Database = None) -> None:
    """Save the current state as a snapshot, so that the next start does not read the full log.

    The service also does this automatically. You can run this while the service is running.
    """
    from bentham.service import recover, save_snapshot

    log = open_log(database, data, must_exist=True)
    try:
        with progress_bar(max(1, log.head())) as bar:
            bar.describe("reading the log")
            pool = recover(log, lambda done, _: bar.advance_to(done))
        size = save_snapshot(log, pool)
        print(f"saved {pool.sequence:,} events as a snapshot of {size / 2**20:.1f} MiB")
    finally:
        log.close()
