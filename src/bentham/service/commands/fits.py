"""Fitted models: a tenant asks for one, a trial of its own fits it, and its file is stored."""

from bentham import wire
from bentham.service.commands.tenants import new_id
from bentham.service.engine.rules import Events
from bentham.service.engine.turn import Look, Turn, allowed
from bentham.service.fold import events
from bentham.service.fold.entities import Device, Fit, Study, Trial
from bentham.service.fold.pool import Pool
from bentham.service.refusals import Conflicting, Missing
from bentham.service.views import queries
from bentham.training.catalog import Catalog
from bentham.training.fitted import NO_ESTIMATOR

OWNERS = ("admin", "tenant")
RUNNERS = ("admin", "device")


def wanted_model(study: Study, body: wire.FitCreate) -> str:
    """Return the model to fit, by default the best so far."""
    if body.model is not None:
        if body.model not in study.models:
            raise Missing(f"the study lists no model {body.model!r}")
        return body.model
    if study.best is None:
        raise Conflicting("no model of the study has a score yet; try again when one has")
    return study.best[0]


@allowed(*OWNERS, unchanged=queries.fitted)
def request_fit(turn: Turn, name: str, body: wire.FitCreate, catalog: Catalog) -> Events:
    """Ask for a fitted model of a study; if it is there or under way, this changes nothing."""
    study = turn.scope.study(name)
    if not study.data or not study.drawn:
        raise Conflicting(
            "the study does not train on a dataset of the server, so its models cannot be fitted "
            "here; train the best one where the study's trials run"
        )
    model, fit = wanted_model(study, body), study.fit
    if fit is not None and fit.model == model and fit.state != "failed":
        return []
    if fit is not None and fit.state == "running":
        raise Conflicting(f"the model {fit.model!r} of the study is being fitted; wait until it is")
    algorithm = turn.shared.algorithm(model)
    known = catalog.algorithms.get(algorithm)
    if known is not None and known.command:
        raise Conflicting(NO_ESTIMATOR.format(algorithm))
    dataset = study.data["dataset"]
    if not turn.shared.has_dataset(study.tenant, dataset):
        raise Conflicting("the study's dataset was dropped; upload it again for another study")
    return [events.FitRequested(study.id, model)]


def next_fit(pool: Pool, device: Device, barred: dict[str, str], now: float) -> Fit | None:
    """Return the fit to run on an idle device before any trial that scores; usually there is none.

    A tenant has one fit at a time, and after each a pause as long as it took: so its fits take at
    most half of one device, however many it asks for.
    """
    for fit in pool.waiting_fits.values():
        tenant = fit.study.tenant
        if tenant.name not in barred and device.name not in fit.unable and rested(tenant.fit, now):
            return fit
    return None


def rested(latest: Trial | None, now: float) -> bool:
    """Whether a tenant's next fit may run, given its latest one."""
    if latest is None:
        return True
    return latest.ended is not None and now >= latest.ended + (latest.ended - latest.started)


def lease_fit(fit: Fit, device: Device) -> Events:
    """Lease a trial of a fit to a device."""
    return [events.FitLeased(new_id("t"), fit.study.id, device.name, fit.losses + 1)]


@allowed(*RUNNERS)
def complete_fit(
    turn: Turn, name: str, fence: int, digest: str, size: int, versions: list[str]
) -> Events:
    """Complete a trial with a fitted model, whose file is stored."""
    trial = fitting(turn, name, fence)
    return [events.FitCompleted(trial.id, digest, size, versions)]


@allowed(*RUNNERS)
def fitting(turn: Turn, name: str, fence: int) -> Trial:
    """Return a trial that fits a model, and that the caller's device runs under a valid lease."""
    trial = held(turn, name, fence)
    if not trial.fits:
        raise Conflicting(f"trial {name} scores a model; report its score")
    return trial


@allowed(*RUNNERS)
def fitted_before(look: Look, name: str, fence: int) -> bool:
    """Whether this trial has ended with a fitted model: its upload is then a repetition."""
    trial = look.scope.trial(name)
    return trial.fits and trial.number == fence and trial.state == "complete"


@allowed(*RUNNERS)
def held(turn: Turn, name: str, fence: int) -> Trial:
    """Return a trial that the caller's device runs under a valid lease."""
    trial = turn.scope.trial(name)
    if trial.number != fence:
        raise Conflicting(f"the fence {fence} does not match trial {name}; nothing was changed")
    if trial.state != "running":
        reason = f" ({trial.reason})" if trial.reason else ""
        raise Conflicting(f"trial {name} is {trial.state}{reason}; nothing was changed")
    return trial
