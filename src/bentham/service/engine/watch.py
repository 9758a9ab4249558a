"""Notices what changes without an event: devices go away and come back, work waits, limits.

None of it is in the log of events, since it follows from signs of life, which are not logged. It is
written to the server's log, and sent to listeners as messages without a number.
"""

from datetime import UTC, datetime
from typing import NamedTuple

from bentham.service.engine.leases import Leases
from bentham.service.engine.notes import Note
from bentham.service.fold.entities import DAY, Tenant
from bentham.service.fold.pool import Pool

DEVICE_AWAY, DEVICE_BACK, NO_DEVICE = MESSAGES = ("device-away", "device-back", "no-device")
LIMITS_SECONDS = 1.0  # between checks of limits
# A tenant at its limit of running trials is below it for a moment whenever one ends.
LIMIT_OVER_SECONDS = 60.0


class Message(NamedTuple):
    """Sent to a tenant's listeners, or to operators (None); `subject` is a device or a tenant."""

    tenant: str | None
    kind: str
    subject: str


class Watch:
    """The tenants whose work waits because no device is present, and those at a limit."""

    def __init__(self, pool: Pool, leases: Leases):
        self._pool, self._leases = pool, leases
        self._no_device: dict[str, None] = {}
        self._limits: dict[str, tuple[str, float]] = {}  # by tenant: the limit, when it was seen
        self._limits_at = 0.0
        self._notes: list[Note] = []
        self._messages: list[Message] = []

    def no_device(self, tenant: str | None) -> bool:
        """Whether work of a tenant (None: of any) waits while no device is present."""
        return tenant in self._no_device if tenant else bool(self._no_device)

    def back(self, device: str) -> None:
        """Note that a device that was away has come back."""
        self._notes.append(Note("device back", {"device": device}))
        self._messages.append(Message(None, DEVICE_BACK, device))

    def look(self, now: float, instant: float) -> None:
        """Note what has changed; costs little while a device is present."""
        for device in self._leases.now_away(instant):
            silent = round(now - (self._leases.away_since(device) or now), 1)
            fields = {"device": device, "silent_seconds": silent}
            self._notes.append(Note("device away", fields, warning=True))
            self._messages.append(Message(None, DEVICE_AWAY, device))
        if self._leases.present == 0 or self._no_device:
            self._look_for_waiting_work(now)
        if instant >= self._limits_at:
            self._limits_at = instant + LIMITS_SECONDS
            self._look_for_limits(now, instant)

    def take(self) -> tuple[list[Note], list[Message]]:
        """Return what was noted since the last call."""
        taken = self._notes, self._messages
        self._notes, self._messages = [], []
        return taken

    def _look_for_waiting_work(self, now: float) -> None:
        before, self._no_device = self._no_device, {}
        if self._leases.present == 0:
            self._no_device = {
                name: None
                for name, tenant in self._pool.tenants.items()
                if _has_work(self._pool, tenant) and tenant.reached_limit(now) is None
            }
        changed = before.keys() ^ self._no_device.keys()
        self._messages += [Message(name, NO_DEVICE, name) for name in changed]
        if bool(before) == bool(self._no_device):
            return
        self._messages.append(Message(None, NO_DEVICE, ""))
        if self._no_device:
            fields = {"tenants": len(self._no_device), "devices_away": len(self._leases.away)}
            self._notes.append(Note("work waits and no device is alive", fields, warning=True))
        elif self._leases.present:
            fields = {"devices": self._leases.present}
            self._notes.append(Note("a device is alive again", fields))
        else:
            self._notes.append(Note("no work waits for a device any more", {"devices": 0}))

    def _look_for_limits(self, now: float, instant: float) -> None:
        for name, limit in self._pool.barred(now).items():
            tenant = self._pool.tenants[name]
            if not _has_work(self._pool, tenant):
                continue
            if self._limits.get(name, ("", 0.0))[0] != limit:
                fields = {"tenant": name, **_REACHED[limit](tenant, now)}
                self._notes.append(Note("limit reached", fields))
            self._limits[name] = limit, instant
        self._limits = {
            name: (limit, seen)
            for name, (limit, seen) in self._limits.items()
            if instant < seen + LIMIT_OVER_SECONDS
        }


def _running_trials(tenant: Tenant, _now: float) -> dict[str, object]:
    most = tenant.limits["running_trials"]
    return {"limit": "running-trials", "running": len(tenant.running), "allowed": most}


def _device_time(tenant: Tenant, now: float) -> dict[str, object]:
    tomorrow = datetime.fromtimestamp((now // DAY + 1.0) * DAY, UTC)
    return {
        "limit": "device-seconds-per-day",
        "used_seconds": round(tenant.seconds_today(now), 1),
        "allowed_seconds": tenant.limits["device_seconds_per_day"],
        "until": f"{tomorrow:%Y-%m-%d %H:%M} UTC",
    }


# What the log says of a limit; it is named as the option that sets it.
_REACHED = {"running-trials": _running_trials, "device-time": _device_time}


def _has_work(pool: Pool, tenant: Tenant) -> bool:
    served = any(study.served and study.untried for study in tenant.current.values())
    return served or any(fit.study.tenant is tenant for fit in pool.waiting_fits.values())
