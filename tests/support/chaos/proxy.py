"""A proxy between workers and servers that records every response and can inject faults.

With several servers it acts as a load balancer: it probes the readiness of each, and forwards
requests to the ready one.
"""

import asyncio
import contextlib
import random
import threading
from collections import Counter
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from itertools import count

from support.chaos.ledger import Ledger

PROBE_SECONDS = 0.2
SILENCE_SECONDS = 1.0  # timeout of a readiness probe


@dataclass(frozen=True, slots=True)
class Mischief:
    """The probability of each fault; each request gets at most one."""

    delay: float = 0.0
    cut_before: float = 0.0  # dropped before the server gets the request
    cut_after: float = 0.0  # executed by the server, but the response is dropped
    double: float = 0.0  # sent twice in a row
    late: float = 0.0  # sent again later, after the response
    longest: float = 0.2  # maximum of a delay, in seconds; a late repeat waits up to 4 times this


@dataclass(frozen=True, slots=True)
class Message:
    """A request or a response as raw bytes, with its parsed headers."""

    line: str
    headers: dict[str, str]
    head: bytes
    body: bytes

    def with_request_id(self, name: str) -> "Message":
        """Return the same request with a request id."""
        head = self.head[:-2] + f"X-Request-Id: {name}\r\n\r\n".encode()
        return Message(self.line, self.headers, head, self.body)


async def read_message(reader: asyncio.StreamReader) -> Message:
    """Read one message; its body must have a Content-Length, as in all of these tests."""
    head = await reader.readuntil(b"\r\n\r\n")
    line, *rest = head.decode("latin-1").split("\r\n")
    pairs = (field.split(":", 1) for field in rest if field)
    headers = {name.strip().lower(): value.strip() for name, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Message(line, headers, head, body)


class Upstream:
    """A connection to a server, opened on first use."""

    def __init__(self, port: int):
        self.port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, message: Message) -> Message:
        """Send a request and return the response; raise if the server closes the connection."""
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self._streams
        writer.write(message.head + message.body)
        return await read_message(reader)

    def close(self) -> None:
        """Close the connection."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


class Proxy:
    """Runs in its own thread, from construction until `close`."""

    def __init__(self, ports: Sequence[int], ledger: Ledger, seed: int):
        self.mischief = Mischief()
        self.injected: Counter[str] = Counter()  # injected faults, by kind
        self.port = 0
        self._ports, self._ledger = list(ports), ledger
        self._random = random.Random(seed)
        self._current = self._ports[0]
        self._upstreams: set[Upstream] = set()
        self._numbers = count(1)
        self._serving = False
        self._watched: tuple[int, threading.Event] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._end = asyncio.Event()
        started = threading.Event()
        self._thread = threading.Thread(
            target=lambda: self._loop.run_until_complete(self._run(started))
        )
        self._thread.start()
        started.wait()

    def close(self) -> None:
        """Stop, and close all connections."""
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join()
        self._loop.close()

    def watch(self, requests: int) -> threading.Event:
        """Return an event that is set after this number of requests to a serving server."""
        event = threading.Event()
        self._serving = False
        self._watched = requests, event
        return event

    async def _run(self, started: threading.Event) -> None:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        started.set()
        probing = asyncio.ensure_future(self._probe()) if len(self._ports) > 1 else None
        await self._end.wait()
        server.close()
        everything = [*self._tasks, *([probing] if probing else [])]
        for task in everything:
            task.cancel()
        await asyncio.gather(*everything, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        upstream = Upstream(self._current)
        self._upstreams.add(upstream)
        try:
            while True:
                request = await read_message(reader)
                reply = await self._handle(request, upstream, reader)
                if reply is None:
                    break
                writer.write(reply.head + reply.body)
                await writer.drain()
        except (OSError, EOFError, asyncio.CancelledError):
            pass  # one side closed its connection: close the other
        finally:
            upstream.close()
            self._upstreams.discard(upstream)
            self._tasks.discard(task)
            writer.close()
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _handle(
        self, request: Message, upstream: Upstream, reader: asyncio.StreamReader
    ) -> Message | None:
        """Return the response to forward; None to cut off the client."""
        kind = self._pick()
        if kind == "delay":
            await asyncio.sleep(self._random.uniform(0.0, self.mischief.longest))
        if kind == "cut_before":
            return None
        reply = await self._unless_disconnected(self._forward(request, upstream), reader)
        if reply is None:
            return None
        if kind == "double":
            await self._forward(request, upstream)
        if kind == "late":
            task = asyncio.ensure_future(self._repeat_later(request))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return None if kind == "cut_after" else reply

    async def _unless_disconnected(
        self, exchange: Coroutine[None, None, Message], reader: asyncio.StreamReader
    ) -> Message | None:
        """Return the response, or None if the client disconnects while waiting."""
        response, disconnected = (
            asyncio.ensure_future(exchange),
            asyncio.ensure_future(reader.read(1)),
        )
        try:
            await asyncio.wait((response, disconnected), return_when=asyncio.FIRST_COMPLETED)
            return response.result() if response.done() else None
        finally:
            for future in (response, disconnected):
                future.cancel()
            await asyncio.gather(response, disconnected, return_exceptions=True)

    def _pick(self) -> str:
        chance, mischief = self._random.random(), self.mischief
        for kind in ("delay", "cut_before", "cut_after", "double", "late"):
            chance -= getattr(mischief, kind)
            if chance < 0.0:
                self.injected[kind] += 1
                return kind
        return ""

    async def _forward(self, request: Message, upstream: Upstream) -> Message:
        if upstream.port != self._current:
            upstream.close()
            upstream.port = self._current
        self._count()
        # Each time a request is sent it gets a new id, so the log shows which one was executed.
        name = f"sent-{next(self._numbers)}"
        self._ledger.unanswered.add(name)
        reply = await upstream.ask(request.with_request_id(name))
        self._ledger.unanswered.discard(name)
        method, target, _ = request.line.split(" ")
        key = request.headers.get("idempotency-key", "")
        status = int(reply.line.split(" ")[1])
        self._serving = self._serving or status < 500
        self._ledger.record(f"{method} {target}", key, request.body, status, reply.body)
        return reply

    def _count(self) -> None:
        if self._serving and self._watched is not None:
            left, event = self._watched
            self._watched = left - 1, event
            if left <= 1:
                event.set()

    async def _repeat_later(self, request: Message) -> None:
        await asyncio.sleep(self._random.uniform(0.0, 4.0 * self.mischief.longest))
        upstream = Upstream(self._current)
        with contextlib.suppress(OSError, EOFError):
            await self._forward(request, upstream)
        upstream.close()

    # -- several servers

    async def _probe(self) -> None:
        while True:
            ready = await asyncio.gather(*(self._is_ready(port) for port in self._ports))
            healthy = [port for port, is_ready in zip(self._ports, ready, strict=True) if is_ready]
            if healthy and self._current not in healthy:
                self._current = healthy[0]
                for upstream in self._upstreams:
                    if upstream.port != self._current:
                        upstream.close()
            await asyncio.sleep(PROBE_SECONDS)

    async def _is_ready(self, port: int) -> bool:
        upstream = Upstream(port)
        request = Message("", {}, b"GET /readyz HTTP/1.1\r\nHost: bentham\r\n\r\n", b"")
        try:
            async with asyncio.timeout(SILENCE_SECONDS):
                reply = await upstream.ask(request)
            return " 200 " in reply.line
        except (OSError, EOFError, TimeoutError):
            return False
        finally:
            upstream.close()
