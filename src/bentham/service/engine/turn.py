"""A turn: what a command or a query is handed when its request comes up.

A command sees the pool through the scope of its caller. What all tenants share (names of models,
the operator's datasets, totals) is in `shared`. The whole pool is for operators and devices: a
command that asks for it on behalf of a tenant is refused.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from bentham.service.engine.leases import Leases
from bentham.service.engine.scope import Caller, Scope
from bentham.service.engine.working_state import WorkingState
from bentham.service.fold.entities import Arms, Dataset, Description, Tenant
from bentham.service.fold.pool import Pool
from bentham.service.fold.state import dataset_key
from bentham.service.refusals import Forbidden

Function = TypeVar("Function", bound=Callable[..., Any])


class Shared:
    """What all tenants share, and nothing of any one of them."""

    def __init__(self, pool: Pool):
        self._pool = pool

    @property
    def installed(self) -> Mapping[str, Dataset]:
        """The operator's datasets, which are everybody's."""
        return self._pool.installed

    @property
    def studies(self) -> int:
        """How many studies there are in all."""
        return len(self._pool.studies)

    @property
    def models(self) -> int:
        """How many models are named in all."""
        return len(self._pool.models)

    def description(self, model: str) -> Description | None:
        """What a model's name stands for, if anybody listed it yet."""
        return self._pool.descriptions.get(model)

    def counted(self, models: Iterable[str], drawn: bool) -> list[str]:
        """Those of the models that count against limits."""
        return self._pool.counted(models, drawn)

    def arms(self, tenant: Tenant, dataset: str) -> Arms | None:
        """The arms that a tenant's studies over one dataset share."""
        return self._pool.arms.get(dataset_key(tenant.name, dataset))


class Turn:
    """What a command is handed: who asks, when, and what they can see."""

    def __init__(self, state: WorkingState, caller: Caller):
        self._pool = state.pool
        self.caller = caller
        self.now = state.now()
        self.leases: Leases = state.leases
        self.scope = Scope(state.pool, caller)
        self.shared = Shared(state.pool)

    def whole(self) -> Pool:
        """The whole pool, for operators and devices."""
        if self.caller.role == "tenant":
            raise Forbidden("a token of role 'tenant' may not do this")
        return self._pool


class Look(Turn):
    """What a query is handed: also the pool, which views need for what is believed.

    What is shown is found through the scope.
    """

    def __init__(self, state: WorkingState, caller: Caller):
        super().__init__(state, caller)
        self.pool = state.pool


def allowed(
    *roles: str, unchanged: Callable[..., Any] | None = None
) -> Callable[[Function], Function]:
    """Say which roles may ask for a command or a query.

    `unchanged` is the query that answers when a command finds nothing to do. It is handed what the
    command was handed.
    """

    def mark(function: Function) -> Function:
        function.roles = roles  # type: ignore[attr-defined]
        function.unchanged = unchanged  # type: ignore[attr-defined]
        return function

    return mark


def roles_of(function: Callable[..., Any]) -> tuple[str, ...]:
    """Who may ask for it; what nobody declared, nobody may."""
    roles: tuple[str, ...] = getattr(function, "roles", ())
    return roles


def unchanged_of(function: Callable[..., Any]) -> Callable[..., Any] | None:
    """The query that answers when a command finds nothing to do."""
    unchanged: Callable[..., Any] | None = getattr(function, "unchanged", None)
    return unchanged
