"""Devices: register, lease, leave; and the reports of their trials.

Routes are tried in order: what devices ask for all the time comes first.
"""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from bentham import wire
from bentham.http.answers import answered
from bentham.http.context import change, context_of, key_of, look, request_id, token_of
from bentham.http.documents import PROBLEMS, Page
from bentham.http.routes_datasets import streamed
from bentham.service import commands_devices
from bentham.service.intake import log_key
from bentham.service.ledger import Ledger
from bentham.service.pool import Pool
from bentham.service.refusals import Conflicting, Missing
from bentham.service.scope import Caller, Scope, require
from bentham.service.views import View, device_view, training_view, trial_view

router = APIRouter(prefix="/v1", responses=PROBLEMS)
RUNNERS = ("device", "admin")


@router.post(
    "/devices/{device}/lease",
    response_model=wire.Lease,
    responses={204: {"description": "Nothing may be run now; ask again."}},
    tags=["devices"],
)
async def lease(request: Request, device: str, asked: wire.LeaseRequest) -> Response:
    """Ask what to run on an idle device: one trial, under a lease with a fence."""
    token = token_of(request)
    key = await key_of(request, token)
    desk = context_of(request).desk
    gone = request.is_disconnected
    # A worker counts its lease from when it asked: most of it must be left.
    wait = min(asked.wait, context_of(request).engine.settings.terms.lease_seconds / 4.0)
    view = await desk.lease(token, device, wait, request_id(request), key, gone)
    return Response(status_code=204) if view is None else answered(view)


@router.post("/trials/{trial}/heartbeat", response_model=wire.Renewal, tags=["trials"])
async def heartbeat(request: Request, trial: str, asked: wire.Heartbeat) -> Response:
    """Say that a trial still runs, and how far it is: its lease is renewed. 409 if it has ended."""

    def carry_out(ledger: Ledger, caller: Caller) -> View:
        require(caller, *RUNNERS)
        running = commands_devices.held(ledger.pool, caller, trial, asked.fence)
        ledger.renew(running.id, running.device)
        if asked.progress is not None or asked.scores:
            ledger.leases.tell(running.id, asked.progress, tuple(asked.scores))
        terms = ledger.leases.terms
        return {
            "trial": running.id,
            "lease_seconds": terms.lease_seconds,
            "heartbeat_seconds": terms.heartbeat_seconds,
        }

    return answered(await context_of(request).engine.ask(token_of(request), carry_out))


@router.post("/trials/{trial}/complete", response_model=wire.Trial, tags=["trials"])
async def complete_trial(request: Request, trial: str, asked: wire.Complete) -> Response:
    """Report a trial's score. Repeated, it is answered again; late, it is a 409."""

    def again(pool: Pool, caller: Caller, now: float) -> View:  # noqa: ARG001
        return trial_view(Scope(pool, caller).trial(trial), context_of(request).leases)

    return await change(
        request,
        lambda caller: commands_devices.complete_trial(caller, trial, asked),
        *RUNNERS,
        otherwise=again,
    )


@router.post("/trials/{trial}/fail", response_model=wire.Trial, tags=["trials"])
async def fail_trial(request: Request, trial: str, asked: wire.Fail) -> Response:
    """Report that a trial ended without a score; unless final, its arm may be tried again."""
    return await change(
        request, lambda caller: commands_devices.fail_trial(caller, trial, asked), *RUNNERS
    )


@router.post("/trials/{trial}/release", response_model=wire.Trial, tags=["trials"])
async def release_trial(request: Request, trial: str, asked: wire.Release) -> Response:
    """Give a trial back untried; that does not count as an attempt."""
    return await change(
        request, lambda caller: commands_devices.release_trial(caller, trial, asked), *RUNNERS
    )


@router.get("/trials/{trial}/data", tags=["trials"], response_class=Response)
async def trial_data(request: Request, trial: str) -> Response:
    """The file that a trial which runs trains on, as it was uploaded."""

    def at(pool: Pool, caller: Caller, now: float) -> tuple[str, str, str]:  # noqa: ARG001
        found = Scope(pool, caller).trial(trial)
        if found.state != "running":
            raise Conflicting(f"trial {trial} is {found.state}; only one that runs needs its data")
        training = training_view(found.study)
        if training is None:
            raise Missing(f"trial {trial} trains on no data of ours")
        return found.study.tenant.name, training["hash"], training["format"]

    tenant, digest, shape = await look(request, at, *RUNNERS)
    return await streamed(request, tenant, digest, shape)


@router.put("/trials/{trial}/log", status_code=204, tags=["trials"], response_class=Response)
async def keep_log(
    request: Request, trial: str, fence: Annotated[int, Query(ge=0, lt=2**63)]
) -> Response:
    """Keep what a trial printed, before it is reported: once, and of limited size."""

    def at(pool: Pool, caller: Caller, now: float) -> None:  # noqa: ARG001
        commands_devices.held(pool, caller, trial, fence)

    await look(request, at, *RUNNERS)
    content = await request.body()
    intake = context_of(request).intake
    await intake.run(lambda: intake.files.save(log_key(trial), [content]))
    return Response(status_code=204)


@router.post("/devices", status_code=201, response_model=wire.Device, tags=["devices"])
async def register_device(request: Request, asked: wire.DeviceCreate) -> Response:
    """Register a device. One that registers again begins anew: the trial that it ran is lost."""
    return await change(
        request,
        lambda caller: commands_devices.register_device(caller, asked),
        *RUNNERS,
        status=201,
    )


@router.get("/devices", response_model=Page[wire.Device], tags=["devices"])
async def list_devices(request: Request) -> Response:
    """All devices for an admin; a device's token sees those that it registered."""

    def at(pool: Pool, caller: Caller, now: float) -> list[View]:  # noqa: ARG001
        devices, leases = Scope(pool, caller).devices(), context_of(request).leases
        return [device_view(device, leases.seen(device.name)) for device in devices]

    return answered({"items": await look(request, at, *RUNNERS), "next": None})


@router.get("/devices/{device}", response_model=wire.Device, tags=["devices"])
async def show_device(request: Request, device: str) -> Response:
    """One device: what it runs, when it was heard of last."""

    def at(pool: Pool, caller: Caller, now: float) -> View:  # noqa: ARG001
        seen = context_of(request).leases.seen(device)
        return device_view(Scope(pool, caller).device(device), seen)

    return answered(await look(request, at, *RUNNERS))


@router.post("/devices/{device}/leave", response_model=wire.Device, tags=["devices"])
async def leave_device(request: Request, device: str) -> Response:
    """Let a device go; the trial that it runs is lost."""
    return await change(
        request, lambda caller: commands_devices.leave_device(caller, device), *RUNNERS
    )
