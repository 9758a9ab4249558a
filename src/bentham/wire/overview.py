"""The whole at a glance, history, and the audit trail."""

from typing import Any

from bentham.wire.base import Answered


class HistoryImported(Answered):
    """What an import of past runs held."""

    studies: int
    models: int
    runs: int


class TenantOverview(Answered):
    """A tenant's part. `share` of all device time is for operators only; None for a tenant."""

    tenant: str
    weight: float
    open_studies: int
    running_trials: int
    device_seconds: float
    share: float | None
    regret_estimate: float


class Queue(Answered):
    """What is left to do."""

    open_studies: int
    untried_arms: int


class DeviceCounts(Answered):
    """The devices, for operators only."""

    registered: int
    busy: int


class Throughput(Answered):
    """Trials that ended in the last ten minutes and the last hour."""

    last_ten_minutes: int
    last_hour: int


class Overview(Answered):
    """The pool, or a tenant's part of it.

    `regret_estimate` is the mean over open studies of how much their best model is believed to
    be better than their best so far: an estimate, since nobody knows.
    """

    time: float
    regret_estimate: float
    tenants: list[TenantOverview]
    queue: Queue
    throughput: Throughput
    devices: DeviceCounts | None
    decisions: int
    leases_lost: int


class CostCalibration(Answered):
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


class Costs(Answered):
    """The cost model at work, over the latest trials: all, by kind of device, by algorithm.

    `learning` says how it gets better: the same over the first trials, the next ones, and so on.
    """

    trials: int
    all: CostCalibration | None
    kinds: list[CostCalibration]
    algorithms: list[CostCalibration]
    learning: list[CostCalibration]


class LogRecord(Answered):
    """One line of the event log: who did what, when."""

    sequence: int
    time: float
    kind: str
    version: int
    actor: str
    request: str
    tenant: str
    body: dict[str, Any]
