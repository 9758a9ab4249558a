"""Studies, trials and decisions, as their owners see them."""

from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from bentham import wire
from bentham.http.answers import answered
from bentham.http.context import change, context_of, look
from bentham.http.documents import PROBLEMS, After, Page
from bentham.service import commands_studies
from bentham.service.commands import Command
from bentham.service.events import TrialLeased, decode
from bentham.service.exports import study_script
from bentham.service.intake import log_key
from bentham.service.next import next_view
from bentham.service.pool import Pool
from bentham.service.refusals import Missing
from bentham.service.scope import Caller, Scope, page
from bentham.service.views import (
    View,
    candidate_views,
    decision_view,
    record_view,
    study_view,
    trial_view,
)
from bentham.wire.devices import TrialState
from bentham.wire.studies import StudyState

router = APIRouter(prefix="/v1", responses=PROBLEMS)
Limit = Annotated[int, Query(ge=1, le=1000, description="How many at most.")]
OWNERS = ("admin", "tenant")
RUNNERS = ("admin", "tenant", "device")


@router.post("/studies", status_code=201, response_model=wire.Study, tags=["studies"])
async def create_study(request: Request, asked: wire.StudyCreate) -> Response:
    """Create a study; it is served from now on."""
    catalog = context_of(request).catalog
    return await change(
        request,
        lambda caller: commands_studies.create_study(caller, asked, catalog),
        *OWNERS,
        status=201,
    )


@router.get("/studies", response_model=Page[wire.Study], tags=["studies"])
async def list_studies(
    request: Request, state: StudyState | None = None, limit: Limit = 100, after: After = None
) -> Response:
    """Studies, the newest first."""

    def at(pool: Pool, caller: Caller, now: float) -> View:  # noqa: ARG001
        studies, following = page(Scope(pool, caller).studies(state), limit, after)
        return {"items": [study_view(pool, study, False) for study in studies], "next": following}

    return answered(await look(request, at, *OWNERS))


@router.get("/studies/{study}", response_model=wire.Study, tags=["studies"])
async def show_study(request: Request, study: str) -> Response:
    """One study, and how far it is."""
    return answered(await look(request, _study(study), *OWNERS))


@router.get("/studies/{study}/candidates", response_model=Page[wire.Candidate], tags=["studies"])
async def list_candidates(request: Request, study: str) -> Response:
    """Every model of a study: what is known and believed of it."""

    def at(pool: Pool, caller: Caller, now: float) -> list[View]:  # noqa: ARG001
        return candidate_views(pool, Scope(pool, caller).study(study))

    return answered({"items": await look(request, at, *OWNERS), "next": None})


@router.get("/studies/{study}/next", response_model=wire.Next, tags=["studies"])
async def show_next(request: Request, study: str) -> Response:
    """What would be run for a study first, and why."""

    def at(pool: Pool, caller: Caller, now: float) -> View:
        return next_view(pool, Scope(pool, caller).study(study), now)

    return answered(await look(request, at, *OWNERS))


@router.get("/studies/{study}/record", response_model=Page[wire.Improvement], tags=["studies"])
async def show_record(request: Request, study: str) -> Response:
    """A study's learning record: each score as it came, and the best by then."""

    def at(pool: Pool, caller: Caller, now: float) -> list[View]:  # noqa: ARG001
        return record_view(Scope(pool, caller).study(study))

    return answered({"items": await look(request, at, *OWNERS), "next": None})


@router.get("/studies/{study}/script", tags=["studies"], response_class=Response)
async def show_script(
    request: Request, study: str, model: Annotated[str | None, Query(max_length=200)] = None
) -> Response:
    """A script that trains the best model so far, or the one named, and reproduces its score."""
    catalog = context_of(request).catalog

    def at(pool: Pool, caller: Caller, now: float) -> str:  # noqa: ARG001
        return study_script(pool, Scope(pool, caller).study(study), model, catalog)

    text = await look(request, at, *OWNERS)
    return Response(text, media_type="text/x-python; charset=utf-8")


@router.post("/studies/{study}/pause", response_model=wire.Study, tags=["studies"])
async def pause_study(request: Request, study: str) -> Response:
    """Start no more trials for a study until it is resumed; those that run go on."""
    return await _move(request, study, lambda caller: commands_studies.pause_study(caller, study))


@router.post("/studies/{study}/resume", response_model=wire.Study, tags=["studies"])
async def resume_study(request: Request, study: str) -> Response:
    """Go on with a paused study."""
    return await _move(request, study, lambda caller: commands_studies.resume_study(caller, study))


@router.post("/studies/{study}/close", response_model=wire.Study, tags=["studies"])
async def close_study(request: Request, study: str) -> Response:
    """End a study for good; trials that run go on, and what they show is kept."""
    return await _move(request, study, lambda caller: commands_studies.close_study(caller, study))


async def _move(request: Request, study: str, command: Callable[[Caller], Command]) -> Response:
    return await change(request, command, *OWNERS, otherwise=_study(study))


def _study(study: str) -> Callable[[Pool, Caller, float], View]:
    return lambda pool, caller, _: study_view(pool, Scope(pool, caller).study(study))


@router.get("/trials", response_model=Page[wire.Trial], tags=["trials"])
async def list_trials(
    request: Request,
    study: Annotated[str | None, Query(max_length=100)] = None,
    state: TrialState | None = None,
    limit: Limit = 100,
    after: After = None,
) -> Response:
    """Trials, the newest first; a device's token sees those of its devices."""

    def at(pool: Pool, caller: Caller, now: float) -> View:  # noqa: ARG001
        trials, following = page(Scope(pool, caller).trials(study, state), limit, after)
        leases = context_of(request).leases
        return {"items": [trial_view(trial, leases) for trial in trials], "next": following}

    return answered(await look(request, at, "admin", "tenant", "device"))


@router.get("/trials/{trial}", response_model=wire.Trial, tags=["trials"])
async def show_trial(request: Request, trial: str) -> Response:
    """One trial."""

    def at(pool: Pool, caller: Caller, now: float) -> View:  # noqa: ARG001
        return trial_view(Scope(pool, caller).trial(trial), context_of(request).leases)

    return answered(await look(request, at, "admin", "tenant", "device"))


@router.get("/trials/{trial}/log", tags=["trials"], response_class=Response)
async def trial_log(request: Request, trial: str) -> Response:
    """What a trial printed, as far as its device kept it."""
    await look(request, lambda pool, caller, _: Scope(pool, caller).trial(trial), *RUNNERS)
    intake = context_of(request).intake

    def load() -> bytes | None:
        parts = intake.files.load(log_key(trial))
        return None if parts is None else b"".join(parts)

    content = await intake.run(load)
    if content is None:
        raise Missing(f"trial {trial} has no log; it runs, or printed nothing")
    return Response(content, media_type="text/plain; charset=utf-8")


@router.get("/decisions", response_model=Page[wire.Decision], tags=["decisions"])
async def list_decisions(
    request: Request,
    study: Annotated[str | None, Query(max_length=100)] = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    after: After = None,
) -> Response:
    """Decisions with their justification, the newest first."""

    def at(pool: Pool, caller: Caller, now: float) -> tuple[list[int], str | None]:  # noqa: ARG001
        trials, following = page(Scope(pool, caller).trials(study), limit, after)
        return [trial.sequence for trial in trials], following

    sequences, following = await look(request, at, *OWNERS)
    views = [await _decision(request, sequence) for sequence in sequences]
    return answered({"items": views, "next": following})


@router.get("/decisions/{decision}", response_model=wire.Decision, tags=["decisions"])
async def show_decision(request: Request, decision: str) -> Response:
    """Why a trial was run: expected improvement, cost, rate, runners-up, what changed it."""

    def at(pool: Pool, caller: Caller, now: float) -> int:  # noqa: ARG001
        return Scope(pool, caller).trial(decision).sequence

    sequence = await look(request, at, *OWNERS)
    return answered(await _decision(request, sequence))


async def _decision(request: Request, sequence: int) -> View:
    record = await context_of(request).desk.record(sequence)
    event = decode(record.kind, record.version, record.body)
    assert isinstance(event, TrialLeased)

    def at(pool: Pool, caller: Caller, now: float) -> View:  # noqa: ARG001
        return decision_view(pool, Scope(pool, caller), record.time, event)

    return await look(request, at, *OWNERS)
