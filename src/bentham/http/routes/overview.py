"""What a pool looks like, or a tenant's part of it: now, and over time."""

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
    """Regret estimate, device time by tenant, queue and throughput; a tenant sees its own part."""
    return answered(await context_of(request).service.overview(token_of(request)))


@router.get("/trend", response_model=wire.Trend, tags=["overview"])
async def show_trend(
    request: Request,
    seconds: Annotated[
        float | None,
        Query(gt=0.0, le=1e10, description="So far back; all that there was if left out."),
    ] = None,
    points: Annotated[int, Query(ge=2, le=1000)] = 300,
) -> Response:
    """Mean regret over time, as believed now; to an operator also what round robin had reached."""
    service = context_of(request).service
    return answered(await service.trend(token_of(request), seconds, points))


@router.get("/timeline", response_model=wire.Timeline, tags=["overview"])
async def show_timeline(
    request: Request,
    seconds: Annotated[float, Query(gt=0.0, le=1e10, description="So far back.")] = 3600.0,
    limit: Annotated[int, Query(ge=1, le=10_000, description="How many at most.")] = 2000,
) -> Response:
    """Which device ran what, and for whom; a tenant sees its own trials."""
    view = await look(request, queries.timeline, seconds, limit)
    return await answered_in_pieces(view, "trials", 100)


@router.get("/heatmap", response_model=wire.Heatmap, tags=["overview"])
async def show_heatmap(
    request: Request,
    limit: Annotated[int, Query(ge=1, le=MOST_STUDIES, description="How many at most.")] = 50,
    after: After = None,
    state: StudyState | None = None,
    studies: Annotated[
        str | None,
        Query(max_length=2000, description="These only: ids with commas between, at most 50."),
    ] = None,
) -> Response:
    """Studies by models, the newest study first: scores, and what is believed of the others."""
    names = None if studies is None else [name for name in studies.split(",") if name]
    if names is not None and len(names) > MOST_STUDIES:
        raise Invalid(f"studies names {len(names)} of them; ask for at most {MOST_STUDIES}")
    service = context_of(request).service
    view = await service.heatmap(token_of(request), names, state, limit, after)
    return await answered_in_pieces(view, "items", 5)


@router.get("/costs", response_model=wire.Costs, tags=["overview"])
async def show_costs(request: Request) -> Response:
    """How well costs were predicted; a tenant sees its own trials."""
    return answered(await look(request, queries.costs))
