"""uvicorn's HTTP protocol with time and size limits for slow clients."""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from bentham.http.middleware import RequestLimits

UPLOADS = b"/v1/datasets"


def protocol_within(bounds: RequestLimits) -> type["ImpatientProtocol"]:
    """Return the protocol class with these limits; uvicorn creates one instance per connection."""
    limits = {"header_seconds": bounds.header_seconds, "header_bytes": bounds.header_bytes,
              "body_seconds": bounds.body_seconds,
              "dataset_seconds": bounds.dataset_seconds}  # fmt: skip
    return type("ImpatientProtocol", (ImpatientProtocol,), limits)


class ImpatientProtocol(HttpToolsProtocol):
    """Closes connections whose headers or bodies take too long, or whose headers are too large.

    A body gets twice its time limit here, so that the middleware can answer 408 first. Between
    requests a connection may be idle for as long as uvicorn's keep-alive allows.
    """

    header_seconds, header_bytes, body_seconds = 10.0, 64 * 2**10, 30.0
    dataset_seconds = 600.0
    _timer: asyncio.TimerHandle | None = None
    _header_bytes = 0
    _in_header = True

    def connection_made(self, transport: Any) -> None:
        """Start the timer for the first request's headers."""
        super().connection_made(transport)
        self._expect_header()

    def data_received(self, data: bytes) -> None:
        """Count the bytes received before the headers are complete."""
        if self._in_header:
            if self._timer is None:
                self._expect_header()
            self._header_bytes += len(data)
            # The latest chunk is not counted: it may contain part of the body.
            if self._header_bytes - len(data) > self.header_bytes:
                self.transport.close()
                return
        super().data_received(data)

    def on_headers_complete(self) -> None:
        """Replace the timer for the headers by one for the body."""
        self._in_header = False
        self._stop_timer()
        upload = self.url.partition(b"?")[0] == UPLOADS
        seconds = self.dataset_seconds if upload else self.body_seconds
        self._timer = self.loop.call_later(2.0 * seconds, self._give_up)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Expect the next request's headers."""
        self._in_header, self._header_bytes = True, 0
        self._stop_timer()
        super().on_message_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._stop_timer()
        super().connection_lost(exc)

    def _expect_header(self) -> None:
        self._timer = self.loop.call_later(self.header_seconds, self._give_up)

    def _give_up(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
