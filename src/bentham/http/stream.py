"""The live stream of events (server-sent events), each caller's own."""

import asyncio
from collections.abc import AsyncIterator

from fastapi import APIRouter, Request
from starlette.responses import Response, StreamingResponse

from bentham.http.answers import encoded
from bentham.http.context import Context, context_of, look, session_of, token_of
from bentham.http.documents import PROBLEMS
from bentham.http.sessions import Session
from bentham.service.answers import answer
from bentham.service.feeds import Happening
from bentham.service.ledger import Ledger
from bentham.service.refusals import Invalid, Refusal, TooMany
from bentham.service.scope import Caller
from bentham.service.tokens import caller_of
from bentham.service.views import View, token_view, trial_view

router = APIRouter(prefix="/v1", responses=PROBLEMS)
ALIVE_SECONDS = 15.0
MOST_LISTENERS, MOST_OF_TOKEN = 1000, 50
_EXAMPLE = 'id: 7\nevent: trial-completed\ndata: {"id": "t_...", "state": "complete"}\n\n'


@router.get(
    "/events",
    tags=["events"],
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {"example": _EXAMPLE}}}},
)
async def stream_events(request: Request) -> Response:
    """What happens, as it happens: everything for an admin, a tenant's own for a tenant.

    `Last-Event-ID` goes on from there. An event `reset` means that some were missed: read anew.
    A stream that was opened by cookie keeps its session in use, and ends with it.
    """
    token = token_of(request)
    caller = await look(request, lambda _, caller, __: caller, "admin", "tenant")
    context = context_of(request)
    text = request.headers.get("last-event-id")
    if text is not None and not (text.isascii() and text.isdigit() and len(text) < 19):
        raise Invalid("Last-Event-ID is the id of an event of this stream")
    last = None if text is None else int(text)
    if context.listeners[caller.token] >= MOST_OF_TOKEN:
        raise TooMany(
            f"{MOST_OF_TOKEN} streams are open with this token, the most it may", (), 10.0
        )
    if context.listeners.total() >= MOST_LISTENERS:
        raise TooMany("as many streams are open as are possible; try later", (), 10.0)
    return StreamingResponse(
        _lines(context, token, session_of(request), caller, last),
        headers={"X-Accel-Buffering": "no"},  # else some proxies hand it on in large pieces
        media_type="text/event-stream",
    )


async def _lines(
    context: Context,
    token: str,
    session: Session | None,
    caller: Caller,
    last: int | None,
) -> AsyncIterator[bytes]:
    # Not before this is read from: of who hangs up by then, nothing would ever be let go.
    subscription, missed = context.engine.feeds.subscribe(caller.tenant, last)
    context.listeners[caller.token] += 1
    if session is not None:
        session.streams.add(subscription)
    try:
        yield b": hello\n\n" if missed is not None else b"event: reset\ndata: {}\n\n"
        for each in missed or ():
            if not _good(context, token, session):  # however slowly it takes what was missed
                return
            yield await _line(context, each)
        while not subscription.cut:
            if not _good(context, token, session):  # revoked or expired: it hears nothing more
                break
            try:
                async with asyncio.timeout(ALIVE_SECONDS):
                    happening = await subscription.queue.get()
            except TimeoutError:
                yield b": alive\n\n"
                continue
            if happening is None or not _good(context, token, session):
                break
            yield await _line(context, happening)
    except Refusal:  # the server stops or has lost its storage; the listener comes back
        pass
    finally:
        context.listeners[caller.token] -= 1
        if session is not None:
            session.streams.discard(subscription)
        context.engine.feeds.unsubscribe(caller.tenant, subscription)


def _good(context: Context, token: str, session: Session | None) -> bool:
    if session is not None and not context.sessions.use(session):
        return False
    ledger = context.engine.ledger
    try:
        caller_of(ledger.pool, token, ledger.now())
    except Refusal:
        if session is not None:
            context.sessions.end(session)
        return False
    return True


async def _line(context: Context, happening: Happening) -> bytes:
    number, kind, subject, time = happening

    def view(ledger: Ledger, _: Caller) -> View:
        try:
            if kind == "token-issued":
                return token_view(ledger.pool.tokens[subject])
            if kind == "trial-leased":  # the lease itself is its device's, and numbered for all
                return trial_view(ledger.pool.trials[subject], ledger.leases)
            return answer(ledger.pool, ledger.leases, ledger.now(), kind, subject)
        except (Refusal, KeyError, ValueError):  # gone since, or nothing that has a view
            return {"name": subject}

    # Asked for in turn, as everything is: what is not committed yet is not to be seen.
    body = encoded({"time": time, **await context.engine.ask(None, view)})
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (number, kind.encode(), body)
