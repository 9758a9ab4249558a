"""Calls to the server, each in its own thread, so that devices do not wait for each other."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from bentham.errors import Conflict, NotAllowed, NotFound, Refused, ServiceError, Unavailable

Result = TypeVar("Result")
# Errors that are the server's final answer; after any other error, the call is retried.
ANSWERS = (NotAllowed, NotFound, Conflict, Refused)


class ServerCall(Generic[Result]):
    """A call in progress; once it is `done`, `result` returns its result or raises its error."""

    def __init__(self, function: Callable[[], Result]):
        self.done = False
        self._function = function
        self._result: Result | None = None
        self._error: Exception | None = None

    def run(self) -> None:
        """Make the call; store the result or the error."""
        try:
            self._result = self._function()
        except Exception as error:
            self._error = error
        self.done = True  # set last: a thread that sees it also sees the result

    def result(self) -> Result:
        """Return the result or raise the error."""
        if self._error is not None:
            raise self._error
        return self._result  # type: ignore[return-value]


class BackgroundCalls:
    """Starts calls; calls `ended` when one has finished."""

    def __init__(self, ended: Callable[[], None]):
        self._ended = ended

    def start(self, function: Callable[[], Result]) -> ServerCall[Result]:
        """Start a call in the background; its result may be ignored."""
        call = ServerCall(function)

        def run() -> None:
            call.run()
            self._ended()

        # A daemon thread: a server that does not respond must not keep the worker from exiting.
        threading.Thread(target=run, daemon=True).start()
        return call


def pause_after(error: ServiceError, tries: int, chance: float) -> float:
    """Return the seconds before a retry: doubling from 0.5 to 10, at least Retry-After."""
    retry_after = error.retry_after if isinstance(error, Unavailable) else None
    return max(retry_after or 0.0, min(10.0, 0.25 * 2.0 ** min(tries, 10)) * (0.5 + 0.5 * chance))
