"""Routes for the state of the pool, or of a tenant's part of it: now and over time."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from bentham import wire
from bentham.http.context import context_of, look, token_of
from bentham.http.openapi import PROBLEMS, After
from bentham.http.responses import answered, answered_in_pieces
from bentham.service import Invalid, queries
from bentham.wire.studies import StudyState

router = APIRouter(prefix="/v1", responses=PROBLEMS)
MOST_STUDIES = 50


@router.get("/overview", response_model=wire.Overview, tags=["overview"])
async def show_overview(request: Request) -> Response:
    """Show regret, device time by tenant, queue and throughput; a tenant sees its own part."""
    return answered(await context_of(request).service.overview(token_of(request)))


@router.get("/status", response_model=wire.StatusView, tags=["overview"])
async def show_status(
    request: Request,
    limit: Annotated[
        int, Query(ge=1, le=wire.MOST_SHOWN, description="The maximum number in each list.")
    ] = 20,
) -> Response:
    """Show what runs now, for whom, and why nothing else does; a tenant sees its own part."""
    return answered(await look(request, queries.status, limit))


@router.get("/trend", response_model=wire.Trend, tags=["overview"])
async def show_trend(
    request: Request,
    seconds: Annotated[
        float | None,
        Query(
            gt=0.0, le=1e10, description="How far back, in seconds; from the beginning if left out."
        ),
    ] = None,
    points: Annotated[int, Query(ge=2, le=1000)] = 300,
) -> Response:
    """Show mean regret over time, as estimated now; for an operator also under round robin."""
    service = context_of(request).service
    return answered(await service.trend(token_of(request), seconds, points))


@router.get("/timeline", response_model=wire.Timeline, tags=["overview"])
async def show_timeline(
    request: Request,
    seconds: Annotated[
        float, Query(gt=0.0, le=1e10, description="How far back, in seconds.")
    ] = 3600.0,
    limit: Annotated[
        int, Query(ge=1, le=10_000, description="The maximum number of trials.")
    ] = 2000,
) -> Response:
    """Show which device ran which trial; a tenant sees its own trials."""
    view = await look(request, queries.timeline, seconds, limit)
    return await answered_in_pieces(view, "trials", 100)


@router.get("/heatmap", response_model=wire.Heatmap, tags=["overview"])
async def show_heatmap(
    request: Request,
    limit: Annotated[
        int, Query(ge=1, le=MOST_STUDIES, description="The maximum number of studies.")
    ] = 50,
    after: After = None,
    state: StudyState | None = None,
    studies: Annotated[
        str | None,
        Query(max_length=2000, description="Only these: at most 50 ids, separated by commas."),
    ] = None,
) -> Response:
    """Show studies by models, newest study first: observed scores, and the posterior."""
    names = None if studies is None else [name for name in studies.split(",") if name]
    if names is not None and len(names) > MOST_STUDIES:
        raise Invalid(f"the parameter studies lists {len(names)} ids; list at most {MOST_STUDIES}")
    service = context_of(request).service
    view = await service.heatmap(token_of(request), names, state, limit, after)
    return await answered_in_pieces(view, "items", 5)


@router.get("/costs", response_model=wire.Costs, tags=["overview"])
async def show_costs(request: Request) -> Response:
    """Show how well costs were predicted; a tenant sees its own trials."""
    return answered(await look(request, queries.costs))
