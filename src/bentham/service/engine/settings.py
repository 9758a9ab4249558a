"""How an instance of the service runs."""

from collections.abc import Callable
from dataclasses import dataclass, field

from bentham.service.engine.leases import Terms
from bentham.service.fold import events as happened

SNAPSHOT_EVENTS = 100_000


@dataclass(frozen=True, slots=True)
class Settings:
    """How an instance runs; `first` begins a new log, and `admin` makes the token to open it.

    With `new_admin` it makes one for a log that is there already.
    """

    first: happened.PoolCreated
    admin: Callable[[], happened.TokenIssued] | None = None
    new_admin: bool = False
    terms: Terms = field(default_factory=Terms)
    patience: int | None = 10_000
    snapshot_events: int = SNAPSHOT_EVENTS
