"""Routes to sign in and out from a browser."""

import structlog
from fastapi import APIRouter, Request
from starlette.responses import Response

from bentham import __version__, wire
from bentham.http.context import context_of, look, session_of
from bentham.http.openapi import PROBLEMS
from bentham.http.responses import answered
from bentham.http.sessions import ENDED, Session
from bentham.service import MESSAGES, Caller, Forbidden, Unauthenticated, queries, shown_kinds

router = APIRouter(prefix="/v1", responses=PROBLEMS, tags=["session"])
logger = structlog.get_logger("bentham.http")


@router.post("/session", response_model=wire.SessionView)
async def sign_in(request: Request, body: wire.SignIn) -> Response:
    """Sign in with an admin's or a tenant's token; the response sets a session cookie.

    The cookie replaces `Authorization` on every path. Changes by cookie also need the header
    `X-CSRF-Token`. A session ends with its token, after 12 hours without use (30 days with `keep`),
    and when the server restarts.
    """
    context, token = context_of(request), body.token.strip()
    caller, no_device = await context.service.read(token, queries.session)
    _refuse_device(caller)
    previous = session_of(request)
    if previous is not None:
        context.sessions.end(previous)
    session, cookie = context.sessions.begin(caller.token, token, body.keep)
    of = {} if caller.tenant is None else {"tenant": caller.tenant}
    logger.info("signed in", role=caller.role, **of, token=caller.token)
    response = _session_response(request, session.name, caller, no_device, session.csrf)
    response.headers["set-cookie"] = cookie
    return response


@router.get(
    "/session", response_model=wire.SessionView, responses={204: {"description": "Not signed in."}}
)
async def show_session(request: Request) -> Response:
    """Show whose the token is, or who is signed in by the cookie; 204 without either."""
    session = session_of(request)
    if session is None and "authorization" not in request.headers:
        return Response(status_code=204)
    caller, no_device = await look(request, queries.session)
    _refuse_device(caller)
    name = caller.token if session is None else session.name
    return _session_response(request, name, caller, no_device)


@router.delete("/session", status_code=204, response_class=Response)
async def sign_out(request: Request) -> Response:
    """Sign out: the session and its streams end; the token stays valid."""
    cookie = context_of(request).sessions.end(_required_session(request))
    return Response(status_code=204, headers={"set-cookie": cookie})


def _refuse_device(caller: Caller) -> None:
    if caller.role == "device":
        raise Forbidden("a device token cannot sign in; use an admin's or a tenant's token")


def _required_session(request: Request) -> Session:
    session = session_of(request)
    if session is None:
        raise Unauthenticated(ENDED)
    return session


def _session_response(
    request: Request, name: str, caller: Caller, no_device: bool, csrf: str | None = None
) -> Response:
    return answered(
        {
            "id": name,
            "role": caller.role,
            "tenant": caller.tenant,
            "csrf": csrf,
            "version": __version__,
            "largest_upload": context_of(request).largest_upload,
            "events": [*shown_kinds(), *MESSAGES],
            "no_device": no_device,
        }
    )
