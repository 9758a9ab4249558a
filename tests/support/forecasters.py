"""Forecasters for what-if tests: the real one without its process, and one that can be blocked."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any

from bentham.errors import ForecastFailed
from bentham.forecast import forecast
from bentham.service import Question
from bentham.service.fold.recovery import recover
from bentham.service.jobs.whatifs import Forecaster
from bentham.storage import EventLog

Pieces = AsyncGenerator[dict[str, Any], None]


def in_process(make_log: Callable[[], EventLog]) -> Forecaster:
    """Forecast from the current log, on the caller's event loop."""

    async def answer(question: Question) -> Pieces:
        log = make_log()
        pool = recover(log, until=question.sequence)
        log.close()
        for piece in forecast(pool, question):
            yield piece
            await asyncio.sleep(0)

    return answer


class Held:
    """Blocks until the test sets `opened`; three draws are refused, four raise an error."""

    def __init__(self) -> None:
        self.opened = False
        self.asked: list[Question] = []

    async def __call__(self, question: Question) -> Pieces:
        self.asked.append(question)
        yield {"progress": 0.5, "simulated": 1, "secret": "not shown"}
        while not self.opened:
            await asyncio.sleep(0.001)
        if question.draws == 3:
            raise ForecastFailed("no forecast is possible")
        if question.draws == 4:
            raise ZeroDivisionError
