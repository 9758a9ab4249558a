"""The live stream of events (server-sent events); each caller sees its own."""

import asyncio
from collections.abc import AsyncIterator

from fastapi import APIRouter, Request
from starlette.responses import Response, StreamingResponse

from bentham.http.context import Context, context_of, look, session_of, token_of
from bentham.http.openapi import PROBLEMS
from bentham.http.responses import encoded
from bentham.http.sessions import Session
from bentham.service import Caller, Invalid, Refusal, Told, queries

router = APIRouter(prefix="/v1", responses=PROBLEMS)
ALIVE_SECONDS = 15.0
_EXAMPLE = 'id: 7\nevent: trial-completed\ndata: {"id": "t_...", "state": "complete"}\n\n'


@router.get(
    "/events",
    tags=["events"],
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {"example": _EXAMPLE}}}},
)
async def stream_events(request: Request) -> Response:
    """Stream events as they happen: all events for an admin, its own for a tenant.

    `Last-Event-ID` resumes the stream after that event. An event `reset` means that events were
    missed: read the current state again. Messages without an id are not in the log: `device-away`
    and `device-back` for an admin, and `no-device` when it changes whether work waits while no
    device is alive. A stream opened by cookie keeps its session in use, and ends with it.
    """
    token = token_of(request)
    caller = await look(request, queries.owner)
    context = context_of(request)
    text = request.headers.get("last-event-id")
    if text is not None and not (text.isascii() and text.isdigit() and len(text) < 19):
        raise Invalid("the Last-Event-ID is invalid; send the id of an event of this stream")
    last = None if text is None else int(text)
    context.service.check_listeners(caller)
    return StreamingResponse(
        _lines(context, token, session_of(request), caller, last),
        headers={"X-Accel-Buffering": "no"},  # otherwise some proxies buffer it
        media_type="text/event-stream",
    )


async def _lines(
    context: Context,
    token: str,
    session: Session | None,
    caller: Caller,
    last: int | None,
) -> AsyncIterator[bytes]:
    # Subscribe here, not earlier: if the client disconnects before this runs, nothing would
    # unsubscribe it.
    with context.service.listening(caller, last) as (subscription, missed):
        if session is not None:
            session.streams.add(subscription)
        try:
            if missed is None:
                yield b"event: reset\ndata: {}\n\n"
            else:
                yield b": hello\n\n"
                async for message in missed:
                    if not _is_valid(context, token, session):  # the client may read slowly
                        return
                    yield _line(message)
            while not subscription.cut:
                if not _is_valid(context, token, session):  # revoked or expired
                    break
                try:
                    async with asyncio.timeout(ALIVE_SECONDS):
                        latest = await subscription.queue.get()
                except TimeoutError:
                    yield b": alive\n\n"
                    continue
                if latest is None or not _is_valid(context, token, session):
                    break
                yield _line(latest)
        except Refusal:  # the server stops or has lost its storage; the client reconnects
            pass
        finally:
            if session is not None:
                session.streams.discard(subscription)


def _is_valid(context: Context, token: str, session: Session | None) -> bool:
    if session is not None and not context.sessions.use(session):
        return False
    if context.service.ready and context.service.caller(token) is None:
        if session is not None:
            context.sessions.end(session)
        return False
    return True


def _line(message: Told) -> bytes:
    number = b"" if message.number is None else b"id: %d\n" % message.number
    return b"%sevent: %s\ndata: %s\n\n" % (number, message.kind.encode(), encoded(message.view))
