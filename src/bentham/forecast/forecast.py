"""Forecasts when mean regret would fall below a level, with 1 to 64 devices.

Worlds are sampled from the current posterior (`core.worlds.draws`). Every number of devices is
simulated under both policies in the same worlds, so that differences are not sampling noise. The
current and the requested number of devices are simulated first, so that a first answer is available
soon; later worlds refine it.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bentham.core.worlds.draws import Draw, draw
from bentham.forecast.simulation import Horizon, Simulation
from bentham.forecast.starting_point import StartingPoint
from bentham.forecast.summary import Summary
from bentham.service import Pool, Question
from bentham.wording import counted

DEVICES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
POLICIES: dict[str, str | None] = {"bentham": None, "round-robin": "round-robin"}
# Curves continue until mean regret is this share of the requested level.
BEYOND = 0.5
MOST_DECISIONS = 20_000
SECONDS = 540.0


def forecast(
    pool: Pool,
    question: Question,
    *,
    seed: int = 0,
    seconds: float = SECONDS,
    decisions: int = MOST_DECISIONS,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[dict[str, Any]]:
    """Yield the result piece by piece: the fields of each dict replace those before.

    `pool` is the state when the question was asked. It is not changed, and must not be changed in
    the meantime. After `seconds` the forecast ends with the worlds simulated so far; each
    simulation makes at most `decisions` decisions.
    """
    deadline, regret = clock() + seconds, question.regret
    start = StartingPoint.of(pool, question.time, question.away)
    yield {"notes": list(start.notes)}
    draws = _draws(start, question.draws, seed)
    numbers = dict.fromkeys((len(start.devices), question.devices))
    first = [number for number in numbers if number > 0]
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
            scheduler = base.frozen(POLICIES[policy], seed)
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
        "notes": [
            *start.notes,
            *_limit_notes(summary, decisions),
            *_time_notes(done, len(rows), count, seconds),
        ],
    }


def _results(summary: Summary, worlds: int) -> dict[str, Any]:
    answers = summary.answers()
    # The first world counts as soon as one of its rows is known, because the answers show it.
    simulated = max(worlds, 1 if answers else 0)
    return {"answers": answers, "curves": summary.curves(), "simulated": simulated}


def _draws(start: StartingPoint, count: int, seed: int) -> list[Draw]:
    streams = [np.random.SeedSequence([seed, number]) for number in range(count)]
    return draw(start.scheduler, [np.random.default_rng(stream) for stream in streams])


def _limit_notes(summary: Summary, decisions: int) -> list[str]:
    if not summary.cut:
        return []
    return [
        f"{counted(summary.cut, 'simulation')} stopped after {decisions:,} decisions; where a time "
        "is missing, it is later than that."
    ]


def _time_notes(done: int, rows: int, draws: int, seconds: float) -> list[str]:
    """Return a note on what was not simulated for lack of time; `done` simulations were."""
    if done == rows * draws:
        return []
    if done >= rows:
        return [
            f"After {seconds:g} seconds, {done // rows} of {draws} draws were complete; the "
            "answers use only those."
        ]
    if done:
        return [
            f"After {seconds:g} seconds, the first of {draws} draws was not complete; the answers "
            f"use {done} of its {rows} simulations. They show no uncertainty, and some numbers of "
            "devices are missing."
        ]
    return [f"After {seconds:g} seconds, not even one simulation was complete."]
