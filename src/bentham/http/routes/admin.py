"""Routes for tenants, tokens, history and the audit trail."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from bentham import wire
from bentham.http.context import change, context_of, look, token_of
from bentham.http.openapi import PROBLEMS, Page
from bentham.http.responses import answered
from bentham.service import Invalid, commands, new_token, queries
from bentham.tables import write_history

router = APIRouter(prefix="/v1", responses=PROBLEMS)


class CsvResponse(Response):
    """A table as CSV."""

    media_type = "text/csv"


@router.post("/tenants", status_code=201, response_model=wire.TenantView, tags=["tenants"])
async def create_tenant(request: Request, body: wire.TenantCreate) -> Response:
    """Create a tenant. Requires an admin token."""
    return answered(await change(request, commands.create_tenant, body), 201)


@router.get("/tenants", response_model=Page[wire.TenantView], tags=["tenants"])
async def list_tenants(request: Request) -> Response:
    """List all tenants; a tenant sees only itself."""
    return answered({"items": await look(request, queries.tenants), "next": None})


@router.get("/tenants/{tenant}", response_model=wire.TenantView, tags=["tenants"])
async def show_tenant(request: Request, tenant: str) -> Response:
    """Show a tenant: its weight, limits and usage."""
    return answered(await look(request, queries.tenant, tenant))


@router.patch("/tenants/{tenant}", response_model=wire.TenantView, tags=["tenants"])
async def change_tenant(request: Request, tenant: str, body: wire.TenantChange) -> Response:
    """Change a tenant's weight or limits. Requires an admin token."""
    return answered(await change(request, commands.change_tenant, tenant, body))


@router.post("/tokens", status_code=201, response_model=wire.IssuedToken, tags=["tokens"])
async def issue_token(request: Request, body: wire.TokenCreate) -> Response:
    """Issue a token. Store its secret: only this response contains it. Requires an admin token."""
    name, secret = new_token()
    view = await change(request, commands.issue_token, body, name, secret)
    return answered({**view, "secret": secret}, 201)


@router.get("/tokens", response_model=Page[wire.TokenView], tags=["tokens"])
async def list_tokens(request: Request) -> Response:
    """List all tokens, without their secrets. Requires an admin token."""
    return answered({"items": await look(request, queries.tokens), "next": None})


@router.delete("/tokens/{token}", response_model=wire.TokenView, tags=["tokens"])
async def revoke_token(request: Request, token: str) -> Response:
    """Revoke a token at once and permanently; devices that it registered leave."""
    return answered(await change(request, commands.revoke_token, token))


_CSV = {"text/csv": {"example": "study,model,score,cost\nwine,svm,0.91,30\nwine,forest,0.95,120\n"}}


@router.post(
    "/history",
    response_model=wire.ImportSummary,
    tags=["history"],
    openapi_extra={"requestBody": {"content": _CSV, "required": True}},
)
async def import_history(request: Request) -> Response:
    """Import past runs as CSV to set the prior: study, model, score and, if known, cost."""
    try:
        text = (await request.body()).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Invalid("the body is not UTF-8 text; send a UTF-8 CSV file") from None
    # Parsing a long file takes time, so a thread does it while other requests are served.
    loop = asyncio.get_running_loop()
    await look(request, queries.admin)
    history = await loop.run_in_executor(None, commands.parsed_history, text)
    return answered(await change(request, commands.import_history, history))


@router.get("/history", tags=["history"], response_class=CsvResponse)
async def export_history(request: Request) -> Response:
    """Export past runs and finished trials as CSV; a tenant gets only its own."""
    return CsvResponse(write_history(await look(request, queries.past_runs)))


@router.get("/log", response_model=Page[wire.LogRecord], tags=["log"])
async def read_log(
    request: Request,
    after: Annotated[int, Query(ge=0, lt=2**62)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """Read the audit trail: who did what, and when. Requires an admin token."""
    service = context_of(request).service
    views, following = await service.log_page(token_of(request), after, limit)
    return answered({"items": views, "next": following})
