"""Studies: what to choose among, and over what; then they pause, go on and end."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from typing import Any, cast

from bentham import wire
from bentham.errors import InvalidInput
from bentham.service.commands.tenants import MOST_MODELS, new_id
from bentham.service.engine.rules import Events
from bentham.service.engine.turn import Shared, Turn, allowed
from bentham.service.fold import events as happened
from bentham.service.fold.entities import Dataset, Description, Study, Tenant
from bentham.service.refusals import Conflicting, Invalid, Missing
from bentham.service.views import queries
from bentham.training.catalog import Catalog
from bentham.training.dataset import ColumnSummary, DataFile, Format
from bentham.training.plan import plan
from bentham.training.spaces import CandidateModel
from bentham.training.training_plan import PlanRequest, SplitRequest
from bentham.wire.studies import DEFAULT_CANDIDATES

MOST_STUDIES = 1_000_000
MOST_MODELS_OF_TENANT = 500  # nor may one tenant use up what there is
MOST_STUDIES_OF_TENANT, MOST_STUDIES_OF_DATASET, MOST_ARMS_OF_TENANT = 20_000, 100, 500_000
# Columns of all data that a tenant's studies are over, as they are kept in memory.
MOST_TRAINED_COLUMNS = 500_000
OWNERS = ("admin", "tenant")
OVER_DATA = "data:"  # then what it is over, as a digest
# All that a score depends on, but for the model.
_MATTERS = ("hash", "format", "delimiter", "target", "task", "metric", "columns", "split")
_KEPT = ("bytes", "classes", "notes")  # what else is to be known of it
# So many candidates of all algorithms are standard: they count against nobody's limits, and so
# find room whatever else was named.
STANDARD_CANDIDATES = 100


@dataclass(frozen=True, slots=True)
class _Choice:
    """What a study chooses among, and over what."""

    models: dict[str, float | None]
    described: dict[str, dict[str, Any]]  # models that nobody listed before
    dataset: str
    metric: str
    rows: int | None
    columns: int | None
    drawn: bool = False
    data: dict[str, str] = field(default_factory=dict)
    training: dict[str, Any] = field(default_factory=dict)


@allowed(*OWNERS)
def create_study(turn: Turn, asked: wire.StudyCreate, catalog: Catalog) -> Events:
    """A new study of the caller's tenant, or of the one that an admin names."""
    tenant = turn.scope.tenant_for(asked.tenant)
    if asked.name in tenant.studies:
        raise Conflicting(f"there is a study {asked.name!r} already; pick another name")
    if len(tenant.studies) >= MOST_STUDIES_OF_TENANT or turn.shared.studies >= MOST_STUDIES:
        raise Conflicting("there are as many studies as are possible; ask the operator")
    choice = _listed(asked) if asked.models else _drawn(turn.shared, tenant, asked, catalog)
    _refuse_too_many(turn.shared, tenant, choice)
    deadline = asked.stop.deadline
    if deadline is not None and deadline <= turn.now:
        raise Invalid("the deadline has passed; name a later one, or none")
    _refuse_other_costs(turn.shared, tenant, choice.dataset, choice.models)
    return [
        happened.StudyCreated(
            new_id("s"),
            tenant.name,
            asked.name,
            choice.dataset,
            choice.metric,
            choice.models,
            asked.weight,
            asked.floor,
            choice.rows,
            choice.columns,
            asked.stop.model_dump(exclude_none=True),
            choice.drawn,
            choice.described,
            choice.data,
            choice.training,
        )
    ]


def _listed(asked: wire.StudyCreate) -> _Choice:
    """Models one by one, over what is nothing but a name."""
    dataset = asked.dataset or asked.name
    if dataset.startswith(OVER_DATA):
        raise Invalid(f"names of datasets that begin with {OVER_DATA!r} are given by the server")
    metric = asked.metric or "score"
    models = dict(asked.models)
    return _Choice(models, {}, dataset, metric, asked.rows, asked.columns)


def _drawn(shared: Shared, tenant: Tenant, asked: wire.StudyCreate, catalog: Catalog) -> _Choice:
    """Models of the catalogue, over data that there is, or over what they bring themselves."""
    count = asked.candidates or DEFAULT_CANDIDATES
    try:
        if asked.data is None:
            found = catalog.candidates(None, count, asked.algorithms)
            models, described = _named(shared, found)
            over = _listed(asked)
            return replace(over, models=models, described=described, drawn=True)
        dataset = _dataset_of(shared, tenant, asked.data.dataset)
        training = plan(_data_file(dataset), _plan_request(asked.data, asked.metric))
        found = catalog.candidates(training.task, count, asked.algorithms)
    except InvalidInput as error:
        raise Invalid(str(error)) from None
    standard = catalog.candidates(training.task, STANDARD_CANDIDATES)
    models, described = _named(shared, found, standard)
    said = training.model_dump()
    key = OVER_DATA + _digest({name: said[name] for name in _MATTERS})
    known = shared.arms(tenant, key)
    if known is None and tenant.trained_columns + len(training.columns) > MOST_TRAINED_COLUMNS:
        raise Conflicting(
            "your studies would be over more columns of data in all than can be kept; use data, "
            "metric and split of another study again"
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
        {} if known is not None else {name: said[name] for name in (*_MATTERS, *_KEPT)},
    )


def _dataset_of(shared: Shared, tenant: Tenant, name: str) -> Dataset:
    """The tenant's dataset of this id or name, or one that is everybody's."""
    for each in (*tenant.datasets.values(), *shared.installed.values()):
        if name in (each.id, each.name):
            return each
    raise Missing(f"there is no dataset {name!r}; GET /v1/datasets lists those there are")


@lru_cache(maxsize=16)
def _data_file(dataset: Dataset) -> DataFile:
    """A dataset with all its columns; many studies may follow each other on one."""
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
    """Names for models, and what those stand for that nobody listed yet.

    A name stands for one thing for good: where the catalogue has changed what it means by one, the
    model gets another name.
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
    # Whether another tenant has named a model before must make no difference.
    fresh = [model for model in counted if model not in tenant.models]
    own = len(tenant.models) + len(fresh)
    if own > MOST_MODELS_OF_TENANT:
        raise Conflicting(
            f"your studies would list {own:,} models in all, more than {MOST_MODELS_OF_TENANT}; "
            "use models again that other studies list"
        )
    if fresh and shared.models + len(fresh) > MOST_MODELS:
        raise Conflicting("no models can be added; use known ones, or ask the operator")
    if tenant.arms + len(models) > MOST_ARMS_OF_TENANT:
        raise Conflicting(
            f"your studies would list {tenant.arms + len(models):,} models one by one, more than "
            f"{MOST_ARMS_OF_TENANT:,}; close some first"
        )


def _refuse_other_costs(
    shared: Shared, tenant: Tenant, dataset: str, models: dict[str, float | None]
) -> None:
    """One arm has one cost, also among studies that may be resumed."""
    arms = shared.arms(tenant, dataset)
    if arms is not None and len(arms.studies) >= MOST_STUDIES_OF_DATASET:
        raise Conflicting(
            f"{MOST_STUDIES_OF_DATASET} studies are over dataset {dataset!r}, the most that are "
            "possible; name the dataset anew for more"
        )
    for other in arms.studies if arms else ():
        for model, cost in models.items() if other.state != "closed" else ():
            said = other.models.get(model)
            if cost is not None and said is not None and said != cost:
                raise Invalid(
                    f"study {other.name!r} says that model {model!r} costs {said:g} on dataset "
                    f"{dataset!r}, and this one {cost:g}; one arm has one cost: make them agree"
                )


@allowed(*OWNERS, unchanged=queries.study)
def pause_study(turn: Turn, name: str) -> Events:
    """No new trials until it is resumed."""
    study = _not_closed(turn.scope.study(name))
    return [] if study.state == "paused" else [happened.StudyPaused(study.id)]


@allowed(*OWNERS, unchanged=queries.study)
def resume_study(turn: Turn, name: str) -> Events:
    """A paused study goes on."""
    study = _not_closed(turn.scope.study(name))
    return [] if study.state == "open" else [happened.StudyResumed(study.id)]


@allowed(*OWNERS, unchanged=queries.study)
def close_study(turn: Turn, name: str) -> Events:
    """A study is over, for good."""
    study = turn.scope.study(name)
    if study.state == "closed":
        return []
    return [happened.StudyClosed(study.id, "closed by request")]


def _not_closed(study: Study) -> Study:
    if study.state == "closed":
        raise Conflicting(f"the study is closed ({study.reason}); create another one")
    return study
