"""Forecasters for what-if tests: the real one without its process, and one that can be blocked."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection
from typing import Any

from bentham.errors import ForecastFailed
from bentham.forecast import Question, forecast
from bentham.service.fold.recovery import recover
from bentham.service.jobs.whatifs import Forecaster
from bentham.storage import EventLog
from bentham.wire import WhatIfCreate

Pieces = AsyncGenerator[dict[str, Any], None]


def in_process(make_log: Callable[[], EventLog]) -> Forecaster:
    """Forecast from the current log, on the caller's event loop."""

    async def answer(question: WhatIfCreate, now: float, away: Collection[str]) -> Pieces:
        log = make_log()
        pool = recover(log)
        log.close()
        parameters = Question(question.regret, question.devices, question.draws)
        for piece in forecast(pool, parameters, now, away):
            yield piece
            await asyncio.sleep(0)

    return answer


class Held:
    """Blocks until the test sets `opened`; three draws are refused, four raise an error."""

    def __init__(self) -> None:
        self.opened = False

    async def __call__(self, question: WhatIfCreate, now: float, _: Collection[str]) -> Pieces:
        yield {"progress": 0.5, "estimate": now, "secret": "not shown"}
        while not self.opened:
            await asyncio.sleep(0.001)
        if question.draws == 3:
            raise ForecastFailed("no forecast is possible")
        if question.draws == 4:
            raise ZeroDivisionError
