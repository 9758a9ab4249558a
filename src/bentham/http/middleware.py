"""Middleware for every request: id, authentication, limits of size, time and rate, logging.

Plain ASGI, since it adds to the time of every request.
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

from bentham.http.metrics import Metrics
from bentham.http.responses import problem, refused
from bentham.http.sessions import ADDRESS, SAFE, Session, Sessions, check_change
from bentham.http.summary import RequestSummary
from bentham.service import NO_TOKEN, UNKNOWN, Caller, Refusal, Service, Unauthenticated

logger = structlog.get_logger("bentham.http")
_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_MODEL = re.compile(r"/v1/trials/[^/]+/model")
REMEMBERED = 10_000
# Default headers; a response may override each. A response that is opened in its own tab, such as a
# trial's log or a script, must not act as a page.
_DEFAULT_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """Limits of a request; a rate of 0 means no limit."""

    body_bytes: int = 64 * 2**10
    study_bytes: int = 2**20
    history_bytes: int = 32 * 2**20
    dataset_bytes: int = 64 * 2**20
    model_bytes: int = 128 * 2**20
    body_seconds: float = 30.0
    dataset_seconds: float = 600.0
    header_bytes: int = 64 * 2**10
    header_seconds: float = 10.0
    requests_per_second: float = 2000.0


class Gate:
    """Middleware around the whole app."""

    def __init__(
        self,
        app: ASGIApp,
        bounds: RequestLimits,
        metrics: Metrics,
        summary: RequestSummary,
        service: Service,
        sessions: Sessions,
    ):
        self._app, self._bounds = app, bounds
        self._metrics, self._summary = metrics, summary
        self._service, self._sessions = service, sessions
        self._rates = Rates(bounds.requests_per_second)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on to the app, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        headers = dict(scope["headers"])
        requested_id = headers.get(b"x-request-id", b"")
        name = (
            requested_id.decode() if _REQUEST_ID.fullmatch(requested_id) else secrets.token_hex(8)
        )
        scope.setdefault("state", {})["request_id"] = name
        status = 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                own = list(message.get("headers", ()))
                present = {header for header, _ in own}
                own += [default for default in _DEFAULT_HEADERS if default[0] not in present]
                message["headers"] = [*own, (b"x-request-id", name.encode())]
            await send(message)

        refusal = self._refusal(scope, headers, name)
        try:
            if refusal is not None:
                await refusal(scope, receive, sending)
            else:
                await self._app(scope, self._bounded(scope, receive, name, sending), sending)
        except _AlreadyAnswered:
            pass
        finally:
            self._note(scope, status, time.perf_counter() - began, name)

    def _refusal(self, scope: Scope, headers: dict[bytes, bytes], name: str) -> Response | None:
        """Return the refusal of a request before its body is read; None to pass it on."""
        scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
        session: Session | None = None
        if scheme.lower() == b"bearer":
            known = self._service.caller(token.decode("latin-1").strip())
        else:
            session, known = self._signed_in(headers.get(b"cookie", b""))
            scope["state"]["session"] = session
        client = scope.get("client") or ("", 0)
        # Only a valid token is counted by its id, so that no client can use up another's rate.
        if not self._rates.admit(known.token if known else client[0]):
            return problem(
                429,
                "Too many requests",
                f"more than {self._bounds.requests_per_second:g} requests per second; slow down",
                name,
                headers={"Retry-After": "1"},
            )
        named = sum(header == b"authorization" for header, _ in scope["headers"])
        if named > 1:
            return problem(400, "Bad request", "send one Authorization header, not several", name)
        has_credentials = named or session
        if known is None and _is_guarded(scope) and (self._service.ready or not has_credentials):
            explanation = self._sessions.explain(headers.get(b"cookie", b""))
            text = UNKNOWN if named else explanation or NO_TOKEN
            # GET /v1/session needs no session: it is the first request of the page.
            if text != NO_TOKEN or scope["path"] != ADDRESS or scope["method"] not in SAFE:
                return refused(Unauthenticated(text), name)
        if session or scope["path"] == ADDRESS:
            try:
                check_change(scope["method"], scope["path"], headers, session)
            except Refusal as refusal:
                return refused(refusal, name)
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length[:20]) > self._most(scope):
            return self._too_large(scope, name)
        return None

    def _signed_in(self, cookies: bytes) -> tuple[Session | None, Caller | None]:
        session = self._sessions.find(cookies) if cookies else None
        known = None if session is None else self._service.caller(session.token)
        if session and known is None and self._service.ready:  # its token expired or was revoked
            self._sessions.end(session)
            session = None
        return session, known

    def _most(self, scope: Scope) -> int:
        bounds = self._bounds
        if scope["path"] == "/v1/history":
            return bounds.history_bytes
        if scope["path"] == "/v1/datasets":
            return bounds.dataset_bytes
        if _MODEL.fullmatch(scope["path"]):
            return bounds.model_bytes
        return bounds.study_bytes if scope["path"] == "/v1/studies" else bounds.body_bytes

    def _too_large(self, scope: Scope, name: str) -> Response:
        remedy = "send less"
        if scope["path"] == "/v1/datasets":
            remedy = (
                "the operator can raise this limit (bentham serve --max-upload); otherwise draw a "
                "sample of the rows"
            )
        return problem(
            413,
            "Content too large",
            f"the body has more than {self._most(scope):,} bytes; {remedy}",
            name,
            headers={"Connection": "close"},
        )

    def _bounded(self, scope: Scope, receive: Receive, name: str, send: Send) -> Receive:
        """Wrap `receive` with the limits of size and time."""
        left = self._most(scope)
        upload = scope["path"] == "/v1/datasets" or _MODEL.fullmatch(scope["path"])
        seconds = self._bounds.dataset_seconds if upload else self._bounds.body_seconds
        until = time.monotonic() + seconds
        whole = False

        async def receiving() -> Message:
            nonlocal left, whole
            if whole:  # waiting for the client to disconnect has no time limit
                return await receive()
            try:
                async with asyncio.timeout(until - time.monotonic()):
                    message = await receive()
            except TimeoutError:
                slow = problem(
                    408, "Request timeout", "the body did not arrive in time; send it again", name,
                    headers={"Connection": "close"},
                )  # fmt: skip
                await slow(scope, receive, send)
                raise _AlreadyAnswered from None
            if message["type"] == "http.request":
                left -= len(message.get("body", b""))
                whole = not message.get("more_body", False)
                if left < 0:
                    await self._too_large(scope, name)(scope, receive, send)
                    raise _AlreadyAnswered
            return message

        return receiving

    def _note(self, scope: Scope, status: int, seconds: float, name: str) -> None:
        route = getattr(scope.get("route"), "path", "unknown")
        self._metrics.answered(scope["method"][:8], route, status, seconds)
        self._summary.add(scope["path"], status, seconds)
        logger.debug(
            "request",
            request=name,
            method=scope["method"],
            path=scope["path"][:200],
            status=status,
            milliseconds=round(1e3 * seconds, 2),
        )


def _is_guarded(scope: Scope) -> bool:
    path: str = scope["path"]
    if path == ADDRESS and scope["method"] == "POST":  # the token is in its body
        return False
    return path == "/metrics" or (path.startswith("/v1/") and path != "/v1/openapi.json")


class _AlreadyAnswered(BaseException):
    """The client has its response already; the app's own response is discarded.

    Not an Exception: FastAPI would turn one that is raised while it reads a body into a second
    response.
    """


class Rates:
    """A token bucket for each of the latest callers."""

    def __init__(self, per_second: float):
        self._rate = per_second
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def admit(self, caller: str) -> bool:
        """Return whether the caller may make one more request now."""
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
