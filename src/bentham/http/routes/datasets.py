"""Routes for datasets, and for the catalogue of algorithms and metrics."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from bentham import wire
from bentham.http.context import body_parts, change, context_of, look, request_id, token_of
from bentham.http.openapi import PROBLEMS, Page
from bentham.http.responses import answered, streamed
from bentham.service import Invalid, commands, queries
from bentham.wire.datasets import CONTENT_TYPES

router = APIRouter(prefix="/v1", responses=PROBLEMS)
_BODY = {
    "text/csv": {"schema": {"type": "string"}, "example": "length,width,kind\n5.1,3.5,setosa\n"},
    "application/vnd.apache.parquet": {"schema": {"type": "string", "format": "binary"}},
}
DatasetName = Annotated[
    wire.Name, Query(description="The name of the dataset, for example the file name.")
]
Owner = Annotated[
    wire.Slug | None,
    Query(description="For admins: the owner; if left out, all tenants may use the dataset."),
]


@router.post(
    "/datasets",
    status_code=201,
    response_model=wire.DatasetView,
    tags=["datasets"],
    openapi_extra={"requestBody": {"content": _BODY, "required": True}},
)
async def add(request: Request, name: DatasetName, tenant: Owner = None) -> Response:
    """Upload a table as CSV or Parquet.

    Uploading the same content under the same name again changes nothing, so no Idempotency-Key is
    needed.
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
        body_parts(request),
        request.is_disconnected,
    )
    return answered(view, 201)


@router.get("/datasets", response_model=Page[wire.DatasetView], tags=["datasets"])
async def list_datasets(
    request: Request,
    limit: Annotated[int, Query(ge=1, le=100)] = 100,
    after: Annotated[str | None, Query(max_length=100)] = None,
) -> Response:
    """List the caller's datasets and the shared ones, newest first, without their columns."""
    return answered(await look(request, queries.datasets, limit, after))


@router.get("/datasets/{dataset}", response_model=wire.DatasetView, tags=["datasets"])
async def show_dataset(request: Request, dataset: str) -> Response:
    """Show a dataset: its columns, their inferred types, and notes."""
    return answered(await look(request, queries.dataset, dataset))


@router.patch("/datasets/{dataset}", response_model=wire.DatasetView, tags=["datasets"])
async def rename(request: Request, dataset: str, body: wire.DatasetChange) -> Response:
    """Rename a dataset; its id stays the same, and so do the studies that use it."""
    return answered(await change(request, commands.rename_dataset, dataset, body))


@router.delete("/datasets/{dataset}", response_model=wire.DatasetView, tags=["datasets"])
async def drop(request: Request, dataset: str) -> Response:
    """Delete a dataset permanently; refused while a study that is not closed uses it."""
    service = context_of(request).service
    return answered(await service.drop_dataset(token_of(request), request_id(request), dataset))


@router.get("/datasets/{dataset}/content", tags=["datasets"], response_class=Response)
async def content(request: Request, dataset: str) -> Response:
    """Download the file as it was uploaded."""
    return streamed(*await context_of(request).service.dataset_content(token_of(request), dataset))


@router.get("/algorithms", response_model=Page[wire.Algorithm], tags=["datasets"])
async def list_algorithms(request: Request) -> Response:
    """List the algorithms that studies may draw candidates from: the operator's catalogue."""
    items = await look(request, queries.algorithms, context_of(request).service.catalog)
    return answered({"items": items, "next": None})


@router.get("/metrics", response_model=Page[wire.Metric], tags=["datasets"])
async def list_metrics(request: Request) -> Response:
    """List the metrics, and how a score is computed from each."""
    return answered({"items": await look(request, queries.metrics), "next": None})
