"""The whole at a glance: for an operator all of it, for a tenant its own part."""

from bentham.service.entities import Tenant
from bentham.service.estimates import Estimates
from bentham.service.pool import Pool
from bentham.service.scope import Scope
from bentham.service.views import View


def overview_view(pool: Pool, scope: Scope, estimates: Estimates, now: float) -> View:
    """Regret estimate, shares of device time, queue and throughput."""
    everyone = sum(_used(tenant, now) for tenant in pool.tenants.values())
    total, count = 0.0, 0
    parts = []
    untried = 0
    known = estimates.of_studies(pool, (study for study in scope.studies("open")))
    for tenant in scope.tenants():
        served = [study for study in tenant.studies.values() if study.state == "open"]
        gaps = [known[study.id] for study in served]
        total, count = total + sum(gaps), count + len(gaps)
        untried += sum(state == "untried" for study in served for state in study.states())
        used = _used(tenant, now)
        share = None if scope.tenant_name else (used / everyone if everyone else 0.0)
        parts.append(
            {
                "tenant": tenant.name,
                "weight": tenant.weight,
                "open_studies": len(served),
                "running_trials": len(tenant.running),
                "device_seconds": used,
                "share": share,
                "regret_estimate": sum(gaps) / len(gaps) if gaps else 0.0,
            }
        )
    own = scope.tenant_name
    busy = sum(device.trial is not None for device in pool.devices.values())
    return {
        "time": now,
        "regret_estimate": total / count if count else 0.0,
        "tenants": parts,
        "queue": {"open_studies": count, "untried_arms": untried},
        "throughput": {
            "last_ten_minutes": pool.throughput.ended(now, 10, own),
            "last_hour": pool.throughput.ended(now, 60, own),
        },
        "devices": None if own else {"registered": len(pool.devices), "busy": busy},
        "decisions": sum(_decisions(tenant) for tenant in scope.tenants()),
        "leases_lost": sum(tenant.leases_lost for tenant in scope.tenants()),
    }


def _used(tenant: Tenant, now: float) -> float:
    return tenant.device_seconds + sum(now - trial.started for trial in tenant.running.values())


def _decisions(tenant: Tenant) -> int:
    return sum(sum(study.counts.values()) for study in tenant.studies.values())
