"""HTTP as uvicorn speaks it, and without patience for whoever never gets to the point."""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from bentham.http.middleware import Bounds

UPLOADS = b"/v1/datasets"


def protocol_within(bounds: Bounds) -> type["ImpatientProtocol"]:
    """The protocol with these limits; uvicorn makes one for every connection."""
    limits = {"header_seconds": bounds.header_seconds, "header_bytes": bounds.header_bytes,
              "body_seconds": bounds.body_seconds,
              "dataset_seconds": bounds.dataset_seconds}  # fmt: skip
    return type("ImpatientProtocol", (ImpatientProtocol,), limits)


class ImpatientProtocol(HttpToolsProtocol):
    """Closes connections whose headers or bodies take too long, or whose headers are too large.

    A body is given twice its time: the gate says 408 first, to whoever is answered yet at all.
    Between requests a connection may be silent for as long as uvicorn's keep-alive allows.
    """

    header_seconds, header_bytes, body_seconds = 10.0, 64 * 2**10, 30.0
    dataset_seconds = 600.0
    _timer: asyncio.TimerHandle | None = None
    _header_bytes = 0
    _in_header = True

    def connection_made(self, transport: Any) -> None:
        """The first request has to begin at once."""
        super().connection_made(transport)
        self._expect_header()

    def data_received(self, data: bytes) -> None:
        """Count what comes before the headers are whole."""
        if self._in_header:
            if self._timer is None:
                self._expect_header()
            self._header_bytes += len(data)
            # A body may come in the same piece as the headers that announce it: be generous once.
            if self._header_bytes - len(data) > self.header_bytes:
                self.transport.close()
                return
        super().data_received(data)

    def on_headers_complete(self) -> None:
        """The request has begun."""
        self._in_header = False
        self._stop_timer()
        upload = self.url.partition(b"?")[0] == UPLOADS
        seconds = self.dataset_seconds if upload else self.body_seconds
        self._timer = self.loop.call_later(2.0 * seconds, self._give_up)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The next bytes are the next request's headers."""
        self._in_header, self._header_bytes = True, 0
        self._stop_timer()
        super().on_message_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing to wait for."""
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
