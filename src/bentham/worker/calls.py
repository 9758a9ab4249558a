"""Calls to the server, each in a thread of its own, so that no device waits for another's."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from bentham.errors import Conflict, NotAllowed, NotFound, Refused, ServiceError, Unavailable

Result = TypeVar("Result")
# Errors that are the server's answer; after any other it is asked again.
ANSWERS = (NotAllowed, NotFound, Conflict, Refused)


class ServerCall(Generic[Result]):
    """A call under way; when it is `done`, `result` returns or raises what came of it."""

    def __init__(self, function: Callable[[], Result]):
        self.done = False
        self._function = function
        self._result: Result | None = None
        self._error: Exception | None = None

    def run(self) -> None:
        """Make the call; nothing is raised here."""
        try:
            self._result = self._function()
        except Exception as error:
            self._error = error
        self.done = True  # last: who sees it sees the result, too

    def result(self) -> Result:
        """What came of it."""
        if self._error is not None:
            raise self._error
        return self._result  # type: ignore[return-value]


class BackgroundCalls:
    """Starts calls; `ended` is told of the end of each."""

    def __init__(self, ended: Callable[[], None]):
        self._ended = ended

    def start(self, function: Callable[[], Result]) -> ServerCall[Result]:
        """Begin a call. A call that nobody waits for any more ends unheard."""
        call = ServerCall(function)

        def run() -> None:
            call.run()
            self._ended()

        # A daemon: a server that does not answer must not keep the worker from ending.
        threading.Thread(target=run, daemon=True).start()
        return call


def pause_after(error: ServiceError, tries: int, chance: float) -> float:
    """How long to leave the server alone: doubling from half a second to ten, or as it asks."""
    asked = error.retry_after if isinstance(error, Unavailable) else None
    return max(asked or 0.0, min(10.0, 0.25 * 2.0 ** min(tries, 10)) * (0.5 + 0.5 * chance))
