"""Studies: create them with their models and data, pause, resume and close them."""

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from typing import Any, cast

from bentham import wire
from bentham.core.problem.stop_rules import DEFAULT_GAIN_SHARE
from bentham.errors import InvalidInput
from bentham.service.commands.tenants import MOST_MODELS, new_id
from bentham.service.engine.rules import Events
from bentham.service.engine.turn import Shared, Turn, allowed
from bentham.service.fold import events
from bentham.service.fold.entities import Dataset, Description, Study, Tenant
from bentham.service.refusals import Conflicting, Invalid, Missing
from bentham.service.views import queries
from bentham.training.catalog import Catalog
from bentham.training.dataset import ColumnSummary, DataFile, Format
from bentham.training.plan import plan
from bentham.training.spaces import CandidateModel
from bentham.training.training_plan import PlanRequest, SplitRequest
from bentham.wire.studies import DEFAULT_CANDIDATES
from bentham.wording import did_you_mean

BY_REQUEST = "closed by request"  # why a study is closed, if no stop rule has closed it
MOST_STUDIES = 1_000_000
MOST_MODELS_OF_TENANT = 500  # one tenant must not use up the limit of the pool
MOST_STUDIES_OF_TENANT, MOST_STUDIES_OF_DATASET, MOST_ARMS_OF_TENANT = 20_000, 100, 500_000
# Columns of all data that a tenant's studies use: they are held in memory.
MOST_TRAINED_COLUMNS = 500_000
OWNERS = ("admin", "tenant")
OVER_DATA = "data:"  # followed by a digest of what scores depend on
# Everything that a score depends on, except the model.
_SCORE_FIELDS = (
    "hash", "format", "delimiter", "target", "task", "metric", "columns", "split", "reads",
    "positive",
)  # fmt: skip
# Stored as well, although scores do not depend on them.
_OTHER_FIELDS = ("bytes", "classes", "baseline", "notes")
# The first candidates over all algorithms are standard. They count towards no limit, so that a
# study can always use them, however many other models have been listed.
STANDARD_CANDIDATES = 100


@dataclass(frozen=True, slots=True)
class _Choice:
    """The models that a study chooses among, and its data."""

    models: dict[str, float | None]
    described: dict[str, dict[str, Any]]  # models that no study listed before
    dataset: str
    metric: str
    rows: int | None
    columns: int | None
    drawn: bool = False
    data: dict[str, str] = field(default_factory=dict)
    training: dict[str, Any] = field(default_factory=dict)
    baseline: float = 0.0


@allowed(*OWNERS)
def create_study(turn: Turn, body: wire.StudyCreate, catalog: Catalog) -> Events:
    """Create a study for the caller's tenant, or for the tenant that an admin names."""
    tenant = turn.scope.tenant_for(body.tenant)
    if body.name in tenant.studies:
        raise Conflicting(f"a study {body.name!r} already exists; pick another name")
    if len(tenant.studies) >= MOST_STUDIES_OF_TENANT or turn.shared.studies >= MOST_STUDIES:
        raise Conflicting("the maximum number of studies is reached; ask the operator")
    choice = _listed(body) if body.models else _drawn(turn.shared, tenant, body, catalog)
    stop = body.stop.model_dump(exclude_none=True)
    if body.data is not None or body.floor is not None:  # else there is no baseline to count from
        stop.setdefault("gain_share", DEFAULT_GAIN_SHARE)
    _refuse_too_many(turn.shared, tenant, choice)
    _refuse_past_deadline(body.stop, turn.now)
    arms = turn.shared.arms(tenant, choice.dataset)
    if arms is not None and len(arms.studies) >= MOST_STUDIES_OF_DATASET:
        raise Conflicting(
            f"{MOST_STUDIES_OF_DATASET} studies use dataset {choice.dataset!r}, the maximum; give "
            "the dataset another name"
        )
    _refuse_other_costs(turn.shared, tenant, choice.dataset, choice.models)
    return [
        events.StudyCreated(
            new_id("s"),
            tenant.name,
            body.name,
            choice.dataset,
            choice.metric,
            choice.models,
            body.weight,
            choice.baseline if body.floor is None else body.floor,
            choice.rows,
            choice.columns,
            stop,
            choice.drawn,
            choice.described,
            choice.data,
            choice.training,
        )
    ]


def _listed(body: wire.StudyCreate) -> _Choice:
    """Use the models listed in the request; the dataset is only a name."""
    dataset = body.dataset or body.name
    if dataset.startswith(OVER_DATA):
        raise Invalid(
            f"dataset names that begin with {OVER_DATA!r} are reserved for the server; pick another"
        )
    metric = body.metric or "score"
    models = dict(body.models)
    return _Choice(models, {}, dataset, metric, body.rows, body.columns)


def _drawn(shared: Shared, tenant: Tenant, body: wire.StudyCreate, catalog: Catalog) -> _Choice:
    """Draw models from the catalogue, for a stored dataset or for the models' own data."""
    count = body.candidates or DEFAULT_CANDIDATES
    try:
        if body.data is None:
            found = catalog.candidates(None, count, body.algorithms)
            models, described = _named(shared, found)
            listed = _listed(body)
            return replace(listed, models=models, described=described, drawn=True)
        dataset = _dataset_of(shared, tenant, body.data.dataset)
        training = plan(_data_file(dataset), _plan_request(body.data, body.metric))
        found = catalog.candidates(training.task, count, body.algorithms)
    except InvalidInput as error:
        raise Invalid(str(error)) from None
    standard = catalog.candidates(training.task, STANDARD_CANDIDATES)
    models, described = _named(shared, found, standard)
    fields = training.model_dump()
    key = OVER_DATA + _digest({name: fields[name] for name in _SCORE_FIELDS})
    known = shared.arms(tenant, key)
    if known is None and tenant.trained_columns + len(training.columns) > MOST_TRAINED_COLUMNS:
        raise Conflicting(
            "your studies would use more columns of data in total than can be stored; reuse the "
            "data, metric and split of another study"
        )
    return _Choice(
        models,
        described,
        key,
        training.metric,
        dataset.rows,
        len(training.columns),
        True,
        {"dataset": dataset.id, "name": dataset.name},
        {}
        if known is not None
        else {name: fields[name] for name in (*_SCORE_FIELDS, *_OTHER_FIELDS)},
        training.baseline,
    )


def _dataset_of(shared: Shared, tenant: Tenant, name: str) -> Dataset:
    """Return the tenant's dataset with this id or name, or a shared one."""
    held = (*tenant.datasets.values(), *shared.installed.values())
    for each in held:
        if name in (each.id, each.name):
            return each
    others = did_you_mean(
        name, [each.name for each in held], "; GET /v1/datasets lists the existing ones"
    )
    raise Missing(f"there is no dataset {name!r}{others}")


@lru_cache(maxsize=16)
def _data_file(dataset: Dataset) -> DataFile:
    """Return a dataset with all its columns; cached, since many studies may use the same one."""
    return DataFile(
        dataset.id,
        dataset.name,
        dataset.hash,
        cast(Format, dataset.format),
        dataset.delimiter,
        dataset.bytes,
        dataset.rows,
        tuple(ColumnSummary(**column) for column in json.loads(dataset.columns)),
    )


def _plan_request(data: wire.DataAsked, metric: str | None) -> PlanRequest:
    split = SplitRequest(data.split.kind, data.split.folds, data.split.share, data.split.seed)
    return PlanRequest(data.target, metric, data.task, data.types, split)


def _named(
    shared: Shared,
    found: Mapping[str, CandidateModel],
    standard: Mapping[str, CandidateModel] | None = None,
) -> tuple[dict[str, float | None], dict[str, dict[str, Any]]]:
    """Return names for models, and the descriptions of those that no study listed before.

    The meaning of a name never changes: if the catalogue has changed a model, it gets another name.
    """
    models: dict[str, float | None] = {}
    described: dict[str, dict[str, Any]] = {}
    for name, model in found.items():
        known = shared.description(name)
        if known is not None and not _is_same(known, model):
            name = f"{name}-{_digest(asdict(model))[:6]}"
            known = shared.description(name)
        if known is None:
            described[name] = asdict(model)
            if standard and standard.get(name) == model:
                described[name]["standard"] = True
        models[name] = None
    return models, described


def _is_same(known: Description, model: CandidateModel) -> bool:
    return known.algorithm == model.algorithm and known.configuration == model.configuration


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def _refuse_too_many(shared: Shared, tenant: Tenant, choice: _Choice) -> None:
    models = choice.models
    counted = [
        model
        for model in shared.counted(models, choice.drawn)
        if not choice.described.get(model, {}).get("standard")
    ]
    # Whether another tenant has listed a model before must make no difference.
    fresh = [model for model in counted if model not in tenant.models]
    own = len(tenant.models) + len(fresh)
    if own > MOST_MODELS_OF_TENANT:
        raise Conflicting(
            f"your studies would list {own:,} models in total, more than the limit of "
            f"{MOST_MODELS_OF_TENANT}; reuse models of your other studies"
        )
    if fresh and shared.models + len(fresh) > MOST_MODELS:
        raise Conflicting(
            "the maximum number of models is reached; use known ones, or ask the operator"
        )
    _refuse_too_many_arms(tenant, models)


def _refuse_past_deadline(stop: wire.StopRules, now: float) -> None:
    if stop.deadline is not None and stop.deadline <= now:
        raise Invalid("the deadline has already passed; give a later one, or none")


def _refuse_too_many_arms(tenant: Tenant, models: Collection[str]) -> None:
    if tenant.arms + len(models) > MOST_ARMS_OF_TENANT:
        raise Conflicting(
            f"your studies would list {tenant.arms + len(models):,} models, counted per study, "
            f"more than the limit of {MOST_ARMS_OF_TENANT:,}; close some first"
        )


def _refuse_other_costs(
    shared: Shared, tenant: Tenant, dataset: str, models: dict[str, float | None]
) -> None:
    """Refuse a cost that differs from another study's, open or paused: one arm has one cost."""
    arms = shared.arms(tenant, dataset)
    for other in arms.studies if arms else ():
        for model, cost in models.items() if other.state != "closed" else ():
            known = other.models.get(model)
            if cost is not None and known is not None and known != cost:
                raise Invalid(
                    f"in study {other.name!r}, model {model!r} costs {known:g} on dataset "
                    f"{dataset!r}, in this one {cost:g}; one arm has one cost: make them agree"
                )


@allowed(*OWNERS, unchanged=queries.study)
def rename_study(turn: Turn, name: str, body: wire.StudyChange) -> Events:
    """Give a study another name, unique among the studies of its tenant."""
    study = turn.scope.study(name)
    if study.name == body.name:
        return []
    if body.name in study.tenant.studies:
        raise Conflicting(f"a study {body.name!r} already exists; pick another name")
    return [events.StudyRenamed(study.id, body.name)]


@allowed(*OWNERS, unchanged=queries.study)
def pause_study(turn: Turn, name: str) -> Events:
    """Pause a study: no new trials until it is resumed."""
    study = _not_closed(turn.scope.study(name))
    return [] if study.state == "paused" else [events.StudyPaused(study.id)]


@allowed(*OWNERS, unchanged=queries.study)
def resume_study(turn: Turn, name: str) -> Events:
    """Resume a paused study."""
    study = _not_closed(turn.scope.study(name))
    return [] if study.state == "open" else [events.StudyResumed(study.id)]


@allowed(*OWNERS, unchanged=queries.study)
def close_study(turn: Turn, name: str) -> Events:
    """Close a study; it can be reopened."""
    study = turn.scope.study(name)
    if study.state == "closed":
        return []
    return [events.StudyClosed(study.id, BY_REQUEST)]


@allowed(*OWNERS)
def reopen_study(turn: Turn, name: str, body: wire.StudyReopen) -> Events:
    """Serve a closed study again, under new stop rules."""
    study = turn.scope.study(name)
    if study.state != "closed":
        raise Conflicting(f"the study is {study.state}, not closed; nothing was changed")
    if not study.untried:
        raise Conflicting(
            "every model of the study was tried; create a study on the same data with more "
            "candidates, which keeps these scores"
        )
    data = _data_held(turn.shared, study)
    if body.stop is not None:
        _refuse_past_deadline(body.stop, turn.now)
        stop: dict[str, Any] = body.stop.model_dump(exclude_none=True)
    else:
        stop = study.stop if study.reason == BY_REQUEST else {"gain_share": 0.0}
    _refuse_too_many_arms(study.tenant, study.models)
    _refuse_other_costs(turn.shared, study.tenant, study.dataset, study.models)
    return [events.StudyReopened(study.id, stop, data)]


def _data_held(shared: Shared, study: Study) -> dict[str, str]:
    """Return the dataset with the study's file, if it is another one since the file was dropped."""
    held = {**shared.installed, **study.tenant.datasets}
    if not study.data or study.data["dataset"] in held:
        return {}
    for dataset in held.values():
        if dataset.hash == study.shared.hash:
            return {"dataset": dataset.id, "name": dataset.name}
    raise Conflicting(
        f"dataset {study.over!r} of the study was dropped; upload the same file again first"
    )


def _not_closed(study: Study) -> Study:
    if study.state == "closed":
        raise Conflicting(f"the study is closed ({study.reason}); reopen it first")
    return study
