"""What a pool looks like, or a tenant's part of it: now, and over time."""

import asyncio
from concurrent.futures import Future
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from bentham import wire
from bentham.http.answers import answered, answered_in_pieces
from bentham.http.context import context_of, look
from bentham.http.documents import PROBLEMS, After
from bentham.service.calibration import costs_view
from bentham.service.heatmap import heatmap_items, in_turns
from bentham.service.overview import overview_view
from bentham.service.pool import Pool
from bentham.service.refusals import Invalid
from bentham.service.scope import Caller, Scope, page
from bentham.service.timeline import timeline_view
from bentham.service.trend import trend_view
from bentham.service.views import View
from bentham.wire.studies import StudyState

router = APIRouter(prefix="/v1", responses=PROBLEMS)
OWNERS = ("admin", "tenant")
MOST_STUDIES = 50


@router.get("/overview", response_model=wire.Overview, tags=["overview"])
async def show_overview(request: Request) -> Response:
    """Regret estimate, device time by tenant, queue and throughput; a tenant sees its own part."""
    context = context_of(request)

    def at(pool: Pool, caller: Caller, now: float) -> View:
        scope, latency = Scope(pool, caller), context.metrics.latency()
        return overview_view(pool, scope, context.estimates, now, latency)

    return answered(await look(request, at, *OWNERS))


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
    context = context_of(request)
    estimates, replays = context.estimates, context.replays

    def begin(pool: Pool, caller: Caller, now: float) -> Future[None] | None:
        return replays.renew(pool, now) if caller.role == "admin" else None

    def at(pool: Pool, caller: Caller, now: float) -> View:
        scope, replay = Scope(pool, caller), replays.of(pool)
        return trend_view(pool, scope, estimates, now, seconds, points, replay)

    begun = await look(request, begin, *OWNERS)
    if begun is not None:
        await asyncio.wrap_future(begun)
    return answered(await look(request, at, *OWNERS))


@router.get("/timeline", response_model=wire.Timeline, tags=["overview"])
async def show_timeline(
    request: Request,
    seconds: Annotated[float, Query(gt=0.0, le=1e10, description="So far back.")] = 3600.0,
    limit: Annotated[int, Query(ge=1, le=10_000, description="How many at most.")] = 2000,
) -> Response:
    """Which device ran what, and for whom; a tenant sees its own trials."""

    def at(pool: Pool, caller: Caller, now: float) -> View:
        return timeline_view(pool, Scope(pool, caller), now, seconds, limit)

    return await answered_in_pieces(await look(request, at, *OWNERS), "trials", 100)


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
    names = [] if studies is None else [name for name in studies.split(",") if name]
    if len(names) > MOST_STUDIES:
        raise Invalid(f"studies names {len(names)} of them; ask for at most {MOST_STUDIES}")

    def choose(pool: Pool, caller: Caller, now: float) -> tuple[list[list[str]], str | None]:  # noqa: ARG001
        scope = Scope(pool, caller)
        if studies is not None:
            return in_turns(scope.studies_named(names)), None
        chosen, following = page(scope.studies(state), limit, after)
        return in_turns(chosen), following

    turns, following = await look(request, choose, *OWNERS)
    models: dict[str, int] = {}
    items: list[View] = []
    for turn in turns:  # what others ask comes between

        def at(pool: Pool, caller: Caller, now: float, turn: list[str] = turn) -> list[View]:  # noqa: ARG001
            return heatmap_items(pool, Scope(pool, caller).studies_named(turn), models)

        items += await look(request, at, *OWNERS)
    shown = {"models": list(models), "next": following, "items": items}
    return await answered_in_pieces(shown, "items", 5)


@router.get("/costs", response_model=wire.Costs, tags=["overview"])
async def show_costs(request: Request) -> Response:
    """How well costs were predicted; a tenant sees its own trials."""

    def at(pool: Pool, caller: Caller, now: float) -> View:  # noqa: ARG001
        return costs_view(pool, Scope(pool, caller))

    return answered(await look(request, at, *OWNERS))
