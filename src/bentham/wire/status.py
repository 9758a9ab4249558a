"""What runs now, for whom, and why nothing else does: for a live view in few requests."""

from bentham.wire.base import ResponseBody
from bentham.wire.overview import TimelineTrial
from bentham.wire.studies import StudyState

MOST_SHOWN = 200


class StudyStatus(ResponseBody):
    """A study with its best score so far, its baseline, and what it gained in the last hour.

    `measured` is the best model's value of the metric itself, if known: the score of an error is
    computed from it. `reason` says why nothing of it runs; it is empty if something does.
    """

    study: str
    tenant: str
    name: str
    state: StudyState
    metric: str
    floor: float
    best: float | None
    measured: float | None = None
    model: str
    gained: float
    models: int
    tried: int
    running: int
    reason: str


class AwayDevice(ResponseBody):
    """A device that is away, since its last sign of life."""

    name: str
    since: float


class StatusView(ResponseBody):
    """What runs now: up to `limit` of each; the counts are of all.

    `studies` are those not closed, newest first; a tenant also gets its latest closed ones after
    them. `running` trials are sorted by device. `idle` and `away` devices are for operators only.
    """

    time: float
    running: list[TimelineTrial]
    running_count: int
    studies: list[StudyStatus]
    study_count: int
    idle: list[str]
    away: list[AwayDevice]
