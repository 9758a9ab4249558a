"""A request in line, and what becomes of it."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from bentham.service.engine.scope import Caller
from bentham.service.engine.working_state import WorkingState

Result = TypeVar("Result")


@dataclass(slots=True)
class PendingRequest(Generic[Result]):
    """A request in line."""

    token: str | None  # None: the server itself asks
    carry_out: Callable[[WorkingState, Caller], Result]
    done: "asyncio.Future[Result]"
    result: Any = None
    refusal: Exception | None = None

    def settle(self) -> None:
        """Tell whoever asked, unless they have gone or were told already."""
        if self.done.done():
            return
        if self.refusal is not None:
            self.done.set_exception(self.refusal)
        else:
            self.done.set_result(self.result)
