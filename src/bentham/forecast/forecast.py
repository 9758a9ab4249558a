"""When would mean regret fall below a level, with one device or with sixty-four?

Worlds are drawn from what is believed now (`core.draws`), and every number of devices under both
policies is tried in the very same worlds, so that what differs between them is no chance of the
draw. The first world is tried for the devices that there are and those asked for before all else:
a first answer is there soon, and gets better from then on.
"""

import time
from collections.abc import Callable, Iterator
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
# Curves are followed until mean regret is this share of the level asked for.
BEYOND = 0.5
MOST_DECISIONS = 20_000
SECONDS = 540.0


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: None is half of the regret of now, and twice the devices of now."""

    regret: float | None = None
    devices: int | None = None
    draws: int = 16
    seed: int = 0


def forecast(
    pool: Pool,
    question: Question,
    now: float,
    *,
    seconds: float = SECONDS,
    decisions: int = MOST_DECISIONS,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[dict[str, Any]]:
    """What is found out, piece by piece: each dict replaces what it names of those before.

    After `seconds` it ends with the worlds that it has; each is followed for so many `decisions`
    at most. The pool is not changed, and must not be changed meanwhile.
    """
    until = clock() + seconds
    start = StartingPoint.of(pool, now)
    there = len(start.devices)
    asked = question.devices or max(1, min(MOST_DEVICES, 2 * there))
    draws = _draws(start, question.draws, question.seed)
    gaps = [start.scheduler.shortfall(study.id).gap for study in start.studies]
    estimate = sum(gaps) / max(1, len(gaps))
    regret = estimate / 2.0 if question.regret is None else question.regret
    yield {
        "sequence": start.sequence,
        "studies": len(start.studies),
        "now": there,
        "devices": asked,
        "estimate": rounded(estimate),
        "regret": rounded(regret),
        "notes": list(start.notes),
    }
    first = [number for number in dict.fromkeys((there, asked)) if number > 0]
    others = [number for number in DEVICES if number not in first]
    summary = Summary(regret, first)
    base = start.scheduler.frozen()
    turns = [(number, policy) for number in (*first, *others) for policy in POLICIES]
    wanted = question.draws if start.studies else 0
    total, done, worlds = len(turns) * wanted, 0, 0
    for world in draws[:wanted]:
        for number, policy in turns:
            if clock() > until:
                break
            horizon = Horizon(regret, decisions, BEYOND if number in first else None)
            scheduler = base.frozen(POLICIES[policy], question.seed)
            simulation = Simulation(start, scheduler, world, number)
            summary.note(number, policy, simulation.run(horizon))
            done += 1
            yield {"progress": done / total}
            if not worlds:  # what is known of the first is worth showing at once
                yield _found(summary, worlds)
        else:
            worlds += 1
            yield _found(summary, worlds)
            continue
        if worlds:  # of the first one some rows are better than none
            summary.keep(worlds)
        break
    yield {
        **_found(summary, worlds),
        "progress": 1.0,
        "notes": [*start.notes, *_shortcomings(summary, worlds, wanted, decisions, seconds)],
    }


def _found(summary: Summary, worlds: int) -> dict[str, Any]:
    return {"answers": summary.answers(), "curves": summary.curves(), "simulated": worlds}


def _draws(start: StartingPoint, count: int, seed: int) -> list[Draw]:
    streams = [np.random.SeedSequence([seed, number]) for number in range(count)]
    return draw(start.scheduler, [np.random.default_rng(stream) for stream in streams])


def _shortcomings(
    summary: Summary, worlds: int, asked: int, decisions: int, seconds: float
) -> list[str]:
    """Where less was simulated than was asked for."""
    notes = []
    if summary.cut:
        notes.append(
            f"{summary.cut} simulations were given up after {decisions:,} decisions; where nothing "
            "is said of a time, it is later than that."
        )
    if worlds < asked:
        notes.append(
            f"After {seconds:g} seconds {worlds} of {asked} draws were simulated whole; the "
            "answers are from those."
        )
    return notes
