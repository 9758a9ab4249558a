"""A whole pool as plain data, to compare two of them to the bit."""

from typing import Any

from bentham.service.engine.leases import Leases, Terms
from bentham.service.fold.pool import Pool
from bentham.service.views.entities import candidate_views, study_view, tenant_view, trial_view


def picture(pool: Pool, believed: int) -> list[Any]:
    """All that can be seen of a pool, and what is believed of so many of its studies."""
    seen: list[Any] = [study_view(pool, study) for study in pool.studies.values()]
    seen += [tenant_view(tenant, pool.time) for tenant in pool.tenants.values()]
    leases = Leases(Terms())
    seen += [trial_view(trial, leases) for trial in pool.trials.values()]
    served = [study for study in pool.studies.values() if study.served]
    return seen + [candidate_views(pool, study) for study in served[:believed]]
