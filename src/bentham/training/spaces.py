"""Algorithms and their hyperparameters: what may vary, and the points that are tried of it.

Configuration 0 of an algorithm are its defaults; the others come from one low-discrepancy
sequence, the same for every study and on every machine: what is learned of a model in one study
is of use in the next.
"""

import hashlib
import json
import keyword
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from functools import cache
from typing import Literal, TypeAlias

from bentham.errors import InvalidInput
from bentham.wire.training import Description, Setting, Task

NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
LONGEST_NAME = 60
_ESTIMATOR = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*", re.ASCII)
_DIGITS = 3  # significant ones of a sampled number: so it prints well and is the same everywhere
_PATIENCE = 200  # sampled points without a new configuration before there are no more
_ONE = 2**64


@dataclass(frozen=True)
class Real:
    """A number from low to high, evenly, or evenly in its logarithm."""

    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        _check_range(self.low, self.high, self.log)

    def at(self, share: float) -> float:
        """The value at a share of the way from low to high."""
        value = float(f"{_between(self.low, self.high, self.log, share):.{_DIGITS}g}")
        return min(max(value, float(self.low)), float(self.high))

    def holds(self, value: Setting) -> bool:
        """Whether this is one of its values."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        return self.low <= value <= self.high

    def encode(self, name: str, value: Setting) -> dict[str, float]:
        """The value as a feature from 0 to 1."""
        assert isinstance(value, int | float)
        return {name: _share(self.low, self.high, self.log, value)}

    def __str__(self) -> str:
        return f"{self.low:g} to {self.high:g}{', logarithmic' if self.log else ''}"


@dataclass(frozen=True)
class Whole:
    """A whole number from low to high, evenly, or evenly in its logarithm."""

    low: int
    high: int
    log: bool = False

    def __post_init__(self) -> None:
        _check_range(self.low, self.high, self.log)

    def at(self, share: float) -> int:
        """The value at a share of the way from low to high; each has an equal part of the way."""
        if self.log:
            value = round(_between(self.low, self.high, True, share))
        else:
            value = self.low + math.floor(share * (self.high - self.low + 1))
        return min(max(value, self.low), self.high)

    def holds(self, value: Setting) -> bool:
        """Whether this is one of its values."""
        return type(value) is int and self.low <= value <= self.high

    def encode(self, name: str, value: Setting) -> dict[str, float]:
        """The value as a feature from 0 to 1."""
        assert isinstance(value, int)
        return {name: _share(self.low, self.high, self.log, value)}

    def __str__(self) -> str:
        return f"{self.low} to {self.high}, whole{', logarithmic' if self.log else ''}"


@dataclass(frozen=True)
class Choice:
    """One of a few values; if ordered, neighbours are alike."""

    values: tuple[Setting, ...]
    ordered: bool = False

    def __post_init__(self) -> None:
        if len({_canonical(value) for value in self.values}) < max(2, len(self.values)):
            raise InvalidInput(f"a choice of {list(self.values)}; give two or more different ones")

    def at(self, share: float) -> Setting:
        """The value at a share of the way; each has an equal part of it."""
        return self.values[min(math.floor(share * len(self.values)), len(self.values) - 1)]

    def holds(self, value: Setting) -> bool:
        """Whether this is one of its values."""
        return _canonical(value) in {_canonical(each) for each in self.values}

    def encode(self, name: str, value: Setting) -> dict[str, float]:
        """The value as features from 0 to 1: its place, or one for each value."""
        known = [_canonical(each) for each in self.values]
        place = known.index(_canonical(value))
        if self.ordered:
            return {name: place / (len(known) - 1)}
        return {f"{name}={each}": float(at == place) for at, each in enumerate(known)}

    def __str__(self) -> str:
        return "one of " + ", ".join(_canonical(value) for value in self.values)


Parameter: TypeAlias = Real | Whole | Choice


@dataclass(frozen=True)
class AlgorithmSpec:
    """An algorithm that the operator installed: how it is built, and what may vary of it.

    `estimators` names a class as "package.module:Class" for each task; or `command` is the words of
    a command line with {placeholders}, which then says by `tasks` what it is for (none: any).
    `fixed` are arguments that do not vary, `fixed_for` those of one task only; `seed` is the name
    of the argument that makes it repeatable, empty if it has none. `parameters` vary, in this
    order, and each has its value in `defaults`.

    Its inputs are prepared as it needs them: numbers scaled (`scaling`), categories as one column
    for each (`one-hot`) or numbered (`ordinal`); `scale_target` scales what a regression predicts.
    `probabilities` is whether its classifier has `predict_proba`.
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
        """Whether it trains on a dataset; a command does if {data} stands in it."""
        return not self.command or any("{data}" in word for word in self.command)

    def suits(self, task: Task | None) -> bool:
        """Whether a study of this task, or one without data (None), may choose it."""
        if task is None or not self.needs_data:
            return task is None and not self.needs_data
        return not self.tasks or task in self.tasks

    def configurations(self) -> Iterator[dict[str, Setting]]:
        """The defaults, then points of the sequence; none twice, and an end if there is one."""
        seen: set[str] = set()
        number, last = 0, 0
        while number - last <= _PATIENCE:
            point = self._point(number)
            identity = _canonical(point)
            if identity not in seen:
                seen.add(identity)
                last = number
                yield point
            number += 1

    def describe(self, configuration: Mapping[str, Setting]) -> Description:
        """What a model of this configuration is like."""
        features: dict[str, float] = {}
        for name, parameter in self.parameters.items():
            features |= parameter.encode(name, configuration[name])
        return Description(
            algorithm=self.name,
            configuration=dict(configuration),
            family=self.family,
            features=features,
            tasks=list(self.tasks),
        )

    def model_name(self, configuration: Mapping[str, Setting]) -> str:
        """The algorithm's name for its defaults; for others with a digest of what they are."""
        identity = _canonical(dict(configuration))
        if identity == _canonical(self._point(0)):
            return self.name
        digest = hashlib.sha256(f"{self.name} {identity}".encode()).hexdigest()
        return f"{self.name}-{digest[:6]}"

    def check(self, configuration: Mapping[str, Setting]) -> dict[str, Setting]:
        """The configuration in the order of the parameters; refused if it is none of this one."""
        if set(configuration) != set(self.parameters):
            raise InvalidInput(
                f"{self.name} is configured by {', '.join(self.parameters) or 'nothing'}, not by "
                f"{', '.join(sorted(configuration)) or 'nothing'}; give server and workers the "
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
            # Some JSON writes 1.0 as 1.
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
    """How far each dimension moves from point to point, of 2**64 that are once around.

    An additive recurrence: the step in dimension j is g**-j, where g**(dimensions+1) = g + 1. By
    decimal arithmetic, which has the same digits on every machine.
    """
    with localcontext() as context:
        context.prec = 50
        root = Decimal(2)
        for _ in range(200):
            root = (1 + root) ** (Decimal(1) / (dimensions + 1))
        return tuple(int(root**-j * _ONE) for j in range(1, dimensions + 1))


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True)


def _between(low: float, high: float, log: bool, share: float) -> float:
    if log:
        return math.exp(math.log(low) + share * (math.log(high) - math.log(low)))
    return low + share * (high - low)


def _share(low: float, high: float, log: bool, value: float) -> float:
    if log:
        low, high, value = math.log(low), math.log(high), math.log(value)
    return min(max((value - low) / (high - low), 0.0), 1.0)


def _check_range(low: float, high: float, log: bool) -> None:
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InvalidInput(f"the range is from {low} to {high}; low must be below high")
    if log and low <= 0:
        raise InvalidInput(f"a logarithmic range begins at {low}; begin above 0, or leave out log")


def _given(spec: AlgorithmSpec) -> list[tuple[str, Setting]]:
    more = [pair for each in spec.fixed_for.values() for pair in each.items()]
    return [*spec.fixed.items(), *more]


def _check(spec: AlgorithmSpec) -> None:
    """Names stand in source code, addresses and file names, so they are held to be plain."""
    if not NAME.fullmatch(spec.name) or len(spec.name) > LONGEST_NAME:
        raise InvalidInput(
            f"the algorithm's name is {spec.name[:100]!r}; write lower-case letters, digits and "
            f"single dashes between them, at most {LONGEST_NAME}"
        )
    if bool(spec.estimators) == bool(spec.command):
        raise InvalidInput(f"{spec.name}: give estimators or a command, one of the two")
    for path in spec.estimators.values():
        if not _ESTIMATOR.fullmatch(path):
            raise InvalidInput(
                f"{spec.name}: the estimator is {path[:100]!r}; write package.module:Class"
            )
    for name, value in _given(spec):
        number = isinstance(value, int | float)
        if not (value is None or isinstance(value, str) or (number and math.isfinite(value))):
            raise InvalidInput(f"{spec.name}: {name} is {value!r:.100}; give a text or a number")
    fixed = [name for name, _ in _given(spec)]
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
