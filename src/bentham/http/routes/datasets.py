"""Datasets, and the catalogue of what can be trained on them."""

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from bentham import wire
from bentham.http.context import context_of, look, request_id, token_of
from bentham.http.openapi import PROBLEMS, Page
from bentham.http.responses import answered, streamed
from bentham.service import Invalid, queries
from bentham.wire.datasets import CONTENT_TYPES

router = APIRouter(prefix="/v1", responses=PROBLEMS)
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
    response_model=wire.DatasetView,
    tags=["datasets"],
    openapi_extra={"requestBody": {"content": _BODY, "required": True}},
)
async def add(request: Request, name: DatasetName, tenant: Owner = None) -> Response:
    """Upload a table, CSV or Parquet.

    The same content by the same name again changes nothing, so that it takes no Idempotency-Key.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    shape = CONTENT_TYPES.get(kind)
    if shape is None:
        raise Invalid(f"the Content-Type is {kind[:100]!r}; send one of {', '.join(CONTENT_TYPES)}")
    view = await context_of(request).service.upload(
        token_of(request),
        request_id(request),
        name,
        tenant,
        shape,
        _body(request),
        request.is_disconnected,
    )
    return answered(view, 201)


async def _body(request: Request) -> AsyncIterator[bytes]:
    try:
        async for part in request.stream():
            yield part
    except ClientDisconnect:
        raise Invalid("the upload was broken off; send it again") from None


@router.get("/datasets", response_model=Page[wire.DatasetView], tags=["datasets"])
async def list_datasets(
    request: Request,
    limit: Annotated[int, Query(ge=1, le=100)] = 100,
    after: Annotated[str | None, Query(max_length=100)] = None,
) -> Response:
    """One's own datasets and those that are everybody's, newest first, without their columns."""
    return answered(await look(request, queries.datasets, limit, after))


@router.get("/datasets/{dataset}", response_model=wire.DatasetView, tags=["datasets"])
async def show_dataset(request: Request, dataset: str) -> Response:
    """One dataset: its columns, their types as inferred, and what was noticed."""
    return answered(await look(request, queries.dataset, dataset))


@router.delete("/datasets/{dataset}", response_model=wire.DatasetView, tags=["datasets"])
async def drop(request: Request, dataset: str) -> Response:
    """Forget a dataset for good; refused while a study that is not closed is over it."""
    service = context_of(request).service
    return answered(await service.drop_dataset(token_of(request), request_id(request), dataset))


@router.get("/datasets/{dataset}/content", tags=["datasets"], response_class=Response)
async def content(request: Request, dataset: str) -> Response:
    """The file as it was uploaded."""
    return streamed(*await context_of(request).service.dataset_content(token_of(request), dataset))


@router.get("/algorithms", response_model=Page[wire.Algorithm], tags=["datasets"])
async def list_algorithms(request: Request) -> Response:
    """What studies may draw their candidates from: the operator's catalogue."""
    items = await look(request, queries.algorithms, context_of(request).service.catalog)
    return answered({"items": items, "next": None})


@router.get("/metrics", response_model=Page[wire.Metric], tags=["datasets"])
async def list_metrics(request: Request) -> Response:
    """How models are judged, and how a score is made of each metric."""
    return answered({"items": await look(request, queries.metrics), "next": None})
