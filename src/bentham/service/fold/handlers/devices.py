"""Handlers of events about devices."""

from bentham.core.problem import events as core
from bentham.service.fold import events as happened
from bentham.service.fold.entities import Device
from bentham.service.fold.state import State

DEPARTED = 1000


def device_registered(state: State, time: float, event: happened.DeviceRegistered) -> None:
    """Add a device, which is idle."""
    state.scheduler.apply(core.DeviceAdded(time, event.name, event.kind))
    state.devices[event.name] = Device(event.name, event.kind, event.token, time)


def device_left(state: State, time: float, event: happened.DeviceLeft) -> None:
    """Remove a device; the latest that left are remembered."""
    state.scheduler.apply(core.DeviceRemoved(time, event.name))
    state.departed[event.name] = state.devices.pop(event.name)
    if len(state.departed) > DEPARTED:
        del state.departed[next(iter(state.departed))]
