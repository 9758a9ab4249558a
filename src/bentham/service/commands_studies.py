"""Studies: what to choose among, and over what; then they pause, go on and end."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from bentham import wire
from bentham.errors import InvalidInput
from bentham.service import events as happened
from bentham.service.commands import MOST_MODELS, Command, Events, new_id
from bentham.service.commands_datasets import tenant_for
from bentham.service.entities import Dataset, Description, Study, Tenant
from bentham.service.pool import Pool
from bentham.service.refusals import Conflicting, Invalid, Missing
from bentham.service.scope import Caller, Scope
from bentham.service.state import dataset_key
from bentham.service.views import dataset_view
from bentham.training.catalog import Catalog
from bentham.training.plan import plan
from bentham.wire.studies import DEFAULT_CANDIDATES

MOST_STUDIES = 1_000_000
MOST_MODELS_OF_TENANT = 500  # nor may one tenant use up what there is
MOST_STUDIES_OF_TENANT, MOST_STUDIES_OF_DATASET, MOST_ARMS_OF_TENANT = 20_000, 100, 500_000
# Columns of all data that a tenant's studies are over, as they are kept in memory.
MOST_TRAINED_COLUMNS = 500_000
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


def create_study(caller: Caller, asked: wire.StudyCreate, catalog: Catalog) -> Command:
    """A new study of the caller's tenant, or of the one that an admin names."""

    def command(pool: Pool, now: float) -> Events:
        tenant = tenant_for(pool, caller, asked.tenant)
        if asked.name in tenant.studies:
            raise Conflicting(f"there is a study {asked.name!r} already; pick another name")
        if len(tenant.studies) >= MOST_STUDIES_OF_TENANT or len(pool.studies) >= MOST_STUDIES:
            raise Conflicting("there are as many studies as are possible; ask the operator")
        choice = _listed(asked) if asked.models else _drawn(pool, tenant, asked, catalog)
        _refuse_too_many(pool, tenant, choice)
        deadline = asked.stop.deadline
        if deadline is not None and deadline <= now:
            raise Invalid("the deadline has passed; name a later one, or none")
        _refuse_other_costs(pool, tenant, choice.dataset, choice.models)
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

    return command


def _listed(asked: wire.StudyCreate) -> _Choice:
    """Models one by one, over what is nothing but a name."""
    dataset = asked.dataset or asked.name
    if dataset.startswith(OVER_DATA):
        raise Invalid(f"names of datasets that begin with {OVER_DATA!r} are given by the server")
    metric = asked.metric or "score"
    models = dict(asked.models)
    return _Choice(models, {}, dataset, metric, asked.rows, asked.columns)


def _drawn(pool: Pool, tenant: Tenant, asked: wire.StudyCreate, catalog: Catalog) -> _Choice:
    """Models of the catalogue, over data that there is, or over what they bring themselves."""
    count = asked.candidates or DEFAULT_CANDIDATES
    try:
        if asked.data is None:
            found = catalog.candidates(None, count, asked.algorithms)
            models, described = _named(pool, found)
            over = _listed(asked)
            return replace(over, models=models, described=described, drawn=True)
        dataset = _dataset_of(pool, tenant, asked.data.dataset)
        training = plan(_whole(dataset), asked.data, asked.metric)
        found = catalog.candidates(training.task, count, asked.algorithms)
    except InvalidInput as error:
        raise Invalid(str(error)) from None
    standard = catalog.candidates(training.task, STANDARD_CANDIDATES)
    models, described = _named(pool, found, standard)
    said = training.model_dump()
    key = OVER_DATA + _digest({name: said[name] for name in _MATTERS})
    known = pool.arms.get(dataset_key(tenant.name, key))
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


def _dataset_of(pool: Pool, tenant: Tenant, name: str) -> Dataset:
    """The tenant's dataset of this id or name, or one that is everybody's."""
    for each in (*tenant.datasets.values(), *pool.installed.values()):
        if name in (each.id, each.name):
            return each
    raise Missing(f"there is no dataset {name!r}; GET /v1/datasets lists those there are")


@lru_cache(maxsize=16)
def _whole(dataset: Dataset) -> wire.Dataset:
    """A dataset with all its columns; many studies may follow each other on one."""
    return wire.Dataset(**dataset_view(dataset))


def _named(
    pool: Pool,
    found: Mapping[str, wire.Description],
    standard: Mapping[str, wire.Description] | None = None,
) -> tuple[dict[str, float | None], dict[str, dict[str, Any]]]:
    """Names for models, and what those stand for that nobody listed yet.

    A name stands for one thing for good: where the catalogue has changed what it means by one, the
    model gets another name.
    """
    models: dict[str, float | None] = {}
    described: dict[str, dict[str, Any]] = {}
    for name, model in found.items():
        known = pool.descriptions.get(name)
        if known is not None and not _is_same(known, model):
            name = f"{name}-{_digest(model.model_dump())[:6]}"
            known = pool.descriptions.get(name)
        if known is None:
            described[name] = model.model_dump()
            if standard and standard.get(name) == model:
                described[name]["standard"] = True
        models[name] = None
    return models, described


def _is_same(known: Description, model: wire.Description) -> bool:
    return known.algorithm == model.algorithm and known.configuration == model.configuration


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def _refuse_too_many(pool: Pool, tenant: Tenant, choice: _Choice) -> None:
    models = choice.models
    counted = [
        model
        for model in pool.counted(models, choice.drawn)
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
    if fresh and len(pool.models) + len(fresh) > MOST_MODELS:
        raise Conflicting("no models can be added; use known ones, or ask the operator")
    if tenant.arms + len(models) > MOST_ARMS_OF_TENANT:
        raise Conflicting(
            f"your studies would list {tenant.arms + len(models):,} models one by one, more than "
            f"{MOST_ARMS_OF_TENANT:,}; close some first"
        )


def _refuse_other_costs(
    pool: Pool, tenant: Tenant, dataset: str, models: dict[str, float | None]
) -> None:
    """One arm has one cost, also among studies that may be resumed."""
    shared = pool.arms.get(dataset_key(tenant.name, dataset))
    if shared is not None and len(shared.studies) >= MOST_STUDIES_OF_DATASET:
        raise Conflicting(
            f"{MOST_STUDIES_OF_DATASET} studies are over dataset {dataset!r}, the most that are "
            "possible; name the dataset anew for more"
        )
    for other in shared.studies if shared else ():
        for model, cost in models.items() if other.state != "closed" else ():
            said = other.models.get(model)
            if cost is not None and said is not None and said != cost:
                raise Invalid(
                    f"study {other.name!r} says that model {model!r} costs {said:g} on dataset "
                    f"{dataset!r}, and this one {cost:g}; one arm has one cost: make them agree"
                )


def pause_study(caller: Caller, name: str) -> Command:
    """No new trials until it is resumed."""

    def command(pool: Pool, now: float) -> Events:  # noqa: ARG001
        study = _not_closed(Scope(pool, caller).study(name))
        return [] if study.state == "paused" else [happened.StudyPaused(study.id)]

    return command


def resume_study(caller: Caller, name: str) -> Command:
    """A paused study goes on."""

    def command(pool: Pool, now: float) -> Events:  # noqa: ARG001
        study = _not_closed(Scope(pool, caller).study(name))
        return [] if study.state == "open" else [happened.StudyResumed(study.id)]

    return command


def close_study(caller: Caller, name: str) -> Command:
    """A study is over, for good."""

    def command(pool: Pool, now: float) -> Events:  # noqa: ARG001
        study = Scope(pool, caller).study(name)
        if study.state == "closed":
            return []
        return [happened.StudyClosed(study.id, "closed by request")]

    return command


def _not_closed(study: Study) -> Study:
    if study.state == "closed":
        raise Conflicting(f"the study is closed ({study.reason}); create another one")
    return study
