"""A whole pool as plain data, to compare two pools bit by bit."""

from typing import Any

from bentham.service.engine.leases import Leases, Terms
from bentham.service.fold.pool import Pool
from bentham.service.views.entities import (
    best_view,
    candidate_views,
    study_view,
    tenant_view,
    trial_view,
)


def picture(pool: Pool, with_candidates: int) -> list[Any]:
    """Return the views of a pool, and the models of the first `with_candidates` served studies."""
    views: list[Any] = [study_view(pool, study, pool.time) for study in pool.studies.values()]
    views += [tenant_view(tenant, pool.time) for tenant in pool.tenants.values()]
    leases = Leases(Terms())
    views += [trial_view(trial, leases) for trial in pool.trials.values()]
    views += [trial_view(trial, leases) for trial in pool.fit_trials.values()]
    views += [best_view(leases, study, pool.time) for study in pool.studies.values()]
    served = [study for study in pool.studies.values() if study.served]
    return views + [candidate_views(pool, study) for study in served[:with_candidates]]
