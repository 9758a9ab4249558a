"""What a handler works with: the desk, and the little that it must know of a request."""

import re
from collections import Counter
from collections.abc import Callable
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import Response

from bentham.http.answers import answered
from bentham.http.metrics import Metrics
from bentham.http.sessions import Session, Sessions
from bentham.service.commands import Command
from bentham.service.desk import Desk, scoped_key
from bentham.service.engine import Engine
from bentham.service.estimates import Estimates
from bentham.service.intake import Intake
from bentham.service.leases import Leases
from bentham.service.pool import Pool
from bentham.service.refusals import Invalid, Unauthenticated
from bentham.service.replays import Replays
from bentham.service.scope import Caller
from bentham.service.tokens import NO_TOKEN
from bentham.service.views import View
from bentham.service.whatifs import Forecaster, WhatIfs
from bentham.storage import Files
from bentham.training.catalog import Catalog

Result = TypeVar("Result")
_KEY = re.compile(r"[\x20-\x7e]{1,200}")


class Context:
    """What all handlers share; it lives in `app.state`."""

    def __init__(
        self,
        engine: Engine,
        metrics: Metrics,
        files: Files,
        catalog: Catalog,
        sessions: Sessions,
        forecaster: Forecaster | None = None,
    ):
        self.engine = engine
        self.sessions = sessions
        self.metrics = metrics
        self.desk = Desk(engine)
        self.intake = Intake(files)
        self.catalog = catalog
        self.estimates = Estimates()
        self.replays = Replays()
        self.whatifs = WhatIfs(forecaster, engine.clock.time)
        self.listeners: Counter[str] = Counter()  # open streams, by token

    @property
    def leases(self) -> Leases:
        """The leases of now; to be asked for in one's turn only."""
        return self.engine.ledger.leases


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


async def look(
    request: Request, at: Callable[[Pool, Caller, float], Result], *roles: str
) -> Result:
    """What a caller of these roles sees."""
    return await context_of(request).desk.read(token_of(request), at, *roles)


async def change(
    request: Request,
    command: Callable[[Caller], Command],
    *roles: str,
    status: int = 200,
    more: View | None = None,
    otherwise: Callable[[Pool, Caller, float], View] | None = None,
) -> Response:
    """Have a command carried out; `more` is added to what is answered."""
    token = token_of(request)
    key = await key_of(request, token) if request.method == "POST" else ""
    view = await context_of(request).desk.write(
        token, command, *roles, request=request_id(request), key=key, otherwise=otherwise
    )
    return answered({**(view or {}), **(more or {})}, status)
