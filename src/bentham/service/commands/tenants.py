"""Tenants, tokens and history: the commands of operators.

A command takes a turn and a body, and returns events, none if there is nothing to do. It changes
nothing itself, and refuses before anything changes. The reply is the view of its last event.
"""

import secrets

from bentham import wire
from bentham.errors import InvalidTable
from bentham.service.engine.rules import Events, leaving
from bentham.service.engine.scope import hash_of
from bentham.service.engine.turn import Turn, allowed
from bentham.service.fold import events
from bentham.service.refusals import Conflicting, Invalid, Missing
from bentham.service.views import queries
from bentham.tables import History, read_history
from bentham.wording import did_you_mean

MOST_TENANTS, MOST_TOKENS = 100_000, 1_000_000
# The covariance is a matrix over all models, so their number must be limited.
MOST_MODELS = 2000


def new_id(letter: str) -> str:
    """Return a random id, which does not reveal how many there are."""
    return f"{letter}_{secrets.token_hex(8)}"


# -- tenants and tokens


@allowed("admin")
def create_tenant(turn: Turn, body: wire.TenantCreate) -> Events:
    """Create a tenant."""
    pool = turn.whole()
    if body.name in pool.tenants:
        raise Conflicting(f"a tenant {body.name!r} already exists; pick another name")
    if len(pool.tenants) >= MOST_TENANTS:
        raise Conflicting(f"there are already {MOST_TENANTS:,} tenants, the maximum")
    return [events.TenantCreated(body.name, body.weight, body.limits.model_dump())]


@allowed("admin")
def change_tenant(turn: Turn, name: str, body: wire.TenantChange) -> Events:
    """Change a tenant's weight or limits."""
    tenant = turn.scope.tenant(name)
    weight = tenant.weight if body.weight is None else body.weight
    limits = tenant.limits if body.limits is None else body.limits.model_dump()
    return [events.TenantChanged(tenant.name, weight, limits)]


@allowed("admin")
def issue_token(turn: Turn, body: wire.TokenCreate, name: str, secret: str) -> Events:
    """Issue a token; the pool stores only its hash."""
    pool = turn.whole()
    if (body.role == "tenant") != (body.tenant is not None):
        raise Invalid("a token of role 'tenant' must name its tenant, and no other token may")
    if body.tenant is not None and body.tenant not in pool.tenants:
        others = did_you_mean(body.tenant, pool.tenants)
        raise Missing(f"there is no tenant {body.tenant!r}{others}")
    if len(pool.tokens) >= MOST_TOKENS:
        raise Conflicting(f"{MOST_TOKENS:,} tokens have been issued, the maximum")
    expires = None if body.expires_in is None else turn.now + body.expires_in
    return [events.TokenIssued(name, body.role, body.tenant, body.label, hash_of(secret), expires)]


@allowed("admin", unchanged=queries.token)
def revoke_token(turn: Turn, name: str) -> Events:
    """Revoke a token; the trials of its devices are lost, and its devices leave."""
    pool, token = turn.whole(), turn.scope.token(name)
    if token.revoked is not None:
        return []
    others = [
        other
        for other in pool.tokens.values()
        if other.role == "admin" and other.id != token.id and other.good(turn.now)
    ]
    if token.role == "admin" and token.good(turn.now) and not others:
        raise Conflicting("this is the last valid token of role 'admin'; issue another one first")
    gone: Events = []
    for device in pool.devices.values():
        if device.token == token.id:
            gone += leaving(device, "its token was revoked")
    return [*gone, events.TokenRevoked(token.id)]


# -- history


def parsed_history(text: str) -> History:
    """Parse past runs from CSV."""
    try:
        return read_history(text)
    except InvalidTable as error:
        raise Invalid(str(error)) from None


@allowed("admin")
def import_history(turn: Turn, history: History) -> Events:
    """Import past runs, which set the prior."""
    pool = turn.whole()
    if pool.created is not None and pool.created.prior is not None:
        raise Conflicting(
            "this pool has a fixed prior; history can be imported only with a learned prior"
        )
    fresh = {model for runs in history.values() for model in runs} - pool.models.keys()
    if len(pool.models) + len(fresh) > MOST_MODELS:
        raise Conflicting(
            f"with this history there would be more than {MOST_MODELS:,} models; leave out "
            "those that are no longer used"
        )
    return [events.HistoryImported(history)]
