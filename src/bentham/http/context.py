"""What a handler works with: the service, and what it must know of a request."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Concatenate, ParamSpec, TypeVar

from starlette.requests import Request

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
    """What all handlers share; it lives in `app.state`."""

    service: Service
    metrics: Metrics
    sessions: Sessions


def context_of(request: Request) -> Context:
    """The context of the app that serves the request."""
    context: Context = request.app.state.context
    return context


def token_of(request: Request) -> str:
    """The token of a request: that of its `Authorization`, else that of its session."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token.strip():
        return token.strip()
    session = session_of(request)
    if session is None:
        raise Unauthenticated(NO_TOKEN)
    return session.token


def session_of(request: Request) -> Session | None:
    """The session of a request that came by cookie alone; the gate has found and checked it."""
    session: Session | None = request.scope.get("state", {}).get("session")
    return session


def request_id(request: Request) -> str:
    """The id that the request goes by in logs."""
    return str(request.scope.get("state", {}).get("request_id", ""))


async def key_of(request: Request, token: str) -> str:
    """The idempotency key as it is kept, empty if there is none."""
    key = request.headers.get("idempotency-key")
    if key is None:
        return ""
    if not _KEY.fullmatch(key):
        raise Invalid("an Idempotency-Key has 1 to 200 printable ASCII characters")
    route = f"{request.method} {request.url.path}"
    return scoped_key(token, route, key, await request.body())


async def stamp_of(request: Request) -> Stamp:
    """What else the service must know of a request that changes something."""
    key = await key_of(request, token_of(request)) if request.method == "POST" else ""
    return Stamp(request_id(request), key)


async def look(
    request: Request,
    query: Callable[Concatenate[Any, Parameters], Result],
    *args: Parameters.args,
    **options: Parameters.kwargs,
) -> Result:
    """What a query shows to the caller."""
    return await context_of(request).service.read(token_of(request), query, *args, **options)


async def change(
    request: Request,
    command: Callable[Concatenate[Any, Parameters], Any],
    *args: Parameters.args,
    **options: Parameters.kwargs,
) -> View:
    """Have a command carried out; what is answered."""
    service, stamp = context_of(request).service, await stamp_of(request)
    view = await service.write(token_of(request), stamp, command, *args, **options)
    return view or {}
