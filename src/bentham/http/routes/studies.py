"""Studies, trials and decisions, as their owners see them."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from bentham import wire
from bentham.http.context import change, context_of, look, token_of
from bentham.http.openapi import PROBLEMS, After, Page
from bentham.http.responses import answered
from bentham.service import commands, queries
from bentham.wire.devices import TrialState
from bentham.wire.studies import StudyState

router = APIRouter(prefix="/v1", responses=PROBLEMS)
Limit = Annotated[int, Query(ge=1, le=1000, description="How many at most.")]


@router.post("/studies", status_code=201, response_model=wire.StudyView, tags=["studies"])
async def create_study(request: Request, asked: wire.StudyCreate) -> Response:
    """Create a study; it is served from now on."""
    catalog = context_of(request).service.catalog
    return answered(await change(request, commands.create_study, asked, catalog), 201)


@router.get("/studies", response_model=Page[wire.StudyView], tags=["studies"])
async def list_studies(
    request: Request, state: StudyState | None = None, limit: Limit = 100, after: After = None
) -> Response:
    """Studies, the newest first."""
    return answered(await look(request, queries.studies, state, limit, after))


@router.get("/studies/{study}", response_model=wire.StudyView, tags=["studies"])
async def show_study(request: Request, study: str) -> Response:
    """One study, and how far it is."""
    return answered(await look(request, queries.study, study))


@router.get("/studies/{study}/candidates", response_model=Page[wire.Candidate], tags=["studies"])
async def list_candidates(request: Request, study: str) -> Response:
    """Every model of a study: what is known and believed of it."""
    return answered({"items": await look(request, queries.candidates, study), "next": None})


@router.get("/studies/{study}/next", response_model=wire.Next, tags=["studies"])
async def show_next(request: Request, study: str) -> Response:
    """What would be run for a study first, and why."""
    return answered(await look(request, queries.next_of, study))


@router.get("/studies/{study}/record", response_model=Page[wire.Improvement], tags=["studies"])
async def show_record(request: Request, study: str) -> Response:
    """A study's learning record: each score as it came, and the best by then."""
    return answered({"items": await look(request, queries.record, study), "next": None})


@router.get("/studies/{study}/script", tags=["studies"], response_class=Response)
async def show_script(
    request: Request, study: str, model: Annotated[str | None, Query(max_length=200)] = None
) -> Response:
    """A script that trains the best model so far, or the one named, and reproduces its score."""
    catalog = context_of(request).service.catalog
    text = await look(request, queries.script, study, model, catalog)
    return Response(text, media_type="text/x-python; charset=utf-8")


@router.post("/studies/{study}/pause", response_model=wire.StudyView, tags=["studies"])
async def pause_study(request: Request, study: str) -> Response:
    """Start no more trials for a study until it is resumed; those that run go on."""
    return answered(await change(request, commands.pause_study, study))


@router.post("/studies/{study}/resume", response_model=wire.StudyView, tags=["studies"])
async def resume_study(request: Request, study: str) -> Response:
    """Go on with a paused study."""
    return answered(await change(request, commands.resume_study, study))


@router.post("/studies/{study}/close", response_model=wire.StudyView, tags=["studies"])
async def close_study(request: Request, study: str) -> Response:
    """End a study for good; trials that run go on, and what they show is kept."""
    return answered(await change(request, commands.close_study, study))


@router.get("/trials", response_model=Page[wire.TrialView], tags=["trials"])
async def list_trials(
    request: Request,
    study: Annotated[str | None, Query(max_length=100)] = None,
    state: TrialState | None = None,
    limit: Limit = 100,
    after: After = None,
) -> Response:
    """Trials, the newest first; a device's token sees those of its devices."""
    return answered(await look(request, queries.trials, study, state, limit, after))


@router.get("/trials/{trial}", response_model=wire.TrialView, tags=["trials"])
async def show_trial(request: Request, trial: str) -> Response:
    """One trial."""
    return answered(await look(request, queries.trial, trial))


@router.get("/trials/{trial}/log", tags=["trials"], response_class=Response)
async def trial_log(request: Request, trial: str) -> Response:
    """What a trial printed, as far as its device kept it."""
    content = await context_of(request).service.trial_log(token_of(request), trial)
    return Response(content, media_type="text/plain; charset=utf-8")


@router.get("/decisions", response_model=Page[wire.DecisionView], tags=["decisions"])
async def list_decisions(
    request: Request,
    study: Annotated[str | None, Query(max_length=100)] = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    after: After = None,
) -> Response:
    """Decisions with their justification, the newest first."""
    service = context_of(request).service
    views, following = await service.decisions(token_of(request), study, limit, after)
    return answered({"items": views, "next": following})


@router.get("/decisions/{decision}", response_model=wire.DecisionView, tags=["decisions"])
async def show_decision(request: Request, decision: str) -> Response:
    """Why a trial was run: expected improvement, cost, rate, runners-up, what changed it."""
    return answered(await context_of(request).service.decision(token_of(request), decision))
