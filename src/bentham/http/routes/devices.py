"""Routes for devices (register, lease, leave) and for the reports of their trials.

Routes are matched in order, so the most frequent requests come first.
"""

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from bentham import wire
from bentham.http.context import (
    body_parts,
    change,
    context_of,
    look,
    request_id,
    stamp_of,
    token_of,
)
from bentham.http.openapi import PROBLEMS, Page
from bentham.http.responses import answered, streamed
from bentham.service import commands, queries
from bentham.wire.looks import MOST_VERSIONS, Requirement

router = APIRouter(prefix="/v1", responses=PROBLEMS)


@router.post(
    "/devices/{device}/lease",
    response_model=wire.Lease,
    responses={204: {"description": "There is nothing to run now; request again."}},
    tags=["devices"],
)
async def lease(request: Request, device: str, body: wire.LeaseRequest) -> Response:
    """Request a trial for an idle device; the response is a lease with a fence."""
    service, token = context_of(request).service, token_of(request)
    stamp = replace(await stamp_of(request), device=device)
    view = await service.lease(token, device, body.wait, stamp, request.is_disconnected)
    return Response(status_code=204) if view is None else answered(view)


@router.post("/trials/{trial}/heartbeat", response_model=wire.Renewal, tags=["trials"])
async def heartbeat(request: Request, trial: str, body: wire.Heartbeat) -> Response:
    """Renew the lease of a running trial and report its progress; 409 if it has ended."""
    service = context_of(request).service
    return answered(await service.heartbeat(token_of(request), trial, body))


@router.post("/trials/{trial}/complete", response_model=wire.TrialView, tags=["trials"])
async def complete_trial(request: Request, trial: str, body: wire.Complete) -> Response:
    """Report a trial's score. A repeat gets the same response; a late report gets 409."""
    return answered(await change(request, commands.complete_trial, trial, body))


@router.post("/trials/{trial}/fail", response_model=wire.TrialView, tags=["trials"])
async def fail_trial(request: Request, trial: str, body: wire.Fail) -> Response:
    """Report that a trial ended without a score; its arm may be retried unless `final`."""
    return answered(await change(request, commands.fail_trial, trial, body))


@router.post("/trials/{trial}/release", response_model=wire.TrialView, tags=["trials"])
async def release_trial(request: Request, trial: str, body: wire.Release) -> Response:
    """Release a trial without a result; it does not count as an attempt."""
    return answered(await change(request, commands.release_trial, trial, body))


@router.get("/trials/{trial}/data", tags=["trials"], response_class=Response)
async def trial_data(request: Request, trial: str) -> Response:
    """Download the data of a running trial, as it was uploaded."""
    return streamed(*await context_of(request).service.trial_content(token_of(request), trial))


@router.put("/trials/{trial}/log", status_code=204, tags=["trials"], response_class=Response)
async def keep_log(
    request: Request, trial: str, fence: Annotated[int, Query(ge=0, lt=2**63)]
) -> Response:
    """Store the output of a trial before its report: once, and of limited size."""
    service = context_of(request).service
    await service.keep_log(token_of(request), trial, fence, request.body)
    return Response(status_code=204)


@router.put("/trials/{trial}/model", response_model=wire.TrialView, tags=["trials"])
async def keep_model(
    request: Request,
    trial: str,
    fence: Annotated[int, Query(ge=0, lt=2**63)],
    version: Annotated[list[Requirement], Query(max_length=MOST_VERSIONS)] = [],  # noqa: B006
) -> Response:
    """Store the file of a fitted model, which ends its trial; `version` is a package it needs.

    The server never opens the file. A repeat changes nothing.
    """
    service, body = context_of(request).service, body_parts(request)
    token, name = token_of(request), request_id(request)
    return answered(await service.keep_fitted(token, name, trial, fence, version, body))


@router.post("/devices", status_code=201, response_model=wire.DeviceView, tags=["devices"])
async def register_device(request: Request, body: wire.DeviceCreate) -> Response:
    """Register a device. If it is registered already, the trial that it runs is lost."""
    return answered(await change(request, commands.register_device, body), 201)


@router.get("/devices", response_model=Page[wire.DeviceView], tags=["devices"])
async def list_devices(request: Request) -> Response:
    """List all devices; a device token sees those that it registered."""
    return answered({"items": await look(request, queries.devices), "next": None})


@router.get("/devices/{device}", response_model=wire.DeviceView, tags=["devices"])
async def show_device(request: Request, device: str) -> Response:
    """Show a device: the trial it runs, and when it was last seen."""
    return answered(await look(request, queries.device, device))


@router.post("/devices/{device}/leave", response_model=wire.DeviceView, tags=["devices"])
async def leave_device(request: Request, device: str) -> Response:
    """Remove a device; the trial that it runs is lost."""
    return answered(await change(request, commands.leave_device, device))
