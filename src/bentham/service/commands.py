"""What somebody asks for, turned into events, or refused before anything changes.

A command reads the pool and returns events; it never changes anything itself. The last event is
the one that the answer is about.
"""

import secrets
from collections.abc import Callable

from bentham import wire
from bentham.errors import InvalidTable
from bentham.service import events as happened
from bentham.service.entities import Device
from bentham.service.pool import Pool
from bentham.service.refusals import Conflicting, Invalid, Missing
from bentham.service.scope import Caller, Scope
from bentham.service.tokens import hash_of
from bentham.tables import History, read_history

Events = list[happened.Event]
# Reads the pool at a time, and says what is to happen; nothing if there is nothing to do.
Command = Callable[[Pool, float], Events]

MOST_TENANTS, MOST_TOKENS = 100_000, 1_000_000
# What is believed of models is a matrix over all of them: it must not grow without end.
MOST_MODELS = 2000


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
