"""Algorithms and their hyperparameters: the ranges, and the configurations that are tried.

Configuration 0 of an algorithm is its defaults. The others come from a low-discrepancy sequence
that is the same for every study and on every machine, so what is learned about a model in one
study is useful in the next.
"""

import hashlib
import keyword
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from functools import cache
from typing import Literal

from bentham.errors import InvalidInput
from bentham.training.parameters import Choice, Parameter, Real, Setting, Whole, canonical
from bentham.training.training_plan import Task

__all__ = ["AlgorithmSpec", "Choice", "Parameter", "Real", "Whole"]

NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
LONGEST_NAME = 60
_ESTIMATOR = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*", re.ASCII)
_PATIENCE = 200  # sampled points without a new configuration after which the search ends
_ONE = 2**64


@dataclass(frozen=True)
class CandidateModel:
    """A model that a study may choose: an algorithm and its configuration.

    `family` and `features` (from 0 to 1) say which models are similar.
    """

    algorithm: str
    configuration: dict[str, Setting]
    family: str
    features: dict[str, float]
    tasks: list[Task]


@dataclass(frozen=True)
class AlgorithmSpec:
    """An algorithm that the operator installed: how it is built, and what may vary.

    `estimators` names a class as "package.module:Class" for each task. Alternatively, `command` is
    the words of a command line with {placeholders}, and `tasks` lists its tasks (empty: any).
    `fixed` are arguments that do not vary, and `fixed_for` those of one task only. `seed` is the
    name of the argument for the random seed, empty if there is none. `parameters` vary, in this
    order, and each has its default in `defaults`.

    `scaling` standardizes numbers. `encoding` turns categories into one column each (`one-hot`) or
    into numbers (`ordinal`). `scale_target` standardizes the target of a regression.
    `rows_per_class` is the number of rows of each class that it needs to learn from.
    `probabilities` says whether its classifier has `predict_proba`.
    """

    name: str
    title: str
    family: str = ""
    estimators: Mapping[Task, str] = field(default_factory=dict)
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    defaults: Mapping[str, Setting] = field(default_factory=dict)
    fixed: Mapping[str, Setting] = field(default_factory=dict)
    fixed_for: Mapping[Task, Mapping[str, Setting]] = field(default_factory=dict)
    seed: str = "random_state"
    scaling: bool = False
    encoding: Literal["one-hot", "ordinal"] = "one-hot"
    scale_target: bool = False
    rows_per_class: int = 1
    probabilities: bool = True
    command: tuple[str, ...] = ()
    tasks: tuple[Task, ...] = ()

    def __post_init__(self) -> None:
        if not self.family:
            object.__setattr__(self, "family", self.name)
        if self.estimators:
            object.__setattr__(self, "tasks", tuple(self.estimators))
        _check(self)
        object.__setattr__(self, "defaults", self.check(self.defaults))

    @property
    def needs_data(self) -> bool:
        """Whether it trains on a dataset; a command does if it contains {data}."""
        return not self.command or any("{data}" in word for word in self.command)

    def suits(self, task: Task | None) -> bool:
        """Whether a study with this task, or one without data (None), may choose it."""
        if task is None or not self.needs_data:
            return task is None and not self.needs_data
        return not self.tasks or task in self.tasks

    def configurations(self) -> Iterator[dict[str, Setting]]:
        """Yield the defaults, then points of the sequence, without duplicates; may end."""
        seen: set[str] = set()
        number, last = 0, 0
        while number - last <= _PATIENCE:
            point = self._point(number)
            identity = canonical(point)
            if identity not in seen:
                seen.add(identity)
                last = number
                yield point
            number += 1

    def describe(self, configuration: Mapping[str, Setting]) -> CandidateModel:
        """Return the candidate model with this configuration."""
        features: dict[str, float] = {}
        for name, parameter in self.parameters.items():
            features |= parameter.encode(name, configuration[name])
        return CandidateModel(
            algorithm=self.name,
            configuration=dict(configuration),
            family=self.family,
            features=features,
            tasks=list(self.tasks),
        )

    def model_name(self, configuration: Mapping[str, Setting]) -> str:
        """Return the algorithm's name, followed by a digest unless these are its defaults."""
        identity = canonical(dict(configuration))
        if identity == canonical(self._point(0)):
            return self.name
        digest = hashlib.sha256(f"{self.name} {identity}".encode()).hexdigest()
        return f"{self.name}-{digest[:6]}"

    def check(self, configuration: Mapping[str, Setting]) -> dict[str, Setting]:
        """Return the configuration in the order of the parameters; raises if it is invalid."""
        if set(configuration) != set(self.parameters):
            raise InvalidInput(
                f"{self.name} has the parameters {', '.join(self.parameters) or 'none'}, not "
                f"{', '.join(sorted(configuration)) or 'none'}; give server and workers the "
                "same catalogue"
            )
        checked: dict[str, Setting] = {}
        for name, parameter in self.parameters.items():
            value = configuration[name]
            if not parameter.holds(value):
                raise InvalidInput(
                    f"{self.name}: {name} is {value!r:.100}, not {parameter}; "
                    "give server and workers the same catalogue"
                )
            # Some JSON encoders write 1.0 as 1.
            whole = isinstance(parameter, Real) and isinstance(value, int)
            checked[name] = float(value or 0) if whole else value
        return checked

    def _point(self, number: int) -> dict[str, Setting]:
        if number == 0:
            return dict(self.defaults)
        steps = _steps(len(self.parameters))
        shares = [((_ONE // 2 + number * step) % _ONE) / _ONE for step in steps]
        pairs = zip(self.parameters.items(), shares, strict=True)
        return {name: parameter.at(share) for (name, parameter), share in pairs}


@cache
def _steps(dimensions: int) -> tuple[int, ...]:
    """Return the step of each dimension from point to point, in units of 2**-64.

    An additive recurrence: the step in dimension j is g**-j, where g**(dimensions+1) = g + 1.
    Decimal arithmetic has the same digits on every machine. Newton's method finds g from above:
    after a small move, the error is about the square of that move.
    """
    if dimensions == 0:
        return ()
    with localcontext() as context:
        context.prec = 50
        root = move = Decimal(2)
        while move > Decimal("1e-30"):
            power = root**dimensions
            move = (power * root - root - 1) / ((dimensions + 1) * power - 1)
            root -= move
        return tuple(int(root**-j * _ONE) for j in range(1, dimensions + 1))


def _fixed_arguments(spec: AlgorithmSpec) -> list[tuple[str, Setting]]:
    by_task = [pair for each in spec.fixed_for.values() for pair in each.items()]
    return [*spec.fixed.items(), *by_task]


def _check(spec: AlgorithmSpec) -> None:
    """Raise if the spec is invalid. Names must be plain: source code, URLs and paths use them."""
    if not NAME.fullmatch(spec.name) or len(spec.name) > LONGEST_NAME:
        raise InvalidInput(
            f"the algorithm's name is {spec.name[:100]!r}; write lower-case letters, digits and "
            f"single dashes between them, at most {LONGEST_NAME} characters"
        )
    if bool(spec.estimators) == bool(spec.command):
        raise InvalidInput(f"{spec.name}: give either estimators or a command")
    for path in spec.estimators.values():
        if not _ESTIMATOR.fullmatch(path):
            raise InvalidInput(
                f"{spec.name}: the estimator is {path[:100]!r}; write package.module:Class"
            )
    for name, value in _fixed_arguments(spec):
        number = isinstance(value, int | float)
        if not (value is None or isinstance(value, str) or (number and math.isfinite(value))):
            raise InvalidInput(f"{spec.name}: {name} is {value!r:.100}; give a text or a number")
    fixed = [name for name, _ in _fixed_arguments(spec)]
    for argument in [*spec.parameters, *fixed, *([spec.seed] if spec.seed else [])]:
        if not re.fullmatch(r"[A-Za-z_]\w*", argument, re.ASCII) or keyword.iskeyword(argument):
            raise InvalidInput(
                f"{spec.name}: a parameter is named {argument[:100]!r}; write letters, digits and _"
            )
    if set(spec.defaults) != set(spec.parameters):
        raise InvalidInput(f"{spec.name}: give every parameter, and nothing else, a default")
    for name, parameter in spec.parameters.items():
        if not parameter.holds(spec.defaults[name]):
            value = spec.defaults[name]
            raise InvalidInput(f"{spec.name}: {name} defaults to {value!r:.100}; give {parameter}")
