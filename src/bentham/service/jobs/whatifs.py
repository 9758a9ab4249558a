"""What-ifs: computed one at a time by a forecaster; the latest results are kept.

They are kept in memory only: they are not in the log, and a restart discards them. The forecaster
must not block the event loop.
"""

import asyncio
import secrets
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Any, Protocol

import structlog

from bentham.errors import BenthamError
from bentham.service.refusals import Conflicting, Invalid, Missing
from bentham.service.views.entities import View
from bentham.service.views.overview import Moment
from bentham.wire.whatif import MOST_DEVICES, WhatIfCreate

MOST_WAITING, MOST_KEPT = 4, 20
_RESULT_FIELDS = frozenset({"progress", "simulated", "answers", "curves", "notes"})
logger = structlog.get_logger("bentham.whatif")


@dataclass(frozen=True, slots=True)
class Question:
    """What is computed: when mean regret falls below `regret`, from the moment it was asked."""

    regret: float
    devices: int
    draws: int
    sequence: int  # the last event before it was asked
    time: float
    away: tuple[str, ...] = ()  # devices that did not count


class Forecaster(Protocol):
    """Computes a what-if."""

    def __call__(self, question: Question) -> AsyncGenerator[dict[str, Any], None]:
        """Yield the result piece by piece: the fields of each replace those before.

        Raises a BenthamError if it fails, and stops at once when it is closed.
        """


class WhatIfs:
    """The what-ifs of one instance."""

    def __init__(self, forecaster: Forecaster | None):
        self._forecaster = forecaster
        self._views: dict[str, View] = {}  # oldest first
        self._questions: dict[str, Question] = {}  # waiting or running
        self._waiting: deque[str] = deque()
        self._keys: dict[str, str] = {}
        self._running: str | None = None
        self._task: asyncio.Task[None] | None = None

    def ask(self, body: WhatIfCreate, moment: Moment, key: str = "") -> View:
        """Queue a what-if, which starts from this moment, however long it waits."""
        if key and (known := self._find_by_key(key)) is not None:
            return known
        if self._forecaster is None:
            raise Conflicting("this server cannot compute what-ifs; start it with bentham serve")
        if len(self._waiting) >= MOST_WAITING:
            raise Conflicting(
                f"{MOST_WAITING} what-ifs are already waiting; wait until one ends, or cancel one"
            )
        name = f"w_{secrets.token_hex(8)}"
        regret = moment.regret / 2.0 if body.regret is None else body.regret
        devices = body.devices or max(1, min(MOST_DEVICES, 2 * moment.devices))
        self._views[name] = {
            "id": name, "state": "waiting", "progress": 0.0, "reason": "", "created": moment.time,
            "regret": regret, "devices": devices, "now": moment.devices, "estimate": moment.regret,
            "draws": body.draws, "simulated": 0, "studies": moment.studies,
            "sequence": moment.sequence, "answers": [], "curves": [], "notes": [],
        }  # fmt: skip
        self._questions[name] = Question(
            regret, devices, body.draws, moment.sequence, moment.time, moment.away
        )
        self._waiting.append(name)
        if key:
            self._keys[key] = name
        self._discard_old()
        self._start_next()
        return self._views[name]

    def all(self) -> list[View]:
        """Return all what-ifs, newest first, without curves, which would make the list long."""
        return [{**view, "curves": []} for view in reversed(self._views.values())]

    def find(self, name: str) -> View:
        """Return one what-if."""
        if name not in self._views:
            raise Missing(f"there is no what-if {name!r}; the latest {MOST_KEPT} are kept")
        return self._views[name]

    def cancel(self, name: str) -> View:
        """Cancel a what-if; its results so far are kept. One that has ended does not change."""
        view = self.find(name)
        if name in self._questions:
            view["state"], view["reason"] = "cancelled", "cancelled"
            del self._questions[name]
            if name == self._running:
                assert self._task is not None
                self._task.cancel()
            else:
                self._waiting.remove(name)
        return view

    async def close(self) -> None:
        """Cancel all what-ifs."""
        self._waiting.clear()
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    def _find_by_key(self, key: str) -> View | None:
        """Return the what-if with the same key; refuse a key that was used for another body."""
        route, _, body = key.partition(":")
        for known, name in self._keys.items():
            known_route, _, known_body = known.partition(":")
            if known_route == route:
                if known_body != body:
                    raise Invalid(
                        "this Idempotency-Key was used for another request; use a new one"
                    )
                return self._views[name]
        return None

    def _discard_old(self) -> None:
        ended = [name for name in self._views if name not in self._questions]
        for name in ended[: max(0, len(self._views) - MOST_KEPT)]:
            del self._views[name]
        self._keys = {key: name for key, name in self._keys.items() if name in self._views}

    def _start_next(self) -> None:
        if self._task is None and self._waiting:
            self._running = self._waiting.popleft()
            self._task = asyncio.get_running_loop().create_task(self._answer(self._running))
            self._task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._task = self._running = None
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("internal error in a what-if", exc_info=error)
        if not task.get_loop().is_closed():
            self._start_next()

    async def _answer(self, name: str) -> None:
        view, question, forecaster = self._views[name], self._questions[name], self._forecaster
        assert forecaster is not None
        view["state"] = "running"
        state, reason = "failed", "internal server error; the server's log has the details"
        try:
            async with aclosing(forecaster(question)) as pieces:
                async for piece in pieces:
                    view.update({key: piece[key] for key in _RESULT_FIELDS & piece.keys()})
            state, reason = "complete", ""
        except BenthamError as error:
            reason = str(error)
        except asyncio.CancelledError:
            state, reason = "cancelled", view["reason"] or "the server stopped"
            raise
        finally:
            view["state"], view["reason"] = state, reason
            self._questions.pop(name, None)
