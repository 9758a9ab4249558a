"""Forecasts when mean regret would fall below a level, with 1 to 64 devices.

Worlds are sampled from the current posterior (`core.worlds.draws`). Every number of devices is
simulated under both policies in the same worlds, so that differences are not sampling noise. The
current and the requested number of devices are simulated first, so that a first answer is available
soon; later worlds refine it.
"""

import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bentham.core.worlds.draws import Draw, draw
from bentham.forecast.simulation import Horizon, Simulation
from bentham.forecast.starting_point import StartingPoint
from bentham.forecast.summary import Summary, rounded
from bentham.service import Pool

DEVICES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
MOST_DEVICES = DEVICES[-1]
POLICIES: dict[str, str | None] = {"bentham": None, "round-robin": "round-robin"}
# Curves continue until mean regret is this share of the requested level.
BEYOND = 0.5
MOST_DECISIONS = 20_000
SECONDS = 540.0


@dataclass(frozen=True, slots=True)
class Question:
    """The parameters of a forecast; by default half the current regret and twice the devices."""

    regret: float | None = None
    devices: int | None = None
    draws: int = 16
    seed: int = 0


def forecast(
    pool: Pool,
    question: Question,
    now: float,
    away: Collection[str] = (),
    *,
    seconds: float = SECONDS,
    decisions: int = MOST_DECISIONS,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[dict[str, Any]]:
    """Yield the result piece by piece: the fields of each dict replace those before.

    The devices `away` do not count.

    After `seconds` it ends with the worlds simulated so far; each simulation makes at most
    `decisions` decisions. The pool is not changed, and must not be changed in the meantime.
    """
    deadline = clock() + seconds
    start = StartingPoint.of(pool, now, away)
    current = len(start.devices)
    requested = question.devices or max(1, min(MOST_DEVICES, 2 * current))
    draws = _draws(start, question.draws, question.seed)
    gaps = [start.scheduler.shortfall(study.id).gap for study in start.studies]
    estimate = sum(gaps) / max(1, len(gaps))
    regret = estimate / 2.0 if question.regret is None else question.regret
    yield {
        "sequence": start.sequence,
        "studies": len(start.studies),
        "now": current,
        "devices": requested,
        "estimate": rounded(estimate),
        "regret": rounded(regret),
        "notes": list(start.notes),
    }
    first = [number for number in dict.fromkeys((current, requested)) if number > 0]
    others = [number for number in DEVICES if number not in first]
    summary = Summary(regret, first)
    base = start.scheduler.frozen()
    rows = [(number, policy) for number in (*first, *others) for policy in POLICIES]
    count = question.draws if start.studies else 0
    total, done, worlds = len(rows) * count, 0, 0
    for world in draws[:count]:
        for number, policy in rows:
            if clock() > deadline:
                break
            horizon = Horizon(regret, decisions, BEYOND if number in first else None)
            scheduler = base.frozen(POLICIES[policy], question.seed)
            simulation = Simulation(start, scheduler, world, number)
            summary.add(number, policy, simulation.run(horizon))
            done += 1
            yield {"progress": done / total}
            if not worlds:  # show each row of the first world at once
                yield _results(summary, worlds)
        else:
            worlds += 1
            yield _results(summary, worlds)
            continue
        if worlds:  # some rows of the first world are better than none
            summary.truncate(worlds)
        break
    yield {
        **_results(summary, worlds),
        "progress": 1.0,
        "notes": [*start.notes, *_limit_notes(summary, worlds, count, decisions, seconds)],
    }


def _results(summary: Summary, worlds: int) -> dict[str, Any]:
    return {"answers": summary.answers(), "curves": summary.curves(), "simulated": worlds}


def _draws(start: StartingPoint, count: int, seed: int) -> list[Draw]:
    streams = [np.random.SeedSequence([seed, number]) for number in range(count)]
    return draw(start.scheduler, [np.random.default_rng(stream) for stream in streams])


def _limit_notes(
    summary: Summary, worlds: int, requested: int, decisions: int, seconds: float
) -> list[str]:
    """Return notes on what was not simulated because of a limit."""
    notes = []
    if summary.cut:
        notes.append(
            f"{summary.cut} simulations were stopped after {decisions:,} decisions; where a time "
            "is missing, it is later than that."
        )
    if worlds < requested:
        notes.append(
            f"After {seconds:g} seconds, {worlds} of {requested} draws were complete; the answers "
            "use only those."
        )
    return notes
