"""Devices: register, lease, leave; and the reports of their trials.

Routes are tried in order: what devices ask for all the time comes first.
"""

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from bentham import wire
from bentham.http.context import change, context_of, look, stamp_of, token_of
from bentham.http.openapi import PROBLEMS, Page
from bentham.http.responses import answered, streamed
from bentham.service import commands, queries

router = APIRouter(prefix="/v1", responses=PROBLEMS)


@router.post(
    "/devices/{device}/lease",
    response_model=wire.Lease,
    responses={204: {"description": "Nothing may be run now; ask again."}},
    tags=["devices"],
)
async def lease(request: Request, device: str, asked: wire.LeaseRequest) -> Response:
    """Ask what to run on an idle device: one trial, under a lease with a fence."""
    service, token = context_of(request).service, token_of(request)
    stamp = replace(await stamp_of(request), device=device)
    view = await service.lease(token, device, asked.wait, stamp, request.is_disconnected)
    return Response(status_code=204) if view is None else answered(view)


@router.post("/trials/{trial}/heartbeat", response_model=wire.Renewal, tags=["trials"])
async def heartbeat(request: Request, trial: str, asked: wire.Heartbeat) -> Response:
    """Say that a trial still runs, and how far it is: its lease is renewed. 409 if it has ended."""
    service = context_of(request).service
    return answered(await service.heartbeat(token_of(request), trial, asked))


@router.post("/trials/{trial}/complete", response_model=wire.TrialView, tags=["trials"])
async def complete_trial(request: Request, trial: str, asked: wire.Complete) -> Response:
    """Report a trial's score. Repeated, it is answered again; late, it is a 409."""
    return answered(await change(request, commands.complete_trial, trial, asked))


@router.post("/trials/{trial}/fail", response_model=wire.TrialView, tags=["trials"])
async def fail_trial(request: Request, trial: str, asked: wire.Fail) -> Response:
    """Report that a trial ended without a score; unless final, its arm may be tried again."""
    return answered(await change(request, commands.fail_trial, trial, asked))


@router.post("/trials/{trial}/release", response_model=wire.TrialView, tags=["trials"])
async def release_trial(request: Request, trial: str, asked: wire.Release) -> Response:
    """Give a trial back untried; that does not count as an attempt."""
    return answered(await change(request, commands.release_trial, trial, asked))


@router.get("/trials/{trial}/data", tags=["trials"], response_class=Response)
async def trial_data(request: Request, trial: str) -> Response:
    """The file that a trial which runs trains on, as it was uploaded."""
    return streamed(*await context_of(request).service.trial_content(token_of(request), trial))


@router.put("/trials/{trial}/log", status_code=204, tags=["trials"], response_class=Response)
async def keep_log(
    request: Request, trial: str, fence: Annotated[int, Query(ge=0, lt=2**63)]
) -> Response:
    """Keep what a trial printed, before it is reported: once, and of limited size."""
    service = context_of(request).service
    await service.keep_log(token_of(request), trial, fence, request.body)
    return Response(status_code=204)


@router.post("/devices", status_code=201, response_model=wire.DeviceView, tags=["devices"])
async def register_device(request: Request, asked: wire.DeviceCreate) -> Response:
    """Register a device. One that registers again begins anew: the trial that it ran is lost."""
    return answered(await change(request, commands.register_device, asked), 201)


@router.get("/devices", response_model=Page[wire.DeviceView], tags=["devices"])
async def list_devices(request: Request) -> Response:
    """All devices for an admin; a device's token sees those that it registered."""
    return answered({"items": await look(request, queries.devices), "next": None})


@router.get("/devices/{device}", response_model=wire.DeviceView, tags=["devices"])
async def show_device(request: Request, device: str) -> Response:
    """One device: what it runs, when it was heard of last."""
    return answered(await look(request, queries.device, device))


@router.post("/devices/{device}/leave", response_model=wire.DeviceView, tags=["devices"])
async def leave_device(request: Request, device: str) -> Response:
    """Let a device go; the trial that it runs is lost."""
    return answered(await change(request, commands.leave_device, device))
