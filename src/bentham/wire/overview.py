"""The overview and its figures, the import of history, and the audit trail."""

from typing import Any, Literal

from bentham.wire.base import ResponseBody
from bentham.wire.devices import TrialState
from bentham.wire.studies import CandidateState, StudyState
from bentham.wire.tenants import Limits


class ImportSummary(ResponseBody):
    """What an import of past runs contained."""

    studies: int
    models: int
    runs: int


class TenantOverview(ResponseBody):
    """A tenant's part. `share` is its share of all device time; None if a tenant requests it.

    `reached` is the limit that keeps it from running more now.

    `regret_estimate` and `happiness` are those of its open studies, as in the overview.
    """

    tenant: str
    weight: float
    limits: Limits
    reached: Literal["running-trials", "device-time"] | None
    open_studies: int
    untried_arms: int
    running_trials: int
    device_seconds: float
    device_seconds_today: float
    share: float | None
    regret_estimate: float
    happiness: float


class Queue(ResponseBody):
    """The work that is left."""

    open_studies: int
    untried_arms: int


class DeviceCounts(ResponseBody):
    """The devices that are present, how many of them run a trial, and those that are away."""

    present: int
    busy: int
    away: int


class ThroughputView(ResponseBody):
    """The number of trials that ended in the last ten minutes and in the last hour."""

    last_ten_minutes: int
    last_hour: int


class Latency(ResponseBody):
    """The time of the latest decisions, in seconds; `decisions` is their number, at most 1,000."""

    decisions: int
    median: float
    p99: float


class Overview(ResponseBody):
    """The pool, or a tenant's part of it.

    `regret_estimate` is the mean over open studies of how much better their best model is expected
    to be than their incumbent: an estimate, since the best score is unknown. The mean is between
    `regret_low` and `regret_high` with a probability of 80 %. `happiness` is the share of their
    initial regret that is gone, from 0 to 1. Studies without an estimate, for some seconds after a
    start, do not count. `no_device` means that work waits and no device is alive. `devices` and
    `latency` are for operators only.
    """

    time: float
    regret_estimate: float
    regret_low: float
    regret_high: float
    happiness: float
    tenants: list[TenantOverview]
    queue: Queue
    throughput: ThroughputView
    devices: DeviceCounts | None
    no_device: bool
    decisions: int
    leases_lost: int
    latency: Latency | None


class Trend(ResponseBody):
    """Mean regret over time, as columns: at each of `times`, over the `studies` not closed then.

    A study's regret at a time is its best score, as estimated now, minus its incumbent at that
    time. The mean is between `low` and `high` with a probability of 80 %. `round_robin` is the mean
    regret of the same trials with the studies served in turn; None for a tenant, and before the
    first trial. Where `studies` is 0, regret is 0 and has no meaning.
    """

    time: float
    since: float
    times: list[float]
    regret: list[float]
    low: list[float]
    high: list[float]
    studies: list[int]
    round_robin: list[float] | None


class TimelineDevice(ResponseBody):
    """A device of a timeline; for a tenant, `busy` means that it runs one of its own trials.

    Only an admin sees whether it is away.
    """

    name: str
    kind: str
    busy: bool
    away: bool = False


class TimelineTrial(ResponseBody):
    """A trial of a timeline; `name` is its study's. A running one should end at started + cost."""

    id: str
    tenant: str
    study: str
    name: str
    model: str
    device: str
    state: TrialState
    started: float
    ended: float | None
    cost: float
    score: float | None
    reason: str


class Timeline(ResponseBody):
    """The trials that ran since a time, newest first, and the devices that ran them.

    `cut` means that there are more than the limit: the newest are listed, and all that run.
    """

    time: float
    since: float
    devices: list[TimelineDevice]
    trials: list[TimelineTrial]
    cut: bool


class HeatmapStudy(ResponseBody):
    """A row: `columns` are indexes into `models`; the lists after it have one value per column.

    `rate` is the expected improvement per unit of cost of the study alone: without weights, and as
    if nothing else were running. `mean`, `sigma` and `rate` are None for studies that are not
    served; `rate` is also None once a model was tried. They are rounded to six digits.
    """

    study: str
    name: str
    tenant: str
    state: StudyState
    metric: str
    columns: list[int]
    states: list[CandidateState]
    observed: list[float | None]
    mean: list[float | None]
    sigma: list[float | None]
    rate: list[float | None]


class Heatmap(ResponseBody):
    """Studies by models; unless `next` is null, pass it as `after` to get the next page."""

    models: list[str]
    items: list[HeatmapStudy]
    next: str | None = None


class CostCalibration(ResponseBody):
    """How well costs were predicted: actual / predicted time of trials that ended with a score.

    `median` is the median of these ratios; `within_half` and `within_double` are the shares of
    trials whose prediction was right within a factor of 1.5 and of 2.
    """

    group: str
    trials: int
    median: float
    low: float  # 10th percentile of the ratios
    high: float  # 90th percentile of the ratios
    within_half: float
    within_double: float


class Costs(ResponseBody):
    """The accuracy of predicted costs over the latest trials: all, by device kind, by algorithm.

    `learning` shows how it improves: the same for the first trials, the next ones, and so on.
    """

    trials: int
    all: CostCalibration | None
    kinds: list[CostCalibration]
    algorithms: list[CostCalibration]
    learning: list[CostCalibration]


class LogRecord(ResponseBody):
    """One event of the log: who did what, and when."""

    sequence: int
    time: float
    kind: str
    version: int
    actor: str
    request: str
    tenant: str
    body: dict[str, Any]
