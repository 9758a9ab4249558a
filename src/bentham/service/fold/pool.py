"""The pool: the state of the service, and how the scheduler is kept in sync with it.

It is computed from the events of the log: see `table.apply`. The scheduler knows studies by their
ids, and datasets by tenant and name: tenants whose datasets have the same name share nothing.
"""

from collections.abc import Iterable, Mapping

from bentham.core import DEFAULT_ATTEMPTS, LearnedPrior, Scheduler, prior_from
from bentham.core.problem import events as core
from bentham.core.problem.study import StudySpec
from bentham.errors import InvalidRecording
from bentham.service.fold import events
from bentham.service.fold.entities import (
    Dataset,
    Description,
    Device,
    Fit,
    SharedArms,
    Study,
    Tenant,
    Token,
    Trial,
)
from bentham.service.fold.keys import Keys

MINUTE, MINUTES = 60.0, 60


class Throughput:
    """Counts of the last hour."""

    def __init__(self) -> None:
        self._minutes: dict[int, dict[str, int]] = {}

    def note(self, time: float, tenant: str) -> None:
        """Count a trial of a tenant that ended."""
        minute = int(time // MINUTE)
        if minute not in self._minutes:
            self._minutes = {
                old: counts for old, counts in self._minutes.items() if old > minute - MINUTES
            }
            self._minutes[minute] = {}
        counts = self._minutes[minute]
        counts[tenant] = counts.get(tenant, 0) + 1

    def ended(self, now: float, minutes: int, tenant: str | None = None) -> int:
        """Return the number of trials that ended in the last minutes, of one tenant or of all."""
        first = int(now // MINUTE) - minutes
        return sum(
            sum(counts.values()) if tenant is None else counts.get(tenant, 0)
            for minute, counts in self._minutes.items()
            if minute > first
        )


def dataset_key(tenant: str, dataset: str) -> str:
    """Return the scheduler's name for a tenant's dataset; a tenant's name has no slash."""
    return f"{tenant}/{dataset}"


class Pool:
    """Tenants, tokens, studies, devices, trials, and the scheduler that serves them."""

    def __init__(self) -> None:
        self.sequence = 0
        self.time = 0.0
        self.created: events.PoolCreated | None = None
        self.tenants: dict[str, Tenant] = {}
        self.tokens: dict[str, Token] = {}
        self.studies: dict[str, Study] = {}
        self.devices: dict[str, Device] = {}
        self.departed: dict[str, Device] = {}  # the latest that left, for repeated requests
        self.trials: dict[str, Trial] = {}  # ordered by number
        self.running: dict[str, Trial] = {}
        self.trials_of: dict[str, list[Trial]] = {}  # by the token whose devices ran them
        self.datasets: dict[str, Dataset] = {}  # by id
        self.installed: dict[str, Dataset] = {}  # those that all tenants share
        self.arms: dict[str, SharedArms] = {}  # by `dataset_key`
        self.descriptions: dict[str, Description] = {}  # by model
        self.history: list[Mapping[str, Mapping[str, tuple[float, float | None]]]] = []
        self.keys = Keys()
        self.throughput = Throughput()
        self.leases_lost = 0
        self.fit_trials: dict[str, Trial] = {}  # trials that fit a model, by id
        self.waiting_fits: dict[str, Fit] = {}  # by study, the first requested first
        self.models: dict[str, None] = {}  # ever listed, or in the history
        self.limited: dict[str, Tenant] = {}  # tenants that have a limit
        self.deadlines: dict[str, float] = {}  # of open or paused studies
        self._scheduler: Scheduler | None = None
        self._attempts = DEFAULT_ATTEMPTS

    @property
    def scheduler(self) -> Scheduler:
        """The core's scheduler."""
        if self._scheduler is None:
            raise InvalidRecording(
                "the log does not begin with pool-created; it is not a Bentham log"
            )
        return self._scheduler

    def begin(self, event: events.PoolCreated) -> None:
        """Create the scheduler with the settings in the event."""
        prior = LearnedPrior() if event.prior is None else prior_from(event.prior)
        self.created, self._attempts = event, event.attempts
        self._scheduler = Scheduler(
            prior,
            event.policy,
            warm_start=event.warm_start,
            cost_exponent=event.cost_exponent,
            seed=event.seed,
            attempts=event.attempts,
        )

    @property
    def attempts(self) -> int:
        """The number of attempts after which an arm has failed."""
        return self._attempts

    def counted(self, models: Iterable[str], drawn: bool) -> list[str]:
        """Return the models that count towards limits: all but the catalogue's standard ones."""
        known = self.descriptions
        return [
            model for model in models if not (drawn and model in known and known[model].standard)
        ]

    def trial(self, name: str) -> Trial:
        """Return a trial, whether it scores or fits a model; raises KeyError if there is none."""
        return self.trials[name] if name in self.trials else self.fit_trials[name]

    def datasets_of(self, tenant: str) -> dict[str, Dataset]:
        """Return a tenant's datasets by id; without a tenant, the shared ones."""
        return self.tenants[tenant].datasets if tenant else self.installed

    def serve(self, time: float, study: Study) -> None:
        """Add the study to the scheduler or remove it, as its state requires."""
        wanted = study.state == "open" and not study.full
        if wanted == study.served:
            return
        if wanted:
            spec = StudySpec(
                study.id,
                study.models,
                dataset_key(study.tenant.name, study.dataset),
                study.weight * study.tenant.weight,
                study.floor,
                study.rows,
                study.columns,
                study.tenant.name,
                {model: self.descriptions[model].kin for model in study.models}
                if study.drawn
                else {},
                study.stop.get("gain_share") or 0.0,
            )
            self.scheduler.apply(core.StudyAdded(time, spec))
        else:
            self.scheduler.apply(core.StudyRemoved(time, study.id))
        study.served = wanted

    def barred(self, now: float) -> dict[str, str]:
        """Return the tenants that may not be served now, each with the limit it has reached."""
        reached = ((name, tenant.reached_limit(now)) for name, tenant in self.limited.items())
        return {name: limit for name, limit in reached if limit is not None}
