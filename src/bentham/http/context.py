"""What handlers use: the service, and the token, session, id and key of a request."""

import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any, Concatenate, ParamSpec, TypeVar

from starlette.requests import ClientDisconnect, Request

from bentham.http.metrics import Metrics
from bentham.http.sessions import Session, Sessions
from bentham.service import (
    NO_TOKEN,
    Invalid,
    Service,
    Stamp,
    Unauthenticated,
    View,
    scoped_key,
)

Result = TypeVar("Result")
Parameters = ParamSpec("Parameters")
_KEY = re.compile(r"[\x20-\x7e]{1,200}")


@dataclass(frozen=True, slots=True)
class Context:
    """Shared by all handlers; stored in `app.state`."""

    service: Service
    metrics: Metrics
    sessions: Sessions
    largest_upload: int  # bytes


def context_of(request: Request) -> Context:
    """Return the context of the app that serves the request."""
    context: Context = request.app.state.context
    return context


def token_of(request: Request) -> str:
    """Return the token of a request: from its `Authorization` header, else from its session."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token.strip():
        return token.strip()
    session = session_of(request)
    if session is None:
        raise Unauthenticated(NO_TOKEN)
    return session.token


def session_of(request: Request) -> Session | None:
    """Return the session of a request without `Authorization`; the middleware has checked it."""
    session: Session | None = request.scope.get("state", {}).get("session")
    return session


def request_id(request: Request) -> str:
    """Return the id of the request in the logs."""
    return str(request.scope.get("state", {}).get("request_id", ""))


async def key_of(request: Request, token: str) -> str:
    """Return the idempotency key as it is stored; empty if there is none."""
    key = request.headers.get("idempotency-key")
    if key is None:
        return ""
    if not _KEY.fullmatch(key):
        raise Invalid("the Idempotency-Key is invalid; send 1 to 200 printable ASCII characters")
    route = f"{request.method} {request.url.path}"
    return scoped_key(token, route, key, await request.body())


async def stamp_of(request: Request) -> Stamp:
    """Return the id and idempotency key of a request that changes something."""
    key = await key_of(request, token_of(request)) if request.method == "POST" else ""
    return Stamp(request_id(request), key)


async def body_parts(request: Request) -> AsyncIterator[bytes]:
    """Yield the body of an upload as it arrives."""
    try:
        async for part in request.stream():
            yield part
    except ClientDisconnect:
        raise Invalid("the upload was interrupted; send it again") from None


async def look(
    request: Request,
    query: Callable[Concatenate[Any, Parameters], Result],
    *args: Parameters.args,
    **options: Parameters.kwargs,
) -> Result:
    """Run a query with the permissions of the caller."""
    return await context_of(request).service.read(token_of(request), query, *args, **options)


async def change(
    request: Request,
    command: Callable[Concatenate[Any, Parameters], Any],
    *args: Parameters.args,
    **options: Parameters.kwargs,
) -> View:
    """Run a command with the permissions of the caller; return the body of the response."""
    service, stamp = context_of(request).service, await stamp_of(request)
    view = await service.write(token_of(request), stamp, command, *args, **options)
    return view or {}
