"""The gate that every request passes: an id, limits of size, time and rate, a line in the log.

Plain ASGI, since every request pays for it.
"""

import asyncio
import re
import secrets
import time
from collections import OrderedDict
from dataclasses import dataclass

import structlog
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bentham.http.answers import problem, refused
from bentham.http.metrics import Metrics
from bentham.service.engine import Engine
from bentham.service.refusals import Unauthenticated
from bentham.service.scope import Caller
from bentham.service.tokens import NO_TOKEN, UNKNOWN, caller_of

logger = structlog.get_logger("bentham.http")
_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
# What devices say all the time is only logged when it goes wrong.
_BUSY = re.compile(r"/(lease|heartbeat|complete)$|^/(healthz|readyz|metrics)$")
REMEMBERED = 10_000


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a request may be at most; a rate of 0 is no limit."""

    body_bytes: int = 64 * 2**10
    study_bytes: int = 2**20
    history_bytes: int = 32 * 2**20
    dataset_bytes: int = 64 * 2**20
    body_seconds: float = 30.0
    dataset_seconds: float = 600.0
    header_bytes: int = 64 * 2**10
    header_seconds: float = 10.0
    requests_per_second: float = 2000.0


class Gate:
    """Middleware around the whole app."""

    def __init__(self, app: ASGIApp, bounds: Bounds, metrics: Metrics, engine: Engine):
        self._app, self._bounds, self._metrics = app, bounds, metrics
        self._engine = engine
        self._rates = Rates(bounds.requests_per_second)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or send it away."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        headers = dict(scope["headers"])
        given = headers.get(b"x-request-id", b"")
        name = given.decode() if _REQUEST_ID.fullmatch(given) else secrets.token_hex(8)
        scope.setdefault("state", {})["request_id"] = name
        status = 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [
                    *message.get("headers", ()),
                    (b"x-request-id", name.encode()),
                    (b"x-content-type-options", b"nosniff"),
                    (b"cache-control", b"no-store"),
                ]
            await send(message)

        refusal = self._refusal(scope, headers, name)
        try:
            if refusal is not None:
                await refusal(scope, receive, sending)
            else:
                await self._app(scope, self._bounded(scope, receive, name, sending), sending)
        except _SentAway:
            pass
        finally:
            self._note(scope, status, time.perf_counter() - began, name)

    def _refusal(self, scope: Scope, headers: dict[bytes, bytes], name: str) -> Response | None:
        """Why it is sent away before anything of its body is read."""
        known = self._caller(headers)
        client = scope.get("client") or ("", 0)
        # Only who has shown the secret is counted by the token: nobody can use up another's rate.
        if not self._rates.admit(known.token if known else client[0]):
            return problem(
                429,
                "Too many requests",
                f"more than {self._bounds.requests_per_second:g} requests a second; slow down",
                name,
                headers={"Retry-After": "1"},
            )
        named = sum(header == b"authorization" for header, _ in scope["headers"])
        if named > 1:
            return problem(400, "Bad request", "send one Authorization header, not several", name)
        if known is None and _is_guarded(scope["path"]) and (self._engine.ready or not named):
            return refused(Unauthenticated(UNKNOWN if named else NO_TOKEN), name)
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length[:20]) > self._most(scope):
            return self._too_large(scope, name)
        return None

    def _caller(self, headers: dict[bytes, bytes]) -> Caller | None:
        scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
        if scheme.lower() != b"bearer" or not self._engine.ready:
            return None
        ledger = self._engine.ledger
        try:
            return caller_of(ledger.pool, token.decode("latin-1").strip(), ledger.now())
        except Unauthenticated:
            return None

    def _most(self, scope: Scope) -> int:
        bounds = self._bounds
        if scope["path"] == "/v1/history":
            return bounds.history_bytes
        if scope["path"] == "/v1/datasets":
            return bounds.dataset_bytes
        return bounds.study_bytes if scope["path"] == "/v1/studies" else bounds.body_bytes

    def _too_large(self, scope: Scope, name: str) -> Response:
        return problem(
            413,
            "Too large",
            f"the body has more than {self._most(scope):,} bytes; send less",
            name,
            headers={"Connection": "close"},
        )

    def _bounded(self, scope: Scope, receive: Receive, name: str, send: Send) -> Receive:
        """What is received, up to the limits of size and time."""
        left = self._most(scope)
        upload = scope["path"] == "/v1/datasets"
        seconds = self._bounds.dataset_seconds if upload else self._bounds.body_seconds
        until = time.monotonic() + seconds
        whole = False

        async def receiving() -> Message:
            nonlocal left, whole
            if whole:  # the wait for a client that hangs up may be as long as it likes
                return await receive()
            try:
                message = await asyncio.wait_for(receive(), max(0.0, until - time.monotonic()))
            except TimeoutError:
                slow = problem(
                    408, "Too slow", "the body did not arrive in time; send it again", name,
                    headers={"Connection": "close"},
                )  # fmt: skip
                await slow(scope, receive, send)
                raise _SentAway from None
            if message["type"] == "http.request":
                left -= len(message.get("body", b""))
                whole = not message.get("more_body", False)
                if left < 0:
                    await self._too_large(scope, name)(scope, receive, send)
                    raise _SentAway
            return message

        return receiving

    def _note(self, scope: Scope, status: int, seconds: float, name: str) -> None:
        route = getattr(scope.get("route"), "path", "unknown")
        self._metrics.answered(scope["method"][:8], route, status, seconds)
        write = logger.debug if status < 400 and _BUSY.search(scope["path"]) else logger.info
        write(
            "request",
            request=name,
            method=scope["method"],
            path=scope["path"][:200],
            status=status,
            milliseconds=round(1e3 * seconds, 2),
        )


def _is_guarded(path: str) -> bool:
    return path == "/metrics" or (path.startswith("/v1/") and path != "/v1/openapi.json")


class _SentAway(BaseException):
    """The client has its answer; what the app would say is of no interest.

    No Exception, since FastAPI would answer one from within a body a second time.
    """


class Rates:
    """A token bucket for each caller, the latest callers remembered."""

    def __init__(self, per_second: float):
        self._rate = per_second
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def admit(self, caller: str) -> bool:
        """Whether one more request of the caller is all right now."""
        if not self._rate:
            return True
        now = time.monotonic()
        most = 2.0 * self._rate
        level, since = self._buckets.pop(caller, (most, now))
        level = min(most, level + (now - since) * self._rate)
        admitted = level >= 1.0
        self._buckets[caller] = (level - 1.0 if admitted else level, now)
        if len(self._buckets) > REMEMBERED:
            self._buckets.popitem(last=False)
        return admitted
