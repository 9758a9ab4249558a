"""Tenants, tokens, history, the audit trail."""

import asyncio
import itertools
import json
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from bentham import wire
from bentham.errors import StorageUnavailable
from bentham.http.answers import answered
from bentham.http.context import change, context_of, look
from bentham.http.documents import PROBLEMS, Page
from bentham.service import commands
from bentham.service.pool import Pool
from bentham.service.refusals import Invalid, Unready
from bentham.service.scope import Caller, Scope
from bentham.service.tokens import new_token
from bentham.service.views import View, tenant_view, token_view
from bentham.storage import Record
from bentham.tables import write_history

router = APIRouter(prefix="/v1", responses=PROBLEMS)
Run = tuple[str, str, float, float | None]


class CsvResponse(Response):
    """A table."""

    media_type = "text/csv"


@router.post("/tenants", status_code=201, response_model=wire.Tenant, tags=["tenants"])
async def create_tenant(request: Request, asked: wire.TenantCreate) -> Response:
    """Create a tenant. Takes an admin's token."""
    return await change(request, lambda _: commands.create_tenant(asked), "admin", status=201)


@router.get("/tenants", response_model=Page[wire.Tenant], tags=["tenants"])
async def list_tenants(request: Request) -> Response:
    """All tenants for an admin; a tenant sees itself."""

    def at(pool: Pool, caller: Caller, now: float) -> list[View]:
        return [tenant_view(tenant, now) for tenant in Scope(pool, caller).tenants()]

    return answered({"items": await look(request, at, "admin", "tenant"), "next": None})


@router.get("/tenants/{tenant}", response_model=wire.Tenant, tags=["tenants"])
async def show_tenant(request: Request, tenant: str) -> Response:
    """One tenant: its weight, its limits, what it uses."""

    def at(pool: Pool, caller: Caller, now: float) -> View:
        return tenant_view(Scope(pool, caller).tenant(tenant), now)

    return answered(await look(request, at, "admin", "tenant"))


@router.patch("/tenants/{tenant}", response_model=wire.Tenant, tags=["tenants"])
async def change_tenant(request: Request, tenant: str, asked: wire.TenantChange) -> Response:
    """Change a tenant's weight or limits. Takes an admin's token."""
    return await change(
        request, lambda caller: commands.change_tenant(caller, tenant, asked), "admin"
    )


@router.post("/tokens", status_code=201, response_model=wire.IssuedToken, tags=["tokens"])
async def issue_token(request: Request, asked: wire.TokenCreate) -> Response:
    """Issue a token. Its secret is in this answer and nowhere else: keep it."""
    name, secret = new_token()
    command = commands.issue_token(asked, name, secret)
    return await change(request, lambda _: command, "admin", status=201, more={"secret": secret})


@router.get("/tokens", response_model=Page[wire.Token], tags=["tokens"])
async def list_tokens(request: Request) -> Response:
    """All tokens, without their secrets. Takes an admin's token."""

    def at(pool: Pool, caller: Caller, now: float) -> list[View]:  # noqa: ARG001
        return [token_view(each) for each in pool.tokens.values()]

    return answered({"items": await look(request, at, "admin"), "next": None})


@router.delete("/tokens/{token}", response_model=wire.Token, tags=["tokens"])
async def revoke_token(request: Request, token: str) -> Response:
    """Revoke a token at once and for good; devices that it registered leave."""

    def unchanged(pool: Pool, caller: Caller, now: float) -> View:  # noqa: ARG001
        return token_view(Scope(pool, caller).token(token))

    return await change(
        request,
        lambda caller: commands.revoke_token(caller, token),
        "admin",
        otherwise=unchanged,
    )


_CSV = {"text/csv": {"example": "study,model,score,cost\nwine,svm,0.91,30\nwine,forest,0.95,120\n"}}


@router.post(
    "/history",
    response_model=wire.HistoryImported,
    tags=["history"],
    openapi_extra={"requestBody": {"content": _CSV, "required": True}},
)
async def import_history(request: Request) -> Response:
    """Import past runs as CSV, to set the prior: study, model, score and, where known, cost."""
    try:
        text = (await request.body()).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Invalid("the body is not UTF-8 text; send a UTF-8 CSV file") from None
    # A long file takes a while to read: not while everybody waits.
    loop = asyncio.get_running_loop()
    await look(request, lambda *_: None, "admin")
    history = await loop.run_in_executor(None, commands.parsed_history, text)
    return await change(request, lambda _: commands.import_history(history), "admin")


@router.get("/history", tags=["history"], response_class=CsvResponse)
async def export_history(request: Request) -> Response:
    """Past runs and finished trials as CSV; a tenant gets its own."""

    def at(pool: Pool, caller: Caller, now: float) -> list[Run]:  # noqa: ARG001
        scope = Scope(pool, caller)
        # Each arm once, the latest: what is exported can be imported.
        runs: dict[tuple[str, str], Run] = {}
        for history in pool.history if scope.everything else ():
            for study, scores in history.items():
                for model, (score, cost) in scores.items():
                    runs[study, model] = study, model, score, cost
        for trial in scope.trials(state="complete"):
            prefix = f"{trial.study.tenant.name}/" if scope.everything else ""
            taken = (trial.ended or trial.started) - trial.started
            name = f"{prefix}{trial.study.dataset}"
            cost = taken if taken > 0.0 else None
            runs[name, trial.model] = name, trial.model, trial.score or 0.0, cost
        return list(runs.values())

    runs = await look(request, at, "admin", "tenant")
    return CsvResponse(write_history(runs))


@router.get("/log", response_model=Page[wire.LogRecord], tags=["log"])
async def read_log(
    request: Request,
    after: Annotated[int, Query(ge=0, lt=2**62)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """The audit trail: who did what, when. Takes an admin's token."""
    head = await look(request, lambda pool, *_: pool.sequence, "admin")
    log = context_of(request).engine.log

    def fetch() -> list[Record]:
        return list(itertools.islice(log.read(after=after), limit + 1))

    try:
        records = await asyncio.get_running_loop().run_in_executor(None, fetch)
    except StorageUnavailable as error:
        raise Unready(str(error), retry_after=1.0) from None
    shown = [record for record in records if record.sequence <= head][:limit]
    more = len(shown) == limit and shown[-1].sequence < head
    following = str(shown[-1].sequence) if more else None
    return answered({"items": [log_view(record) for record in shown], "next": following})


def log_view(record: Record) -> dict[str, Any]:
    """A line of the log; hashes of tokens are nobody's business."""
    body = json.loads(record.body)
    body.pop("hash", None)
    return {
        "sequence": record.sequence,
        "time": record.time,
        "kind": record.kind,
        "version": record.version,
        "actor": record.actor,
        "request": record.request,
        "tenant": record.tenant,
        "body": body,
    }
