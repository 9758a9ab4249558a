"""`bentham replay`: make the decisions of a recorded run again, and compare."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from bentham.cli.progress import progress_bar
from bentham.core import Decision, Event, verify
from bentham.core.events import TrialStarted
from bentham.errors import IllegalEvent, InvalidInput, InvalidRecording
from bentham.sim import read_recording

SHOWN = 5


def replay(
    recording: Annotated[
        Path, typer.Argument(metavar="FILE", help="What [bold]bentham simulate --events[/] wrote.")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Make every decision of a recorded run again; exit code 1 if any comes out otherwise."""
    recorded = read_recording(recording)
    decisions = sum(isinstance(event, TrialStarted) for event in recorded.events)
    try:
        with progress_bar(len(recorded.events)) as bar:
            bar.describe("replaying")

            def counted() -> Iterator[Event]:
                for event in recorded.events:
                    yield event
                    bar.advance()

            differences = verify(recorded.scheduler(), counted())
    except (IllegalEvent, InvalidInput, OverflowError) as error:
        raise InvalidRecording(f"{recording}: the events do not fit together ({error})") from None
    if as_json:
        result = {
            "events": len(recorded.events),
            "decisions": decisions,
            "differences": [difference.recorded.trial for difference in differences],
        }
        print(json.dumps(result))
    elif not differences:
        print(f"{decisions:,} decisions made again from {len(recorded.events):,} events: identical")
    else:
        print(f"{len(differences):,} of {decisions:,} decisions come out otherwise:")
        for difference in differences[:SHOWN]:
            was, now = _arm(difference.recorded), _arm(difference.remade)
            print(f"  trial {difference.recorded.trial}: recorded {was}, now {now}")
        if len(differences) > SHOWN:
            print(f"  ... and {len(differences) - SHOWN:,} more")
    raise typer.Exit(1 if differences else 0)


def _arm(decision: Decision | None) -> str:
    if decision is None:
        return "nothing"
    return f"{decision.study} / {decision.model} (EI rate {decision.rate:.6g})"
