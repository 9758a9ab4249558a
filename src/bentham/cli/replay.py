"""`bentham replay`: recompute the decisions of a recorded run and compare."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from bentham.cli.progress import progress_bar
from bentham.core import Decision, Event, verify
from bentham.core.problem.events import ArmStarted
from bentham.errors import IllegalEvent, InvalidInput, InvalidRecording
from bentham.sim import read_recording
from bentham.wording import counted

SHOWN = 5


def replay(
    recording: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="File written by [bold]bentham simulate --events[/]."),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Repeat every decision of a run recorded with bentham simulate --events.

    Exit code 1 if a decision differs.
    """
    recorded = read_recording(recording)
    decisions = sum(isinstance(event, ArmStarted) for event in recorded.events)
    try:
        with progress_bar(len(recorded.events)) as bar:
            bar.describe("replaying")

            def stepping() -> Iterator[Event]:
                for event in recorded.events:
                    yield event
                    bar.advance()

            differences = verify(recorded.scheduler(), stepping())
    except (IllegalEvent, InvalidInput, OverflowError) as error:
        raise InvalidRecording(
            f"{recording}: the events contradict each other ({error}); record the run again"
        ) from None
    if as_json:
        result = {
            "events": len(recorded.events),
            "decisions": decisions,
            "differences": [difference.recorded.trial for difference in differences],
        }
        print(json.dumps(result))
    elif not differences:
        events = counted(len(recorded.events), "event")
        print(f"recomputed {counted(decisions, 'decision')} from {events}: identical")
    else:
        print(f"{len(differences):,} of {decisions:,} decisions differ:")
        for difference in differences[:SHOWN]:
            was, now = _arm(difference.recorded), _arm(difference.remade)
            print(f"  trial {difference.recorded.trial}: recorded {was}, now {now}")
        if len(differences) > SHOWN:
            print(f"  ... and {len(differences) - SHOWN:,} more")
    raise typer.Exit(1 if differences else 0)


def _arm(decision: Decision | None) -> str:
    if decision is None:
        return "nothing"
    return f"{decision.study} / {decision.model} (value {decision.ranked:.6g})"
