"""A queued request and its outcome."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from bentham.service.engine.scope import Caller
from bentham.service.engine.working_state import WorkingState

Result = TypeVar("Result")


@dataclass(slots=True)
class PendingRequest(Generic[Result]):
    """A queued request."""

    token: str | None  # None for the server itself
    carry_out: Callable[[WorkingState, Caller], Result]
    done: "asyncio.Future[Result]"
    result: Any = None
    refusal: Exception | None = None

    def settle(self) -> None:
        """Deliver the outcome, unless the caller has gone or already received one."""
        if self.done.done():
            return
        if self.refusal is not None:
            self.done.set_exception(self.refusal)
        else:
            self.done.set_result(self.result)
