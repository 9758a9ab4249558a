"""The whole at a glance, history, and the audit trail."""

from typing import Any

from bentham.wire.base import ResponseBody
from bentham.wire.devices import TrialState
from bentham.wire.studies import CandidateState, StudyState
from bentham.wire.tenants import Limits


class ImportSummary(ResponseBody):
    """What an import of past runs held."""

    studies: int
    models: int
    runs: int


class TenantOverview(ResponseBody):
    """A tenant's part. `share` of all device time is for operators only; None for a tenant.

    `happiness` is the mean over its open studies, as in the whole.
    """

    tenant: str
    weight: float
    limits: Limits
    open_studies: int
    running_trials: int
    device_seconds: float
    device_seconds_today: float
    share: float | None
    regret_estimate: float
    happiness: float


class Queue(ResponseBody):
    """What is left to do."""

    open_studies: int
    untried_arms: int


class DeviceCounts(ResponseBody):
    """The devices, for operators only."""

    registered: int
    busy: int


class ThroughputView(ResponseBody):
    """Trials that ended in the last ten minutes and the last hour."""

    last_ten_minutes: int
    last_hour: int


class Latency(ResponseBody):
    """How long the latest decisions took, in seconds; so many they are, at most 1,000."""

    decisions: int
    median: float
    p99: float


class Overview(ResponseBody):
    """The pool, or a tenant's part of it.

    `regret_estimate` is the mean over open studies of how much their best model is believed to
    be better than their best so far: an estimate, since nobody knows. With four in five chances
    the mean is between `regret_low` and `regret_high`. `happiness` is the mean of how much of the
    way to their best models they have come, from 0 to 1. Studies that were not looked at yet, for
    some seconds after a start, do not count. `latency` is for operators only.
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
    decisions: int
    leases_lost: int
    latency: Latency | None


class Trend(ResponseBody):
    """Mean regret over time, as columns: at each of `times`, over the `studies` that were there.

    A study's regret then is its best, as believed now, less its incumbent then; with four in five
    chances the mean is between `low` and `high`. `round_robin` is what the same trials had reached
    if studies took turns, None for a tenant, and where nothing ran yet. Where `studies` is 0 there
    is no regret, which is not to say that all is well.
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
    """A device of a timeline; to a tenant it is `busy` while it runs a trial of its own."""

    name: str
    kind: str
    busy: bool


class TimelineTrial(ResponseBody):
    """A trial of a timeline; `name` is its study's. One that runs is to end at started + cost."""

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
    """The trials that ran since a time, the newest first, and the devices that ran them.

    `cut` says that there are more than were asked for: the newest are here, and all that run.
    """

    time: float
    since: float
    devices: list[TimelineDevice]
    trials: list[TimelineTrial]
    cut: bool


class HeatmapStudy(ResponseBody):
    """A row: `columns` are places in `models`, and what follows runs along them.

    `mean`, `sigma` and `rate` are None where nothing is believed: of studies that are not served,
    and `rate` once a model was tried. They are rounded to six digits.
    """

    study: str
    name: str
    tenant: str
    state: StudyState
    columns: list[int]
    states: list[CandidateState]
    observed: list[float | None]
    mean: list[float | None]
    sigma: list[float | None]
    rate: list[float | None]


class Heatmap(ResponseBody):
    """Some studies by the models that they list; `next` is what to pass as `after` for more."""

    models: list[str]
    items: list[HeatmapStudy]
    next: str | None = None


class CostCalibration(ResponseBody):
    """How well costs were predicted: of trials that ended with a score, real by predicted time.

    `median` is the ratio that half of them stay below, `within_half` and `within_double` the
    shares that were right to a factor of 1.5 and of 2.
    """

    group: str
    trials: int
    median: float
    low: float  # a tenth of the ratios are below
    high: float  # a tenth of the ratios are above
    within_half: float
    within_double: float


class Costs(ResponseBody):
    """The cost model at work, over the latest trials: all, by kind of device, by algorithm.

    `learning` says how it gets better: the same over the first trials, the next ones, and so on.
    """

    trials: int
    all: CostCalibration | None
    kinds: list[CostCalibration]
    algorithms: list[CostCalibration]
    learning: list[CostCalibration]


class LogRecord(ResponseBody):
    """One line of the event log: who did what, when."""

    sequence: int
    time: float
    kind: str
    version: int
    actor: str
    request: str
    tenant: str
    body: dict[str, Any]
