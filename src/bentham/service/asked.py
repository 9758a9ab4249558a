"""A request in line, and what becomes of it."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from bentham.service.ledger import Ledger
from bentham.service.scope import Caller

Result = TypeVar("Result")


@dataclass(slots=True)
class Asked(Generic[Result]):
    """A request in line."""

    token: str | None  # None: the server itself asks
    carry_out: Callable[[Ledger, Caller], Result]
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
