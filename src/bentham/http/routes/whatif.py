"""What if there were more devices, or fewer: for operators."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from bentham import wire
from bentham.http.context import context_of, key_of, token_of
from bentham.http.openapi import PROBLEMS, Page
from bentham.http.responses import answered

router = APIRouter(prefix="/v1", responses=PROBLEMS, tags=["what if"])


@router.post("/whatif", status_code=202, response_model=wire.WhatIf)
async def ask_what_if(request: Request, asked: wire.WhatIfCreate) -> Response:
    """Ask when mean regret would fall below a level; the answer is computed in the background.

    One is computed at a time, four may wait, and the latest twenty are kept until the server
    ends. Takes an admin's token.
    """
    service, token = context_of(request).service, token_of(request)
    key = await key_of(request, token)
    return answered(await service.ask_what_if(token, asked, key), 202)


@router.get("/whatif", response_model=Page[wire.WhatIf])
async def list_what_ifs(request: Request) -> Response:
    """The latest questions and their answers, the newest first, without curves.

    Takes an admin's token.
    """
    items = await context_of(request).service.what_ifs(token_of(request))
    return answered({"items": items, "next": None})


@router.get("/whatif/{whatif}", response_model=wire.WhatIf)
async def show_what_if(request: Request, whatif: str) -> Response:
    """One question, and its answer as far as it is known. Takes an admin's token."""
    return answered(await context_of(request).service.what_if(token_of(request), whatif))


@router.delete("/whatif/{whatif}", response_model=wire.WhatIf)
async def cancel_what_if(request: Request, whatif: str) -> Response:
    """Cancel a question; what is known of its answer stays. Takes an admin's token."""
    return answered(await context_of(request).service.cancel_what_if(token_of(request), whatif))
