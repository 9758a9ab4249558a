"""Routes for studies, trials and decisions."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from bentham import wire
from bentham.http.context import change, context_of, look, token_of
from bentham.http.openapi import PROBLEMS, After, Page
from bentham.http.responses import answered, attached, file_stem
from bentham.service import commands, queries
from bentham.wire.devices import TrialState
from bentham.wire.studies import StudyState

router = APIRouter(prefix="/v1", responses=PROBLEMS)
_NO_RULES, _BEST_MODEL = wire.StudyReopen(), wire.FitCreate()
Limit = Annotated[int, Query(ge=1, le=1000, description="The maximum number of items.")]


@router.post("/studies", status_code=201, response_model=wire.StudyView, tags=["studies"])
async def create_study(request: Request, body: wire.StudyCreate) -> Response:
    """Create a study; its trials start as soon as devices are free."""
    catalog = context_of(request).service.catalog
    return answered(await change(request, commands.create_study, body, catalog), 201)


@router.get("/studies", response_model=Page[wire.StudyView], tags=["studies"])
async def list_studies(
    request: Request,
    state: StudyState | None = None,
    dataset: Annotated[str | None, Query(max_length=100, description="Only studies on it.")] = None,
    limit: Limit = 100,
    after: After = None,
) -> Response:
    """List studies, newest first."""
    return answered(await look(request, queries.studies, state, dataset, limit, after))


@router.get("/studies/{study}", response_model=wire.StudyView, tags=["studies"])
async def show_study(request: Request, study: str) -> Response:
    """Show a study and its progress."""
    return answered(await look(request, queries.study, study))


@router.patch("/studies/{study}", response_model=wire.StudyView, tags=["studies"])
async def rename_study(request: Request, study: str, body: wire.StudyChange) -> Response:
    """Rename a study; its id stays the same."""
    return answered(await change(request, commands.rename_study, study, body))


@router.get("/studies/{study}/candidates", response_model=Page[wire.Candidate], tags=["studies"])
async def list_candidates(request: Request, study: str) -> Response:
    """List the models of a study: their states, scores and posterior."""
    return answered({"items": await look(request, queries.candidates, study), "next": None})


@router.get("/studies/{study}/next", response_model=wire.Next, tags=["studies"])
async def show_next(request: Request, study: str) -> Response:
    """Show the model that would run next for a study, and why."""
    return answered(await look(request, queries.next_of, study))


@router.get("/studies/{study}/record", response_model=Page[wire.Improvement], tags=["studies"])
async def show_record(request: Request, study: str) -> Response:
    """Show a study's learning record: each score in order, and the best so far."""
    return answered({"items": await look(request, queries.record, study), "next": None})


@router.get("/studies/{study}/script", tags=["studies"], response_class=Response)
async def show_script(
    request: Request, study: str, model: Annotated[str | None, Query(max_length=200)] = None
) -> Response:
    """Download a script that trains `model`, by default the best, and reproduces its score."""
    catalog = context_of(request).service.catalog
    text = await look(request, queries.script, study, model, catalog)
    return Response(text, media_type="text/x-python; charset=utf-8")


@router.get("/studies/{study}/best", response_model=wire.BestModel, tags=["studies"])
async def show_best(request: Request, study: str) -> Response:
    """Show a study's best model: where it errs, which columns it needs, and its fitted model."""
    return answered(await look(request, queries.best, study))


@router.post("/studies/{study}/fitted", response_model=wire.FittedModel, tags=["studies"])
async def request_fit(request: Request, study: str, body: wire.FitCreate = _BEST_MODEL) -> Response:
    """Ask for a model trained on all rows, by default the best; it replaces an earlier one.

    A repeat changes nothing while the fitted model is waited for or stored.
    """
    catalog = context_of(request).service.catalog
    return answered(await change(request, commands.request_fit, study, body, catalog))


@router.get("/studies/{study}/fitted", response_model=wire.FittedModel, tags=["studies"])
async def show_fitted(request: Request, study: str) -> Response:
    """Show whether the fitted model is ready, and if not, what it waits for."""
    return answered(await look(request, queries.fitted, study))


@router.get("/studies/{study}/fitted/file", tags=["studies"], response_class=Response)
async def fitted_file(request: Request, study: str) -> Response:
    """Download the fitted model: a zip that Python runs. It runs code: open only what you trust."""
    service = context_of(request).service
    parts, name = await service.fitted_content(token_of(request), study)
    return attached(parts, f"{file_stem(name)}.pyz")


@router.post("/studies/{study}/pause", response_model=wire.StudyView, tags=["studies"])
async def pause_study(request: Request, study: str) -> Response:
    """Start no more trials for a study until it is resumed; running trials continue."""
    return answered(await change(request, commands.pause_study, study))


@router.post("/studies/{study}/resume", response_model=wire.StudyView, tags=["studies"])
async def resume_study(request: Request, study: str) -> Response:
    """Resume a paused study."""
    return answered(await change(request, commands.resume_study, study))


@router.post("/studies/{study}/close", response_model=wire.StudyView, tags=["studies"])
async def close_study(request: Request, study: str) -> Response:
    """Close a study; running trials continue, and their results are stored."""
    return answered(await change(request, commands.close_study, study))


@router.post("/studies/{study}/reopen", response_model=wire.StudyView, tags=["studies"])
async def reopen_study(
    request: Request, study: str, body: wire.StudyReopen = _NO_RULES
) -> Response:
    """Continue with a closed study, by default until every model has been tried."""
    return answered(await change(request, commands.reopen_study, study, body))


@router.get("/trials", response_model=Page[wire.TrialView], tags=["trials"])
async def list_trials(
    request: Request,
    study: Annotated[str | None, Query(max_length=100)] = None,
    state: TrialState | None = None,
    limit: Limit = 100,
    after: After = None,
) -> Response:
    """List trials, newest first; a device token sees those of its devices."""
    return answered(await look(request, queries.trials, study, state, limit, after))


@router.get("/trials/{trial}", response_model=wire.TrialView, tags=["trials"])
async def show_trial(request: Request, trial: str) -> Response:
    """Show a trial."""
    return answered(await look(request, queries.trial, trial))


@router.get("/trials/{trial}/log", tags=["trials"], response_class=Response)
async def trial_log(request: Request, trial: str) -> Response:
    """Show the output of a trial, as far as its device stored it."""
    content = await context_of(request).service.trial_log(token_of(request), trial)
    return Response(content, media_type="text/plain; charset=utf-8")


@router.get("/decisions", response_model=Page[wire.DecisionView], tags=["decisions"])
async def list_decisions(
    request: Request,
    study: Annotated[str | None, Query(max_length=100)] = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    after: After = None,
) -> Response:
    """List decisions with their justification, newest first."""
    service = context_of(request).service
    views, following = await service.decisions(token_of(request), study, limit, after)
    return answered({"items": views, "next": following})


@router.get("/decisions/{decision}", response_model=wire.DecisionView, tags=["decisions"])
async def show_decision(request: Request, decision: str) -> Response:
    """Show why a trial was run: expected improvement, cost, rate, runners-up, rules applied."""
    return answered(await context_of(request).service.decision(token_of(request), decision))
