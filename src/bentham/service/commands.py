"""What somebody asks for, turned into events, or refused before anything changes.

A command reads the pool and returns events; it never changes anything itself. The last event is
the one that the answer is about.
"""

import secrets
from collections.abc import Callable

from bentham import wire
from bentham.errors import InvalidTable
from bentham.service import events as happened
from bentham.service.entities import Device, Study, Tenant
from bentham.service.pool import Pool, dataset_key
from bentham.service.refusals import Conflicting, Invalid, Missing
from bentham.service.scope import Caller, Scope
from bentham.service.tokens import hash_of
from bentham.tables import History, read_history

Events = list[happened.Event]
# Reads the pool at a time, and says what is to happen; nothing if there is nothing to do.
Command = Callable[[Pool, float], Events]

MOST_TENANTS, MOST_TOKENS, MOST_STUDIES = 100_000, 1_000_000, 1_000_000
# What is believed of models is a matrix over all of them: it must not grow without end, nor may
# one tenant use up what there is.
MOST_MODELS, MOST_MODELS_OF_TENANT = 2000, 500
MOST_STUDIES_OF_TENANT, MOST_STUDIES_OF_DATASET, MOST_ARMS_OF_TENANT = 20_000, 100, 500_000


def new_id(letter: str) -> str:
    """An id that says nothing of how many there are."""
    return f"{letter}_{secrets.token_hex(8)}"


def leaving(device: Device, reason: str) -> Events:
    """What happens when a device goes."""
    lost: Events = [] if device.trial is None else [happened.TrialLost(device.trial.id, reason)]
    return [*lost, happened.DeviceLeft(device.name, reason)]


# -- tenants and tokens


def create_tenant(asked: wire.TenantCreate) -> Command:
    """A new tenant."""

    def command(pool: Pool, now: float) -> Events:  # noqa: ARG001
        if asked.name in pool.tenants:
            raise Conflicting(f"there is a tenant {asked.name!r} already; pick another name")
        if len(pool.tenants) >= MOST_TENANTS:
            raise Conflicting(f"there are {MOST_TENANTS:,} tenants, the most that are possible")
        limits = asked.limits.model_dump()
        return [happened.TenantCreated(asked.name, asked.weight, limits)]

    return command


def change_tenant(caller: Caller, name: str, asked: wire.TenantChange) -> Command:
    """Another weight, other limits."""

    def command(pool: Pool, now: float) -> Events:  # noqa: ARG001
        tenant = Scope(pool, caller).tenant(name)
        weight = tenant.weight if asked.weight is None else asked.weight
        limits = tenant.limits if asked.limits is None else asked.limits.model_dump()
        return [happened.TenantChanged(tenant.name, weight, limits)]

    return command


def issue_token(asked: wire.TokenCreate, name: str, secret: str) -> Command:
    """A new token, of which the pool learns the hash."""

    def command(pool: Pool, now: float) -> Events:
        if (asked.role == "tenant") != (asked.tenant is not None):
            raise Invalid("a token of role 'tenant' names its tenant, and no other does")
        if asked.tenant is not None and asked.tenant not in pool.tenants:
            raise Missing(f"there is no tenant {asked.tenant!r}")
        if len(pool.tokens) >= MOST_TOKENS:
            raise Conflicting(f"{MOST_TOKENS:,} tokens were issued, the most that are possible")
        expires = None if asked.expires_in is None else now + asked.expires_in
        return [
            happened.TokenIssued(
                name, asked.role, asked.tenant, asked.label, hash_of(secret), expires
            )
        ]

    return command


def revoke_token(caller: Caller, name: str) -> Command:
    """A token is good no longer; its devices lose their trials and leave."""

    def command(pool: Pool, now: float) -> Events:
        token = Scope(pool, caller).token(name)
        if token.revoked is not None:
            return []
        others = [
            other
            for other in pool.tokens.values()
            if other.role == "admin" and other.id != token.id and other.good(now)
        ]
        if token.role == "admin" and token.good(now) and not others:
            raise Conflicting(
                "this is the last good token of role 'admin'; issue another one first"
            )
        gone: Events = []
        for device in pool.devices.values():
            if device.token == token.id:
                gone += leaving(device, "its token was revoked")
        return [*gone, happened.TokenRevoked(token.id)]

    return command


# -- studies


def create_study(caller: Caller, asked: wire.StudyCreate) -> Command:
    """A new study of the caller's tenant, or of the one that an admin names."""

    def command(pool: Pool, now: float) -> Events:
        tenant = _tenant_for(pool, caller, asked.tenant)
        if asked.name in tenant.studies:
            raise Conflicting(f"there is a study {asked.name!r} already; pick another name")
        if len(tenant.studies) >= MOST_STUDIES_OF_TENANT or len(pool.studies) >= MOST_STUDIES:
            raise Conflicting("there are as many studies as are possible; ask the operator")
        models = dict(asked.models)
        _refuse_too_many(pool, tenant, models)
        deadline = asked.stop.deadline
        if deadline is not None and deadline <= now:
            raise Invalid("the deadline has passed; name a later one, or none")
        dataset = asked.dataset or asked.name
        _refuse_other_costs(pool, tenant, dataset, models)
        return [
            happened.StudyCreated(
                new_id("s"),
                tenant.name,
                asked.name,
                dataset,
                asked.metric or "score",
                models,
                asked.weight,
                asked.floor,
                asked.rows,
                asked.columns,
                asked.stop.model_dump(exclude_none=True),
            )
        ]

    return command


def _tenant_for(pool: Pool, caller: Caller, named: str | None) -> Tenant:
    if caller.role == "tenant":
        if named not in (None, caller.tenant):
            raise Missing(f"there is no tenant {named!r}")
        return Scope(pool, caller).tenant(caller.tenant or "")
    if named is None:
        raise Invalid("say for which tenant the study is, by the field tenant")
    return Scope(pool, caller).tenant(named)


def _refuse_too_many(pool: Pool, tenant: Tenant, models: dict[str, float | None]) -> None:
    own = len(tenant.models.keys() | models.keys())
    if own > MOST_MODELS_OF_TENANT:
        raise Conflicting(
            f"your studies would list {own:,} models in all, more than {MOST_MODELS_OF_TENANT}; "
            "use models again that other studies list"
        )
    if len(pool.models.keys() | models.keys()) > MOST_MODELS:
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
    shared = pool.datasets.get(dataset_key(tenant.name, dataset))
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


# -- history


def parsed_history(text: str) -> History:
    """Past runs from CSV."""
    try:
        return read_history(text)
    except InvalidTable as error:
        raise Invalid(str(error)) from None


def import_history(history: History) -> Command:
    """Past runs, which set the prior."""

    def command(pool: Pool, now: float) -> Events:  # noqa: ARG001
        if pool.created is not None and pool.created.prior is not None:
            raise Conflicting("this pool's prior is fixed; history sets a learned prior only")
        fresh = {model for runs in history.values() for model in runs} - pool.models.keys()
        if len(pool.models) + len(fresh) > MOST_MODELS:
            raise Conflicting(
                f"with this history there would be more than {MOST_MODELS:,} models; leave out "
                "those that nobody uses any more"
            )
        return [happened.HistoryImported(history)]

    return command
