"""The overview: of the whole pool for an operator, of its own part for a tenant."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from bentham.core.gaussian.shortfall import Shortfall
from bentham.core.theory.regret import happiness
from bentham.service.engine.turn import Look
from bentham.service.fold.entities import Study
from bentham.service.views.entities import View, limits_view
from bentham.service.views.estimates import Estimates, mean_band


class Moment(NamedTuple):
    """The pool at one moment, as the overview shows it."""

    time: float
    sequence: int  # the last event
    devices: int  # those that are present
    away: tuple[str, ...]
    studies: int  # open ones
    regret: float


class RegretSum:
    """The sum of the estimates of some studies; studies without an estimate do not count.

    Its mean over the open studies is the regret now, wherever that is shown.
    """

    def __init__(self, studies: Iterable[Study], known: Mapping[str, Shortfall]) -> None:
        self._gaps: list[float] = []
        self._gained: list[float] = []
        self._deviations: defaultdict[int, float] = defaultdict(float)  # by dataset
        for study in studies:
            if (estimate := known.get(study.id)) is not None:
                self._gaps.append(estimate.gap)
                self._gained.append(study.incumbent - study.start)
                self._deviations[id(study.shared)] += estimate.variance**0.5

    def regret(self) -> View:
        """Return the mean and its 80 % band."""
        mean, low, high = mean_band(self._gaps, self._deviations)
        return {"regret_estimate": mean, "regret_low": low, "regret_high": high}

    def mean(self) -> float:
        """Return the mean without its band."""
        return sum(self._gaps) / len(self._gaps) if self._gaps else 0.0

    def happiness(self) -> float:
        """Return the share of the initial regret that is gone; 1 without studies."""
        gap = sum(self._gaps)
        return happiness(gap, gap + sum(self._gained))


def moment_of(look: Look, estimates: Estimates) -> Moment:
    """Return the figures of the whole pool that others than the overview use, too."""
    pool, leases = look.whole(), look.leases
    studies = _open(study for tenant in pool.tenants.values() for study in tenant.current.values())
    regret = RegretSum(studies, estimates.estimate(pool, studies)).mean()
    away = tuple(leases.away)
    return Moment(look.now, pool.sequence, leases.present, away, len(studies), regret)


def overview_view(look: Look, estimates: Estimates, latency: View | None = None) -> View:
    """Return the regret estimate, shares of device time, queue and throughput.

    Takes about three microseconds for each study that is not closed, plus the time of new
    estimates.
    """
    pool, scope, leases, now = look.pool, look.scope, look.leases, look.now
    own = scope.tenant_name
    total_used = sum(tenant.seconds_used(now) for tenant in scope.tenants())
    studies = _open(scope.current())
    known = estimates.estimate(pool, studies)
    total, parts = RegretSum(studies, known), []
    for tenant in scope.tenants():
        own_studies = _open(tenant.current.values())
        part, used = RegretSum(own_studies, known), tenant.seconds_used(now)
        parts.append(
            {
                "tenant": tenant.name,
                "weight": tenant.weight,
                "limits": limits_view(tenant),
                "reached": tenant.reached_limit(now),
                "open_studies": len(own_studies),
                "untried_arms": sum(study.untried for study in own_studies),
                "running_trials": len(tenant.running),
                "device_seconds": used,
                "device_seconds_today": tenant.seconds_today(now),
                "share": None if own else (used / total_used if total_used else 0.0),
                "regret_estimate": part.mean(),
                "happiness": part.happiness(),
            }
        )
    counts = {"present": leases.present, "busy": len(pool.running), "away": len(leases.away)}
    return {
        "time": now,
        **total.regret(),
        "happiness": total.happiness(),
        "tenants": parts,
        "queue": {
            "open_studies": len(studies),
            "untried_arms": sum(study.untried for study in studies),
        },
        "throughput": {
            "last_ten_minutes": pool.throughput.ended(now, 10, own),
            "last_hour": pool.throughput.ended(now, 60, own),
        },
        "devices": None if own else counts,
        "no_device": look.no_device,
        "decisions": sum(len(tenant.trials) for tenant in scope.tenants()),
        "leases_lost": sum(tenant.leases_lost for tenant in scope.tenants()),
        "latency": None if own else latency,
    }


def _open(studies: Iterable[Study]) -> list[Study]:
    return [study for study in studies if study.state == "open"]
