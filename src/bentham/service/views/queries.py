"""All queries, and the roles that may use them.

A query takes a turn and returns plain data. It looks up tenants, studies, datasets, devices and
trials through the scope of its caller.
"""

from concurrent.futures import Future

from bentham.service.engine.scope import Caller, page
from bentham.service.engine.turn import Look, allowed
from bentham.service.fold.events import TrialLeased
from bentham.service.refusals import Conflicting, Missing
from bentham.service.views.baseline import Replays
from bentham.service.views.catalog import algorithm_view, metric_view
from bentham.service.views.cost_report import costs_view
from bentham.service.views.entities import (
    View,
    best_view,
    candidate_views,
    dataset_view,
    decision_view,
    device_view,
    fitted_view,
    record_view,
    study_view,
    tenant_view,
    token_view,
    training_view,
    trial_view,
)
from bentham.service.views.estimates import Estimates
from bentham.service.views.heatmap import heatmap_items, in_turns
from bentham.service.views.next import next_view
from bentham.service.views.overview import Moment, moment_of, overview_view
from bentham.service.views.scripts import study_script
from bentham.service.views.status import status_view
from bentham.service.views.timeline import timeline_view
from bentham.service.views.trend import trend_view
from bentham.training.catalog import Catalog
from bentham.training.metrics import METRICS

ADMIN = ("admin",)
OWNERS = ("admin", "tenant")
RUNNERS = ("admin", "device")
EVERY_ROLE = ("admin", "tenant", "device")
Run = tuple[str, str, float, float | None]  # a past run: dataset, model, score, cost


# -- the caller


@allowed(*OWNERS)
def owner(look: Look) -> Caller:
    """Return the caller, an admin or a tenant."""
    return look.caller


@allowed(*EVERY_ROLE)
def session(look: Look) -> tuple[Caller, bool]:
    """Return the caller, and whether its work waits with no device present."""
    return look.caller, look.no_device


@allowed(*ADMIN)
def admin(look: Look) -> Caller:
    """Return the caller, an admin."""
    return look.caller


# -- tenants and tokens


@allowed(*OWNERS)
def tenants(look: Look) -> list[View]:
    """Return all tenants for an admin; for a tenant, only itself."""
    return [tenant_view(tenant, look.now) for tenant in look.scope.tenants()]


@allowed(*OWNERS)
def tenant(look: Look, name: str) -> View:
    """Return one tenant."""
    return tenant_view(look.scope.tenant(name), look.now)


@allowed(*ADMIN)
def tokens(look: Look) -> list[View]:
    """Return all tokens."""
    return [token_view(each) for each in look.whole().tokens.values()]


@allowed(*ADMIN)
def token(look: Look, name: str) -> View:
    """Return one token."""
    return token_view(look.scope.token(name))


# -- studies


@allowed(*OWNERS)
def studies(
    look: Look, state: str | None, dataset: str | None, limit: int, after: str | None
) -> View:
    """Return a page of studies, newest first; if `dataset` is an id, of those that use it."""
    found, following = page(look.scope.studies(state, dataset), limit, after)
    return {
        "items": [study_view(look.pool, each, look.now, False) for each in found],
        "next": following,
    }


@allowed(*OWNERS)
def study(look: Look, name: str, *_: object) -> View:
    """Return one study."""
    return study_view(look.pool, look.scope.study(name), look.now)


@allowed(*OWNERS)
def candidates(look: Look, name: str) -> list[View]:
    """Return every model of a study."""
    return candidate_views(look.pool, look.scope.study(name))


@allowed(*OWNERS)
def next_of(look: Look, name: str) -> View:
    """Return the model that would be run next for a study."""
    return next_view(look, look.scope.study(name))


@allowed(*OWNERS)
def record(look: Look, name: str) -> list[View]:
    """Return a study's scores in the order in which they arrived."""
    return record_view(look.scope.study(name))


@allowed(*OWNERS)
def script(look: Look, name: str, model: str | None, catalog: Catalog) -> str:
    """Return the script that trains a study's model."""
    return study_script(look.pool, look.scope.study(name), model, catalog)


@allowed(*OWNERS)
def best(look: Look, name: str) -> View:
    """Return a study's best model, with a look at it and its fitted model."""
    return best_view(look.leases, look.scope.study(name), look.now)


@allowed(*OWNERS)
def fitted(look: Look, name: str, *_: object) -> View:
    """Return the fitted model of a study that was requested last."""
    return fitted_view(look.leases, look.scope.study(name), look.now)


@allowed(*OWNERS)
def fitted_content(look: Look, name: str) -> tuple[str, str, str]:
    """Return the tenant, the trial and the name of the file of a study's fitted model."""
    study = look.scope.study(name)
    if study.fit is None or study.fit.state != "ready":
        raise Conflicting("no fitted model of the study is ready; ask for one, and wait for it")
    return study.tenant.name, study.fit.trial, study.name


# -- trials, decisions, devices


@allowed(*EVERY_ROLE)
def trials(look: Look, study: str | None, state: str | None, limit: int, after: str | None) -> View:
    """Return a page of trials, newest first."""
    found, following = page(look.scope.trials(study, state), limit, after)
    return {"items": [trial_view(each, look.leases) for each in found], "next": following}


@allowed(*EVERY_ROLE)
def trial(look: Look, name: str, *_: object) -> View:
    """Return one trial."""
    return trial_view(look.scope.trial(name), look.leases)


@allowed(*RUNNERS)
def trial_content(look: Look, name: str) -> tuple[str, str, str]:
    """Return the file that a running trial trains on: its tenant, hash and format."""
    found = look.scope.trial(name)
    if found.state != "running":
        raise Conflicting(f"trial {name} is {found.state}; only a running trial can get its data")
    training = training_view(found.study)
    if training is None:
        raise Missing(f"trial {name} does not train on a dataset of the server")
    return found.study.tenant.name, training["hash"], training["format"]


@allowed(*OWNERS)
def decision_places(
    look: Look, study: str | None, limit: int, after: str | None
) -> tuple[list[int], str | None]:
    """Return the sequence numbers of the decisions for a page of trials."""
    found, following = page(look.scope.trials(study), limit, after)
    return [each.sequence for each in found], following


@allowed(*OWNERS)
def decision_place(look: Look, name: str) -> int:
    """Return the sequence number of the decision to run a trial."""
    found = look.scope.trial(name)
    if found.fits:
        raise Missing(f"trial {name} fits a model on request; no decision led to it")
    return found.sequence


@allowed(*OWNERS)
def decisions(look: Look, leased: list[tuple[float, TrialLeased]]) -> list[View]:
    """Return decisions with their justification."""
    return [decision_view(look.pool, look.scope, time, event) for time, event in leased]


@allowed(*RUNNERS)
def devices(look: Look) -> list[View]:
    """Return all devices for an admin; for a device's token, those that it registered."""
    return [device_view(each, look.leases) for each in look.scope.devices()]


@allowed(*RUNNERS)
def device(look: Look, name: str) -> View:
    """Return one device."""
    return device_view(look.scope.device(name), look.leases)


# -- datasets


@allowed(*OWNERS)
def datasets(look: Look, limit: int, after: str | None) -> View:
    """Return a page of datasets, newest first, without their columns."""
    found, following = page(look.scope.datasets(), limit, after)
    return {"items": [dataset_view(each, False) for each in found], "next": following}


@allowed(*OWNERS)
def dataset(look: Look, name: str, *_: object) -> View:
    """Return one dataset."""
    return dataset_view(look.scope.dataset(name))


@allowed(*OWNERS)
def dataset_content(look: Look, name: str) -> tuple[str, str, str]:
    """Return the tenant, hash and format of a dataset's file."""
    found = look.scope.dataset(name)
    return found.tenant, found.hash, found.format


# -- the catalogue


@allowed(*OWNERS)
def algorithms(look: Look, catalog: Catalog) -> list[View]:  # noqa: ARG001
    """Return the algorithms that studies may draw their candidates from."""
    return [algorithm_view(each) for each in catalog.algorithms.values()]


@allowed(*OWNERS)
def metrics(look: Look) -> list[View]:  # noqa: ARG001
    """Return the metrics."""
    return [metric_view(each) for each in METRICS.values()]


# -- history


@allowed(*OWNERS)
def past_runs(look: Look) -> list[Run]:
    """Return imported runs and complete trials, the latest of each arm, as history to import."""
    runs: dict[tuple[str, str], Run] = {}
    everything = look.scope.everything
    for history in look.whole().history if everything else ():
        for name, scores in history.items():
            for model, (score, cost) in scores.items():
                runs[name, model] = name, model, score, cost
    for each in look.scope.trials(state="complete"):
        prefix = f"{each.study.tenant.name}/" if everything else ""
        taken = (each.ended or each.started) - each.started
        name = f"{prefix}{each.study.dataset}"
        runs[name, each.model] = name, each.model, each.score or 0.0, taken if taken > 0.0 else None
    return list(runs.values())


@allowed(*ADMIN)
def head(look: Look) -> int:
    """Return the number of events."""
    return look.whole().sequence


# -- overview of the pool


@allowed(*OWNERS)
def overview(look: Look, estimates: Estimates, latency: View | None) -> View:
    """Return the regret estimate, device time by tenant, queue and throughput."""
    return overview_view(look, estimates, latency)


@allowed(*OWNERS)
def status(look: Look, limit: int) -> View:
    """Return what runs now, for whom, and why nothing else does."""
    return status_view(look, limit)


@allowed(*OWNERS)
def begin_replay(look: Look, replays: Replays) -> Future[None] | None:
    """Start the comparison with round robin, for an operator; return what to wait for, if any."""
    if not look.scope.everything:
        return None
    return replays.renew(look.whole(), look.leases, look.now)


@allowed(*OWNERS)
def trend(
    look: Look, estimates: Estimates, replays: Replays, seconds: float | None, points: int
) -> View:
    """Return mean regret over time."""
    replay = replays.of(look.pool)
    return trend_view(look.pool, look.scope, estimates, look.now, seconds, points, replay)


@allowed(*OWNERS)
def timeline(look: Look, seconds: float, limit: int) -> View:
    """Return which device ran what, and for which tenant."""
    return timeline_view(look.pool, look.scope, look.leases, look.now, seconds, limit)


@allowed(*OWNERS)
def heatmap_turns(
    look: Look, names: list[str] | None, state: str | None, limit: int, after: str | None
) -> tuple[list[list[str]], str | None]:
    """Return the studies of a heatmap, in batches that each take one turn."""
    if names is not None:
        return in_turns(look.scope.studies_named(names)), None
    chosen, following = page(look.scope.studies(state), limit, after)
    return in_turns(chosen), following


@allowed(*OWNERS)
def heatmap(look: Look, names: list[str], models: dict[str, int]) -> list[View]:
    """Return rows of a heatmap; `models` numbers its columns, and new ones are added."""
    return heatmap_items(look.pool, look.scope.studies_named(names), models)


@allowed(*OWNERS)
def costs(look: Look) -> View:
    """Return how well costs were predicted."""
    return costs_view(look.pool, look.scope)


@allowed(*ADMIN)
def moment(look: Look, estimates: Estimates) -> Moment:
    """Return the figures of the pool that a what-if starts from."""
    return moment_of(look, estimates)


@allowed(*RUNNERS)
def gauges(look: Look, estimates: Estimates) -> tuple[dict[str, float | dict[str, float]], int]:
    """Return the pool's gauges (a dict has a value for each label), and the number of events."""
    pool = look.whole()
    found, busy = moment_of(look, estimates), len(pool.running)
    return {
        "bentham_leases_lost": pool.leases_lost,
        "bentham_regret_estimate": found.regret,
        "bentham_work_without_devices": look.no_device,
        "bentham_devices": {"present": found.devices, "away": len(found.away)},
        "bentham_devices_busy": busy,
        "bentham_device_utilisation": busy / found.devices if found.devices else 0.0,
        "bentham_studies_open": found.studies,
    }, found.sequence
