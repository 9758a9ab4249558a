"""The catalogue: the algorithms installed here, and the candidate models of a study."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from bentham.errors import InvalidInput
from bentham.training.boosting import installed
from bentham.training.command_algorithms import read_commands
from bentham.training.spaces import AlgorithmSpec, CandidateModel
from bentham.training.training_plan import Task
from bentham.wording import did_you_mean

# The entry point group of packages with algorithms; an entry is an AlgorithmSpec or a list of them.
GROUP = "bentham.algorithms"
# Size of the cache of candidates; most studies request the same ones.
CACHE_SIZE = 64


@dataclass(frozen=True)
class Catalog:
    """The algorithms that studies choose from; `problems` lists packages that failed to load."""

    algorithms: dict[str, AlgorithmSpec]
    problems: tuple[str, ...] = ()
    _cache: dict[tuple[object, ...], dict[str, CandidateModel]] = field(
        default_factory=dict, repr=False, compare=False
    )

    def candidates(
        self, task: Task | None, count: int, algorithms: Sequence[str] = ()
    ) -> dict[str, CandidateModel]:
        """Return up to `count` models by name: all algorithms' defaults, then others in turn.

        Without a task, only algorithms that need no data are used. A smaller count returns the
        first candidates of a larger one.
        """
        key = (task, count, *algorithms)
        if key not in self._cache:
            found = self._draw(task, count, algorithms)
            while len(self._cache) >= CACHE_SIZE:
                del self._cache[next(iter(self._cache))]
            self._cache[key] = found
        return dict(self._cache[key])

    def _draw(
        self, task: Task | None, count: int, algorithms: Sequence[str]
    ) -> dict[str, CandidateModel]:
        chosen = [self.algorithm(name) for name in dict.fromkeys(algorithms)]
        for spec in chosen:
            _check_suits(spec, task)
        if not algorithms:
            chosen = [spec for spec in self.algorithms.values() if spec.suits(task)]
        if not chosen:
            kind = f"supports {task}" if task else "works without data"
            raise InvalidInput(f"no algorithm installed here {kind}; the operator can add one")
        found: dict[str, CandidateModel] = {}
        for model, description in _interleaved(chosen):
            if len(found) >= count:
                break
            # If two digests start the same way, the first model keeps the name.
            found.setdefault(model, description)
        return found

    def algorithm(self, name: str) -> AlgorithmSpec:
        """Return an algorithm by name; raises, with similar names, if there is none."""
        if name in self.algorithms:
            return self.algorithms[name]
        others = did_you_mean(name, self.algorithms, "; see the list of algorithms")
        raise InvalidInput(f"no algorithm {name[:100]!r} is installed here{others}")


def load_catalog(file: Path | None = None) -> Catalog:
    """Load the zoo, boosting if installed, algorithms of other packages and a file of commands.

    A package that cannot be used is left out and reported; a file that cannot be used raises.
    """
    algorithms = {spec.name: spec for spec in installed()}
    problems: list[str] = []
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        try:
            _add(algorithms, _loaded(entry))
        except InvalidInput as error:
            package = entry.dist.name if entry.dist else entry.value
            problems.append(f"package {package}, entry point {entry.name}: {error}")
    if file is not None:
        try:
            _add(algorithms, read_commands(file))
        except InvalidInput as error:
            text = str(error)
            raise InvalidInput(text if text.startswith(str(file)) else f"{file}: {text}") from None
    return Catalog(algorithms, tuple(problems))


def _loaded(entry: EntryPoint) -> list[AlgorithmSpec]:
    try:
        offered = entry.load()
    except Exception as error:  # a third-party package may raise anything, and must not stop others
        raise InvalidInput(
            f"cannot be loaded ({type(error).__name__}: {error}); fix or remove the package"
        ) from error
    specs = list(offered) if isinstance(offered, list | tuple) else [offered]
    for spec in specs:
        if not isinstance(spec, AlgorithmSpec):
            raise InvalidInput(
                f"is a {type(spec).__name__}; make it an AlgorithmSpec or a list of them"
            )
    return specs


def _add(algorithms: dict[str, AlgorithmSpec], more: Iterable[AlgorithmSpec]) -> None:
    added = list(more)
    names = [spec.name for spec in added]
    for name in names:
        if name in algorithms or names.count(name) > 1:
            raise InvalidInput(f"there is already an algorithm {name}; choose another name")
    algorithms.update((spec.name, spec) for spec in added)


def _interleaved(specs: Iterable[AlgorithmSpec]) -> Iterator[tuple[str, CandidateModel]]:
    """Yield one configuration of each algorithm, then the next of each, until all are used."""
    remaining = [(spec, spec.configurations()) for spec in specs]
    while remaining:
        unfinished = []
        for spec, configurations in remaining:
            configuration = next(configurations, None)
            if configuration is not None:
                unfinished.append((spec, configurations))
                yield spec.model_name(configuration), spec.describe(configuration)
        remaining = unfinished


def _check_suits(spec: AlgorithmSpec, task: Task | None) -> None:
    if spec.suits(task):
        return
    if task is None:
        raise InvalidInput(f"{spec.name} trains on data; name the study's data, or leave it out")
    if not spec.needs_data:
        raise InvalidInput(f"{spec.name} takes no data; leave it out, or use a study without data")
    raise InvalidInput(f"{spec.name} is for {', '.join(spec.tasks)}, not for {task}; leave it out")
