"""Routes for what-if questions: more or fewer devices. For operators."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from bentham import wire
from bentham.http.context import context_of, key_of, token_of
from bentham.http.openapi import PROBLEMS, Page
from bentham.http.responses import answered

router = APIRouter(prefix="/v1", responses=PROBLEMS, tags=["what if"])


@router.post("/whatif", status_code=202, response_model=wire.WhatIf)
async def ask_what_if(request: Request, body: wire.WhatIfCreate) -> Response:
    """Ask when mean regret would fall below a level; the answer is computed in the background.

    One question is computed at a time, up to four wait, and the latest twenty are kept until the
    server stops. Requires an admin token.
    """
    service, token = context_of(request).service, token_of(request)
    key = await key_of(request, token)
    return answered(await service.ask_what_if(token, body, key), 202)


@router.get("/whatif", response_model=Page[wire.WhatIf])
async def list_what_ifs(request: Request) -> Response:
    """List the latest questions and their answers, newest first, without curves.

    Requires an admin token.
    """
    items = await context_of(request).service.what_ifs(token_of(request))
    return answered({"items": items, "next": None})


@router.get("/whatif/{whatif}", response_model=wire.WhatIf)
async def show_what_if(request: Request, whatif: str) -> Response:
    """Show a question and its answer so far. Requires an admin token."""
    return answered(await context_of(request).service.what_if(token_of(request), whatif))


@router.delete("/whatif/{whatif}", response_model=wire.WhatIf)
async def cancel_what_if(request: Request, whatif: str) -> Response:
    """Cancel a question; its answer so far stays. Requires an admin token."""
    return answered(await context_of(request).service.cancel_what_if(token_of(request), whatif))
