"""The overview: of the whole pool for an operator, of its own part for a tenant."""

from collections import defaultdict
from collections.abc import Iterable

from bentham.core.gaussian.shortfall import Shortfall
from bentham.core.theory.regret import happiness
from bentham.service.engine.turn import Look
from bentham.service.fold.entities import Study, Tenant
from bentham.service.views.entities import View, limits_view
from bentham.service.views.estimates import Estimates, mean_band


class RegretSum:
    """The sum of the estimates of some studies; studies without an estimate do not count."""

    def __init__(self) -> None:
        self._gaps: list[float] = []
        self._gained: list[float] = []
        self._deviations: defaultdict[int, float] = defaultdict(float)  # by dataset

    def add(self, study: Study, estimate: Shortfall | None) -> None:
        """Add a study."""
        if estimate is not None:
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


def overview_view(look: Look, estimates: Estimates, latency: View | None = None) -> View:
    """Return the regret estimate, shares of device time, queue and throughput.

    Takes about three microseconds for each study that is not closed, plus the time of new
    estimates.
    """
    pool, scope, leases, now = look.pool, look.scope, look.leases, look.now
    own = scope.tenant_name
    total_used = sum(_used(tenant, now) for tenant in scope.tenants())
    known = estimates.estimate(pool, _open(scope.current()))
    total, parts, open_studies, untried = RegretSum(), [], 0, 0
    for tenant in scope.tenants():
        part, count, left = RegretSum(), 0, 0
        for study in _open(tenant.current.values()):
            count += 1
            left += study.untried
            estimate = known.get(study.id)
            part.add(study, estimate)
            total.add(study, estimate)
        open_studies += count
        untried += left
        used = _used(tenant, now)
        parts.append(
            {
                "tenant": tenant.name,
                "weight": tenant.weight,
                "limits": limits_view(tenant),
                "reached": tenant.reached_limit(now),
                "open_studies": count,
                "untried_arms": left,
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
        "queue": {"open_studies": open_studies, "untried_arms": untried},
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


def _open(studies: Iterable[Study]) -> Iterable[Study]:
    return (study for study in studies if study.state == "open")


def _used(tenant: Tenant, now: float) -> float:
    return tenant.device_seconds + sum(now - trial.started for trial in tenant.running.values())
