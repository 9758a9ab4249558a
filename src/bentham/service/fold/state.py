"""What the service knows, and how the scheduler is kept in step with it."""

from collections.abc import Iterable, Mapping

from bentham.core import DEFAULT_ATTEMPTS, LearnedPrior, Scheduler, prior_from
from bentham.core.problem import events as core
from bentham.core.problem.study import Study as Spec
from bentham.errors import InvalidRecording
from bentham.service.fold import events as happened
from bentham.service.fold.entities import (
    Arms,
    Dataset,
    Description,
    Device,
    Study,
    Tenant,
    Token,
    Trial,
)
from bentham.service.fold.keys import Keys
from bentham.service.fold.throughput import Throughput


def dataset_key(tenant: str, dataset: str) -> str:
    """What a tenant's dataset is called in the scheduler; a tenant's name has no slash."""
    return f"{tenant}/{dataset}"


class State:
    """Tenants, tokens, studies, devices, trials, and the scheduler that serves them."""

    def __init__(self) -> None:
        self.sequence = 0
        self.time = 0.0
        self.created: happened.PoolCreated | None = None
        self.tenants: dict[str, Tenant] = {}
        self.tokens: dict[str, Token] = {}
        self.studies: dict[str, Study] = {}
        self.devices: dict[str, Device] = {}
        self.departed: dict[str, Device] = {}  # a few that left, for whoever asks again
        self.trials: dict[str, Trial] = {}  # in the order of their numbers
        self.running: dict[str, Trial] = {}
        self.trials_of: dict[str, list[Trial]] = {}  # by the token whose devices ran them
        self.datasets: dict[str, Dataset] = {}  # by id
        self.installed: dict[str, Dataset] = {}  # those that are everybody's
        self.arms: dict[str, Arms] = {}  # of studies, by `dataset_key`
        self.descriptions: dict[str, Description] = {}  # what models stand for
        self.history: list[Mapping[str, Mapping[str, tuple[float, float | None]]]] = []
        self.keys = Keys()
        self.throughput = Throughput()
        self.leases_lost = 0
        self.models: dict[str, None] = {}  # ever listed, or in the history
        self.limited: dict[str, Tenant] = {}  # tenants that have any limit
        self.deadlines: dict[str, float] = {}  # of open or paused studies
        self._scheduler: Scheduler | None = None
        self._attempts = DEFAULT_ATTEMPTS

    @property
    def scheduler(self) -> Scheduler:
        """The scheduler of the core."""
        if self._scheduler is None:
            raise InvalidRecording("the log does not begin with pool-created; it is no log of ours")
        return self._scheduler

    def begin(self, event: happened.PoolCreated) -> None:
        """How decisions are made from now on."""
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
        """How often an arm may be tried before it has failed."""
        return self._attempts

    def counted(self, models: Iterable[str], drawn: bool) -> list[str]:
        """Those that count against limits: all but the standard ones of the catalogue."""
        known = self.descriptions
        return [
            model for model in models if not (drawn and model in known and known[model].standard)
        ]

    def datasets_of(self, tenant: str) -> dict[str, Dataset]:
        """A tenant's datasets by id; without a tenant, those that are everybody's."""
        return self.tenants[tenant].datasets if tenant else self.installed

    def serve(self, time: float, study: Study) -> None:
        """Let the scheduler know the study, or know it no longer, as its state demands."""
        wanted = study.state == "open" and not study.full
        if wanted == study.served:
            return
        if wanted:
            spec = Spec(
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
            )
            self.scheduler.apply(core.StudyAdded(time, spec))
        else:
            self.scheduler.apply(core.StudyRemoved(time, study.id))
        study.served = wanted
