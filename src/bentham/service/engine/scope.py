"""Access control: the one place where every request is restricted to what its caller may see.

An admin sees everything, a tenant what it owns, a device what its token registered. What a caller
may not see is reported as missing, with the same message as what does not exist.

A token is `bth_ID_SECRET`. The id identifies it, the secret proves it; only a hash is stored. A
secret has 256 random bits, so a plain hash does not reveal it. A slow password hash would only make
every request slower.
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from typing import TypeVar

from bentham.service.fold.entities import Dataset, Device, Study, Tenant, Token, Trial
from bentham.service.fold.pool import Pool
from bentham.service.refusals import Forbidden, Invalid, Missing, Unauthenticated
from bentham.wording import did_you_mean

_FORM = re.compile(r"bth_([0-9a-f]{12})_([0-9a-f]{64})")
NO_TOKEN = "send a token: Authorization: Bearer bth_..."
UNKNOWN = "the token is unknown, expired or revoked; ask the operator for another one"
# No token has this hash. With it, an unknown id takes as long to refuse as a wrong secret.
_UNKNOWN_TOKEN = Token("", "", None, "", "0" * 64, 0.0, None)

Entity = TypeVar("Entity", Dataset, Study, Trial)


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sent a request: the token's id and role, and its tenant if the role is 'tenant'."""

    token: str
    role: str
    tenant: str | None = None


MOST_IDS = 4  # that are listed for one name
# The server itself, which may do anything.
SERVER = Caller("server", "admin")


class Scope:
    """The part of the pool that a caller can see."""

    def __init__(self, pool: Pool, caller: Caller):
        self._pool, self._caller = pool, caller

    @property
    def everything(self) -> bool:
        """Whether the caller sees everything."""
        return self._caller.role == "admin"

    @property
    def tenant_name(self) -> str | None:
        """The tenant that the scope is restricted to; None for an operator."""
        return self._caller.tenant

    # -- one entity

    def tenant(self, name: str) -> Tenant:
        """Return a tenant by its name."""
        tenant = self._pool.tenants.get(name) if self._owns(name) else None
        if tenant is None:
            known = did_you_mean(name, [each.name for each in self.tenants()])
            raise Missing(f"there is no tenant {name!r}{known}")
        return tenant

    def tenant_for(self, named: str | None) -> Tenant:
        """Return the caller's tenant, or the one that an admin names."""
        if self._caller.role == "tenant":
            if named not in (None, self._caller.tenant):
                own = did_you_mean(named or "", [self._caller.tenant or ""])
                raise Missing(f"there is no tenant {named!r}{own}")
            return self.tenant(self._caller.tenant or "")
        if named is None:
            raise Invalid("the field tenant is required for an admin; name the tenant of the study")
        return self.tenant(named)

    def token(self, name: str) -> Token:
        """Return a token by its id."""
        token = self._pool.tokens.get(name)
        if token is None or not self.everything:
            known = did_you_mean(name, self._pool.tokens) if self.everything else ""
            raise Missing(f"there is no token {name!r}{known}")
        return token

    def study(self, name: str) -> Study:
        """Return a study by its id."""
        study = self._pool.studies.get(name)
        if study is None or not self._owns(study.tenant.name):
            raise _no_such("study", name, self._own_studies())
        return study

    def dataset(self, name: str) -> Dataset:
        """Return a dataset by its id; those without a tenant are shared by all."""
        dataset = self._pool.datasets.get(name)
        if dataset is None or not (self._owns(dataset.tenant) or not dataset.tenant):
            raise _no_such("dataset", name, self.datasets())
        return dataset

    def device(self, name: str) -> Device:
        """Return a device by its name."""
        device = self._pool.devices.get(name)
        if device is None or not (self.everything or device.token == self._caller.token):
            known = [each.name for each in self.devices()]
            raise Missing(
                f"there is no device {name!r}{did_you_mean(name, known, '; register it first')}"
            )
        return device

    def trial(self, name: str) -> Trial:
        """Return a trial by its id."""
        trial = self._pool.trials.get(name) or self._pool.fit_trials.get(name)
        if trial is None or not self._sees(trial):
            raise Missing(f"there is no trial {name!r}")
        return trial

    # -- lists

    def tenants(self) -> list[Tenant]:
        """Return all tenants, or the caller's own."""
        return [tenant for name, tenant in self._pool.tenants.items() if self._owns(name)]

    def devices(self) -> list[Device]:
        """Return all devices, or those that the token registered."""
        return [
            device
            for device in self._pool.devices.values()
            if self.everything or device.token == self._caller.token
        ]

    def datasets(self) -> Iterator[Dataset]:
        """Return all datasets, or the caller's own and then the shared ones; newest first."""
        if self.everything:
            return reversed(self._pool.datasets.values())
        tenant = self._pool.tenants.get(self._caller.tenant or "")
        own = reversed(tenant.datasets.values()) if tenant else iter(())
        return chain(own, reversed(self._pool.installed.values()))

    def studies(self, state: str | None = None, dataset: str | None = None) -> Iterator[Study]:
        """Return studies, newest first; `dataset` is the id of a dataset that they use."""
        return (
            study
            for study in self._own_studies()
            if (state is None or study.state == state)
            and (dataset is None or study.data.get("dataset") == dataset)
        )

    def studies_named(self, names: Iterable[str]) -> list[Study]:
        """Return those of the studies with the given ids that the caller can see."""
        found = (self._pool.studies.get(name) for name in dict.fromkeys(names))
        return [study for study in found if study is not None and self._owns(study.tenant.name)]

    def current(self) -> Iterator[Study]:
        """Return the studies that are not closed, by tenant, oldest first."""
        return (study for tenant in self.tenants() for study in tenant.current.values())

    def trials(self, study: str | None = None, state: str | None = None) -> Iterator[Trial]:
        """Return trials, newest first."""
        return (
            trial
            for trial in self._own_trials(study)
            if (state is None or trial.state == state) and self._sees(trial)
        )

    def _own_studies(self) -> Iterable[Study]:
        if self._caller.role == "tenant":
            tenant = self._pool.tenants.get(self._caller.tenant or "")
            return reversed(tenant.studies.values()) if tenant else ()
        return reversed(self._pool.studies.values()) if self.everything else ()

    def _own_trials(self, study: str | None) -> Iterable[Trial]:
        """Return all trials only for an admin: those of others must not slow a caller down."""
        if study is not None:
            return reversed(self.study(study).trials)
        if self._caller.role == "device":
            return reversed(self._pool.trials_of.get(self._caller.token, []))
        if self._caller.role == "tenant":
            tenant = self._pool.tenants.get(self._caller.tenant or "")
            return reversed(tenant.trials) if tenant else ()
        return reversed(self._pool.trials.values())

    def _owns(self, tenant: str) -> bool:
        return self.everything or (self._caller.role == "tenant" and self._caller.tenant == tenant)

    def _sees(self, trial: Trial) -> bool:
        if self._caller.role == "device":
            return trial.token == self._caller.token
        return self._owns(trial.study.tenant.name)


def _no_such(kind: str, name: str, visible: Iterable[Dataset | Study]) -> Missing:
    """Return the refusal of an unknown id; if it is a name, with the ids that it may stand for.

    `visible` are those that the caller can see: the name of any other is like no name.
    """
    found = list(islice((each.id for each in visible if each.name == name), MOST_IDS + 1))
    if not found:
        return Missing(f"there is no {kind} {name!r}")
    listed = [*found[:MOST_IDS], *(["another"] if len(found) > MOST_IDS else [])]
    return Missing(
        f"there is no {kind} with the id {name!r}; this is a name: use the id {' or '.join(listed)}"
    )


def page(items: Iterator[Entity], limit: int, after: str | None) -> tuple[list[Entity], str | None]:
    """Return up to `limit` items after the id `after`, and the id to continue from, if any."""
    if after is not None:
        for item in items:
            if item.id == after:
                break
        else:
            raise Invalid(f"after={after!r} is not in this list; start again without it")
    found = list(islice(items, limit + 1))
    return found[:limit], found[limit - 1].id if len(found) > limit else None


def require(caller: Caller, *roles: str) -> None:
    """Refuse a caller whose role is not one of these."""
    if caller.role not in roles:
        raise Forbidden(
            f"a token of role {caller.role!r} may not do this; use a token of role "
            f"{' or '.join(roles)}"
        )


def new_token() -> tuple[str, str]:
    """Return the id of a new token, and the whole token."""
    name = secrets.token_hex(6)
    return name, f"bth_{name}_{secrets.token_hex(32)}"


def hash_of(token: str) -> str:
    """Return the hash of a token, which is stored."""
    return hashlib.sha256(token.encode()).hexdigest()


def caller_of(tokens: Mapping[str, Token], token: str, now: float) -> Caller:
    """Return the caller of a token; refuse a token that is not valid now."""
    form = _FORM.fullmatch(token)
    known = tokens.get(form.group(1), _UNKNOWN_TOKEN) if form else _UNKNOWN_TOKEN
    if not hmac.compare_digest(hash_of(token), known.hash) or not known.good(now):
        raise Unauthenticated(UNKNOWN)
    return Caller(known.id, known.role, known.tenant)
