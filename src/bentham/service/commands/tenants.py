"""Tenants, tokens and history: what operators ask for.

A command is handed a turn and a body, and returns events: what is to happen, nothing if there is
nothing to do. It never changes anything itself, and refuses before anything changes. The answer is
about its last event.
"""

import secrets

from bentham import wire
from bentham.errors import InvalidTable
from bentham.service.engine.rules import Events, leaving
from bentham.service.engine.tokens import hash_of
from bentham.service.engine.turn import Turn, allowed
from bentham.service.fold import events as happened
from bentham.service.refusals import Conflicting, Invalid, Missing
from bentham.service.views import queries
from bentham.tables import History, read_history

MOST_TENANTS, MOST_TOKENS = 100_000, 1_000_000
# What is believed of models is a matrix over all of them: it must not grow without end.
MOST_MODELS = 2000


def new_id(letter: str) -> str:
    """An id that says nothing of how many there are."""
    return f"{letter}_{secrets.token_hex(8)}"


# -- tenants and tokens


@allowed("admin")
def create_tenant(turn: Turn, body: wire.TenantCreate) -> Events:
    """A new tenant."""
    pool = turn.whole()
    if body.name in pool.tenants:
        raise Conflicting(f"there is a tenant {body.name!r} already; pick another name")
    if len(pool.tenants) >= MOST_TENANTS:
        raise Conflicting(f"there are {MOST_TENANTS:,} tenants, the most that are possible")
    return [happened.TenantCreated(body.name, body.weight, body.limits.model_dump())]


@allowed("admin")
def change_tenant(turn: Turn, name: str, body: wire.TenantChange) -> Events:
    """Another weight, other limits."""
    tenant = turn.scope.tenant(name)
    weight = tenant.weight if body.weight is None else body.weight
    limits = tenant.limits if body.limits is None else body.limits.model_dump()
    return [happened.TenantChanged(tenant.name, weight, limits)]


@allowed("admin")
def issue_token(turn: Turn, body: wire.TokenCreate, name: str, secret: str) -> Events:
    """A new token, of which the pool learns the hash."""
    pool = turn.whole()
    if (body.role == "tenant") != (body.tenant is not None):
        raise Invalid("a token of role 'tenant' names its tenant, and no other does")
    if body.tenant is not None and body.tenant not in pool.tenants:
        raise Missing(f"there is no tenant {body.tenant!r}")
    if len(pool.tokens) >= MOST_TOKENS:
        raise Conflicting(f"{MOST_TOKENS:,} tokens were issued, the most that are possible")
    expires = None if body.expires_in is None else turn.now + body.expires_in
    return [
        happened.TokenIssued(name, body.role, body.tenant, body.label, hash_of(secret), expires)
    ]


@allowed("admin", unchanged=queries.token)
def revoke_token(turn: Turn, name: str) -> Events:
    """A token is good no longer; its devices lose their trials and leave."""
    pool, token = turn.whole(), turn.scope.token(name)
    if token.revoked is not None:
        return []
    others = [
        other
        for other in pool.tokens.values()
        if other.role == "admin" and other.id != token.id and other.good(turn.now)
    ]
    if token.role == "admin" and token.good(turn.now) and not others:
        raise Conflicting("this is the last good token of role 'admin'; issue another one first")
    gone: Events = []
    for device in pool.devices.values():
        if device.token == token.id:
            gone += leaving(device, "its token was revoked")
    return [*gone, happened.TokenRevoked(token.id)]


# -- history


def parsed_history(text: str) -> History:
    """Past runs from CSV."""
    try:
        return read_history(text)
    except InvalidTable as error:
        raise Invalid(str(error)) from None


@allowed("admin")
def import_history(turn: Turn, history: History) -> Events:
    """Past runs, which set the prior."""
    pool = turn.whole()
    if pool.created is not None and pool.created.prior is not None:
        raise Conflicting("this pool's prior is fixed; history sets a learned prior only")
    fresh = {model for runs in history.values() for model in runs} - pool.models.keys()
    if len(pool.models) + len(fresh) > MOST_MODELS:
        raise Conflicting(
            f"with this history there would be more than {MOST_MODELS:,} models; leave out "
            "those that nobody uses any more"
        )
    return [happened.HistoryImported(history)]
