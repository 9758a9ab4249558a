"""Datasets, and the catalogue of what can be trained on them."""

from collections.abc import AsyncIterator, Iterator
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.requests import ClientDisconnect
from starlette.responses import Response, StreamingResponse

from bentham import wire
from bentham.http.answers import answered
from bentham.http.context import context_of, look, request_id, token_of
from bentham.http.documents import PROBLEMS, Page
from bentham.service.commands_datasets import (
    Upload,
    add_dataset,
    check_room,
    drop_dataset,
    owner_of,
    same,
)
from bentham.service.intake import content_key, log_key
from bentham.service.pool import Pool
from bentham.service.refusals import Invalid, Missing
from bentham.service.scope import Caller, Scope, page
from bentham.service.views import View, dataset_view
from bentham.training.metrics import METRICS
from bentham.wire.datasets import CONTENT_TYPES

router = APIRouter(prefix="/v1", responses=PROBLEMS)
OWNERS = ("admin", "tenant")
_BODY = {
    "text/csv": {"schema": {"type": "string"}, "example": "length,width,kind\n5.1,3.5,setosa\n"},
    "application/vnd.apache.parquet": {"schema": {"type": "string", "format": "binary"}},
}
DatasetName = Annotated[wire.Name, Query(description="What to call it: the file's name, say.")]
Owner = Annotated[
    wire.Slug | None,
    Query(description="Whose it is, said by an admin; without it, it is for everybody."),
]


@router.post(
    "/datasets",
    status_code=201,
    response_model=wire.Dataset,
    tags=["datasets"],
    openapi_extra={"requestBody": {"content": _BODY, "required": True}},
)
async def add(request: Request, name: DatasetName, tenant: Owner = None) -> Response:
    """Upload a table, CSV or Parquet.

    The same content by the same name again changes nothing, so that it takes no Idempotency-Key.
    """
    context, token = context_of(request), token_of(request)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    shape = CONTENT_TYPES.get(kind)
    if shape is None:
        raise Invalid(f"the Content-Type is {kind[:100]!r}; send one of {', '.join(CONTENT_TYPES)}")

    def asking(pool: Pool, caller: Caller, now: float) -> tuple[str, str]:  # noqa: ARG001
        same(pool, caller, tenant, "", "")
        return caller.token, owner_of(caller, tenant)

    # Who may not, or not for that tenant, learns it before anything is read.
    asker, owner = await look(request, asking, *OWNERS)
    async with context.intake.receive(_body(request), asker) as taken:

        def again(pool: Pool, caller: Caller, now: float) -> View | None:  # noqa: ARG001
            found = same(pool, caller, tenant, name, taken.hash)
            return None if found is None else dataset_view(found)

        if await request.is_disconnected():  # nobody waits for what would be found
            raise Invalid("the upload was broken off; send it again")
        known = await look(request, again, *OWNERS)
        if known is not None:
            return answered(known, 201)
        found = await context.intake.inspect(taken, shape, owner)
        upload = Upload(name, taken.hash, shape, taken.bytes, found)
        async with context.intake.keeping:
            await look(request, lambda pool, caller, _: check_room(pool, caller, tenant, upload))
            await context.intake.keep(owner, taken)
            # Should this fail, or the server end here, its next start finds a content of nobody.
            view = await context.desk.write(
                token,
                lambda caller: add_dataset(caller, tenant, upload),
                *OWNERS,
                request=request_id(request),
                otherwise=again,
            )
    return answered(view or {}, 201)


async def _body(request: Request) -> AsyncIterator[bytes]:
    try:
        async for part in request.stream():
            yield part
    except ClientDisconnect:
        raise Invalid("the upload was broken off; send it again") from None


@router.get("/datasets", response_model=Page[wire.Dataset], tags=["datasets"])
async def list_datasets(
    request: Request,
    limit: Annotated[int, Query(ge=1, le=100)] = 100,
    after: Annotated[str | None, Query(max_length=100)] = None,
) -> Response:
    """One's own datasets and those that are everybody's, newest first, without their columns."""

    def at(pool: Pool, caller: Caller, now: float) -> View:  # noqa: ARG001
        found, following = page(Scope(pool, caller).datasets(), limit, after)
        return {"items": [dataset_view(each, False) for each in found], "next": following}

    return answered(await look(request, at, *OWNERS))


@router.get("/datasets/{dataset}", response_model=wire.Dataset, tags=["datasets"])
async def show_dataset(request: Request, dataset: str) -> Response:
    """One dataset: its columns, their types as inferred, and what was noticed."""

    def at(pool: Pool, caller: Caller, now: float) -> View:  # noqa: ARG001
        return dataset_view(Scope(pool, caller).dataset(dataset))

    return answered(await look(request, at, *OWNERS))


@router.delete("/datasets/{dataset}", response_model=wire.Dataset, tags=["datasets"])
async def drop(request: Request, dataset: str) -> Response:
    """Forget a dataset for good; refused while a study that is not closed is over it."""
    context = context_of(request)

    def at(pool: Pool, caller: Caller, now: float) -> View:  # noqa: ARG001
        return dataset_view(Scope(pool, caller).dataset(dataset))

    def left(pool: Pool, caller: Caller, now: float) -> list[str]:  # noqa: ARG001
        tenant, digest = view["tenant"], view["hash"]
        studies = pool.tenants[tenant].studies if tenant else pool.studies
        logs = [
            log_key(trial.id)
            for study in studies.values()
            if study.data.get("dataset") == dataset
            for trial in study.trials
        ]
        if any(each.hash == digest for each in pool.datasets_of(tenant).values()):
            return logs
        return [content_key(tenant, digest), *logs]

    async with context.intake.keeping:
        view = await look(request, at, *OWNERS)
        await context.desk.write(
            token_of(request),
            lambda caller: drop_dataset(caller, dataset),
            *OWNERS,
            request=request_id(request),
        )
        # What trials printed may tell of the data: it goes, too.
        await context.intake.drop(*await look(request, left, *OWNERS))
    return answered(view)


@router.get("/datasets/{dataset}/content", tags=["datasets"], response_class=Response)
async def content(request: Request, dataset: str) -> Response:
    """The file as it was uploaded."""

    def at(pool: Pool, caller: Caller, now: float) -> tuple[str, str, str]:  # noqa: ARG001
        found = Scope(pool, caller).dataset(dataset)
        return found.tenant, found.hash, found.format

    tenant, digest, shape = await look(request, at, *OWNERS)
    return await streamed(request, tenant, digest, shape)


async def streamed(request: Request, tenant: str, digest: str, shape: str) -> Response:
    """A content of a tenant's, or else of everybody's, as it was uploaded."""
    intake = context_of(request).intake

    def open_content() -> Iterator[bytes] | None:
        own = intake.files.load(content_key(tenant, digest))
        return own if own is not None else intake.files.load(content_key("", digest))

    parts = await intake.run(open_content)
    if parts is None:
        raise Missing("the content of this dataset is gone; upload it again")
    kind = next(kind for kind, each in CONTENT_TYPES.items() if each == shape)
    return StreamingResponse(parts, media_type=kind)


@router.get("/algorithms", response_model=Page[wire.Algorithm], tags=["datasets"])
async def list_algorithms(request: Request) -> Response:
    """What studies may draw their candidates from: the operator's catalogue."""
    await look(request, lambda *_: None, *OWNERS)
    items = [each.model_dump() for each in context_of(request).catalog.describe()]
    return answered({"items": items, "next": None})


@router.get("/metrics", response_model=Page[wire.Metric], tags=["datasets"])
async def list_metrics(request: Request) -> Response:
    """How models are judged, and how a score is made of each metric."""
    await look(request, lambda *_: None, *OWNERS)
    return answered({"items": [each.model_dump() for each in METRICS.values()], "next": None})
