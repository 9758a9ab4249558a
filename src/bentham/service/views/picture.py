"""A whole pool as plain data, to compare two pools bit by bit."""

from typing import Any

from bentham.service.engine.leases import Leases, Terms
from bentham.service.fold.pool import Pool
from bentham.service.views.entities import candidate_views, study_view, tenant_view, trial_view


def picture(pool: Pool, believed: int) -> list[Any]:
    """Return the views of a pool, and the candidates of the first `believed` served studies."""
    seen: list[Any] = [study_view(pool, study) for study in pool.studies.values()]
    seen += [tenant_view(tenant, pool.time) for tenant in pool.tenants.values()]
    leases = Leases(Terms())
    seen += [trial_view(trial, leases) for trial in pool.trials.values()]
    served = [study for study in pool.studies.values() if study.served]
    return seen + [candidate_views(pool, study) for study in served[:believed]]
