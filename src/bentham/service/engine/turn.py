"""A turn: the first argument of a command or a query when its request is handled.

A command sees the pool through the scope of its caller. What all tenants share (names of models,
the operator's datasets, totals) is in `shared`. The whole pool is for operators and devices: a
command that accesses it on behalf of a tenant is refused.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from bentham.service.engine.leases import Leases
from bentham.service.engine.scope import Caller, Scope
from bentham.service.engine.working_state import WorkingState
from bentham.service.fold.entities import Dataset, Description, SharedArms, Tenant
from bentham.service.fold.pool import Pool, dataset_key
from bentham.service.refusals import Forbidden

Function = TypeVar("Function", bound=Callable[..., Any])


class Shared:
    """What all tenants share, without the data of any other tenant."""

    def __init__(self, pool: Pool):
        self._pool = pool

    @property
    def installed(self) -> Mapping[str, Dataset]:
        """The operator's datasets, which all tenants share."""
        return self._pool.installed

    @property
    def studies(self) -> int:
        """The total number of studies."""
        return len(self._pool.studies)

    @property
    def models(self) -> int:
        """The total number of models."""
        return len(self._pool.models)

    def description(self, model: str) -> Description | None:
        """Return what a model's name stands for; None if no study has listed it."""
        return self._pool.descriptions.get(model)

    def algorithm(self, model: str) -> str:
        """Return the name of the algorithm of a model that a study has listed; empty if none."""
        found = self._pool.descriptions.get(model)
        return "" if found is None else found.algorithm

    def has_dataset(self, tenant: Tenant, dataset: str) -> bool:
        """Whether a tenant can still use a dataset, its own or a shared one."""
        return dataset in tenant.datasets or dataset in self._pool.installed

    def counted(self, models: Iterable[str], drawn: bool) -> list[str]:
        """Return those of the models that count towards limits."""
        return self._pool.counted(models, drawn)

    def arms(self, tenant: Tenant, dataset: str) -> SharedArms | None:
        """Return the arms that a tenant's studies on one dataset share."""
        return self._pool.arms.get(dataset_key(tenant.name, dataset))


class Turn:
    """The argument of a command: the caller, the time, and what the caller can see."""

    def __init__(self, state: WorkingState, caller: Caller):
        self._pool = state.pool
        self.caller = caller
        self.now = state.now()
        self.leases: Leases = state.leases
        self.scope = Scope(state.pool, caller)
        self.shared = Shared(state.pool)

    def whole(self) -> Pool:
        """Return the whole pool; refused for tenants."""
        if self.caller.role == "tenant":
            raise Forbidden("a token of role 'tenant' may not do this")
        return self._pool


class Look(Turn):
    """The argument of a query: also has the pool, which views need for the posterior.

    The entities that a query shows are looked up through the scope.
    """

    def __init__(self, state: WorkingState, caller: Caller):
        super().__init__(state, caller)
        self.pool = state.pool
        # Whether work of the caller, or any work for an operator, waits with no device present.
        self.no_device = state.watch.no_device(caller.tenant)


def allowed(
    *roles: str, unchanged: Callable[..., Any] | None = None
) -> Callable[[Function], Function]:
    """Declare which roles may use a command or a query.

    `unchanged` is the query that gives the reply when a command finds nothing to do. It gets the
    same arguments as the command.
    """

    def mark(function: Function) -> Function:
        function.roles = roles  # type: ignore[attr-defined]
        function.unchanged = unchanged  # type: ignore[attr-defined]
        return function

    return mark


def roles_of(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the roles that may use a command or a query; none if not declared."""
    roles: tuple[str, ...] = getattr(function, "roles", ())
    return roles


def unchanged_of(function: Callable[..., Any]) -> Callable[..., Any] | None:
    """Return the query that gives the reply when a command finds nothing to do."""
    unchanged: Callable[..., Any] | None = getattr(function, "unchanged", None)
    return unchanged
