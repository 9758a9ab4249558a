"""Recordings: a run's settings and events as JSON lines, which can be read and replayed.

The first line holds the format, the scheduler's settings, the number of events and the prior, and
for the oracle the true scores. Every further line is one event. Numbers are preserved exactly.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from bentham.core import (
    DEFAULT_ATTEMPTS,
    Arm,
    Event,
    LearnedPrior,
    PastCosts,
    Prior,
    Scheduler,
    event_from_dict,
    event_to_dict,
    prior_from,
)
from bentham.errors import BenthamError, InvalidRecording
from bentham.sim.oracle import Oracle

FORMAT = 1
Value = TypeVar("Value", str, int)


@dataclass(frozen=True, slots=True)
class Recording:
    """Everything that is needed to recompute a run's decisions."""

    policy: str
    warm_start: str
    seed: int
    prior: Prior | LearnedPrior
    events: tuple[Event, ...]
    cost_exponent: float = 1.0
    past_costs: PastCosts | None = None
    correct_costs: bool | None = None
    truth: Mapping[Arm, float] | None = None
    attempts: int = DEFAULT_ATTEMPTS

    def scheduler(self) -> Scheduler:
        """Return a new scheduler with the recorded settings."""
        policy = self.policy if self.truth is None else Oracle.knowing(self.truth)
        return Scheduler(
            self.prior,
            policy,
            warm_start=self.warm_start,
            cost_exponent=self.cost_exponent,
            past_costs=self.past_costs,
            correct_costs=self.correct_costs,
            seed=self.seed,
            attempts=self.attempts,
        )


def write_recording(path: Path, recording: Recording) -> None:
    """Write a recording; an existing file is replaced once the new one is complete."""
    part = path.with_name(path.name + ".partial")
    try:
        with part.open("w", encoding="utf-8") as file:
            for line in _lines(recording):
                file.write(json.dumps(line, allow_nan=False) + "\n")
        part.replace(path)
    except (OSError, ValueError) as error:  # a full disk, or a number that is not finite
        part.unlink(missing_ok=True)
        raise InvalidRecording(f"{path}: cannot be written ({error})") from None


def read_recording(path: Path) -> Recording:
    """Read a recording; raise InvalidRecording if it is incomplete or invalid."""
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError:
        raise InvalidRecording(f"{path}: not a recording: it is not UTF-8 text") from None
    except OSError as error:
        raise InvalidRecording(f"{path}: cannot be read ({error.strerror})") from None
    header, *events = _parsed(path, lines) or [{}]
    if header.get("format") != FORMAT or isinstance(header["format"], bool):
        raise InvalidRecording(
            f"{path}: not a recording of format {FORMAT}; make one with bentham simulate --events"
        )
    if header.get("events") != len(events):
        raise InvalidRecording(
            f"{path}: {len(events)} events where {header.get('events')} were written; "
            "the file was truncated or changed: use another copy"
        )
    try:
        truth = header.get("truth")
        if (truth is not None) != (header["policy"] == Oracle.name):
            raise InvalidRecording("only the oracle has true scores, and it must have them")
        return Recording(
            policy=_typed(header, "policy", str),
            warm_start=_typed(header, "warm_start", str),
            seed=_typed(header, "seed", int),
            attempts=_typed(header, "attempts", int),
            prior=prior_from(header["prior"]),
            events=tuple(map(event_from_dict, events)),
            cost_exponent=float(header.get("cost_exponent", 1.0)),
            past_costs=_past_costs(header.get("past_costs")),
            correct_costs=header.get("correct_costs"),
            truth=None if truth is None else {Arm(d, m): float(score) for d, m, score in truth},
        )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, BenthamError) as error:
        raise InvalidRecording(f"{path}: not a valid recording ({error})") from None


def _past_costs(data: Any) -> PastCosts | None:
    if data is None:
        return None
    return {
        str(dataset): {str(model): float(cost) for model, cost in costs.items()}
        for dataset, costs in data.items()
    }


def _typed(header: Mapping[str, Any], key: str, kind: type[Value]) -> Value:
    value = header[key]
    if not isinstance(value, kind) or isinstance(value, bool):
        raise InvalidRecording(f"{key} is {value!r}, not of type {kind.__name__}")
    return value


def _lines(recording: Recording) -> Iterator[dict[str, Any]]:
    header: dict[str, Any] = {
        "format": FORMAT,
        "policy": recording.policy,
        "warm_start": recording.warm_start,
        "seed": recording.seed,
        "attempts": recording.attempts,
        "cost_exponent": recording.cost_exponent,
        "correct_costs": recording.correct_costs,
        "events": len(recording.events),
        "prior": recording.prior.describe(),
    }
    if recording.past_costs is not None:
        header["past_costs"] = recording.past_costs
    if recording.truth is not None:
        header["truth"] = [[*arm, score] for arm, score in recording.truth.items()]
    yield header
    yield from map(event_to_dict, recording.events)


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _parsed(path: Path, lines: Iterable[str]) -> list[dict[str, Any]]:
    parsed = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line, parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise InvalidRecording(
                f"{path}, row {number}: not a JSON object; is the file complete?"
            )
        parsed.append(value)
    return parsed
