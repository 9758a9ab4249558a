"""Handlers of events about tenants and tokens."""

from bentham.core.problem import events as core
from bentham.service.fold import events as happened
from bentham.service.fold.entities import Tenant, Token
from bentham.service.fold.state import State


def tenant_created(state: State, time: float, event: happened.TenantCreated) -> None:
    """Add a tenant."""
    state.tenants[event.name] = Tenant(event.name, event.weight, event.limits, time)
    _note_limits(state, state.tenants[event.name])


def tenant_changed(state: State, time: float, event: happened.TenantChanged) -> None:
    """Change a tenant; its weight applies to all its studies at once."""
    tenant = state.tenants[event.name]
    for study in tenant.studies.values() if event.weight != tenant.weight else ():
        if study.served:
            weight = study.weight * event.weight
            state.scheduler.apply(core.StudyWeighted(time, study.id, weight))
    tenant.weight, tenant.limits = event.weight, event.limits
    _note_limits(state, tenant)


def _note_limits(state: State, tenant: Tenant) -> None:
    state.limited.pop(tenant.name, None)
    if any(limit is not None for limit in tenant.limits.values()):
        state.limited[tenant.name] = tenant


def token_issued(state: State, time: float, event: happened.TokenIssued) -> None:
    """Add a token."""
    state.tokens[event.id] = Token(
        event.id, event.role, event.tenant, event.label, event.hash, time, event.expires
    )


def token_revoked(state: State, time: float, event: happened.TokenRevoked) -> None:
    """Mark a token as revoked, and discard its keys."""
    old = state.tokens[event.id]
    state.tokens[event.id] = Token(
        old.id, old.role, old.tenant, old.label, old.hash, old.created, old.expires, time
    )
    state.keys.forget(event.id)
