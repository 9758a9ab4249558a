"""Recordings: a run's settings and events as lines of JSON, to be read back and replayed.

The first line holds the format, the policy, the warm start, the seed and the prior (and, for the
oracle, the true scores that it knew); every further line is one event. Numbers survive exactly.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bentham.core import (
    Arm,
    Event,
    Prior,
    Scheduler,
    event_from_dict,
    event_to_dict,
    prior_from,
)
from bentham.errors import BenthamError, InvalidRecording
from bentham.sim.oracle import Oracle

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Recording:
    """What is needed to make a run's decisions again."""

    policy: str
    warm_start: str
    seed: int
    prior: Prior
    events: tuple[Event, ...]
    truth: Mapping[Arm, float] | None = None

    def scheduler(self) -> Scheduler:
        """A fresh scheduler with the settings of the recorded one."""
        policy = self.policy if self.truth is None else Oracle(self.truth)
        return Scheduler(self.prior, policy, warm_start=self.warm_start, seed=self.seed)


def write_recording(path: Path, recording: Recording) -> None:
    """Write a recording; an existing file is replaced."""
    try:
        with path.open("w", encoding="utf-8") as file:
            for line in _lines(recording):
                file.write(json.dumps(line, allow_nan=False) + "\n")
    except OSError as error:
        raise InvalidRecording(f"{path}: cannot be written ({error.strerror})") from None


def read_recording(path: Path) -> Recording:
    """Read a recording back."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise InvalidRecording(f"{path}: not a recording, since not UTF-8 text") from None
    except OSError as error:
        raise InvalidRecording(f"{path}: cannot be read ({error.strerror})") from None
    header, *events = _parsed(path, lines) or [{}]
    if header.get("format") != FORMAT:
        raise InvalidRecording(
            f"{path}: not a recording of format {FORMAT}; make one with bentham simulate --events"
        )
    try:
        truth = header.get("truth")
        return Recording(
            policy=header["policy"],
            warm_start=header["warm_start"],
            seed=header["seed"],
            prior=prior_from(header["prior"]),
            events=tuple(map(event_from_dict, events)),
            truth=None if truth is None else {Arm(d, m): score for d, m, score in truth},
        )
    except (KeyError, TypeError, ValueError, BenthamError) as error:
        raise InvalidRecording(f"{path}: not a whole recording ({error})") from None


def _lines(recording: Recording) -> Iterator[dict[str, Any]]:
    header: dict[str, Any] = {
        "format": FORMAT,
        "policy": recording.policy,
        "warm_start": recording.warm_start,
        "seed": recording.seed,
        "prior": recording.prior.describe(),
    }
    if recording.truth is not None:
        header["truth"] = [[*arm, score] for arm, score in recording.truth.items()]
    yield header
    yield from map(event_to_dict, recording.events)


def _parsed(path: Path, lines: Iterable[str]) -> list[dict[str, Any]]:
    parsed = []
    for number, line in enumerate(lines, start=1):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise InvalidRecording(f"{path}, row {number}: not a JSON object; is the file whole?")
        parsed.append(value)
    return parsed
