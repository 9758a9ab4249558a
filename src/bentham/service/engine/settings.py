"""The settings of an instance of the service."""

from collections.abc import Callable
from dataclasses import dataclass, field

from bentham.service.engine.leases import Terms
from bentham.service.fold import events as happened

SNAPSHOT_EVENTS = 100_000


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of an instance; `first` is the first event of a new log.

    `admin` issues an admin token for a new log; with `new_admin`, also for an existing one.
    """

    first: happened.PoolCreated
    admin: Callable[[], happened.TokenIssued] | None = None
    new_admin: bool = False
    terms: Terms = field(default_factory=Terms)
    patience: int | None = 10_000
    snapshot_events: int = SNAPSHOT_EVENTS
