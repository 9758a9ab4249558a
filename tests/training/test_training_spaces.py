"""Parameter spaces: samples are inside, encode to 0 to 1 and survive JSON."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bentham.errors import InvalidInput
from bentham.training.parameters import Setting
from bentham.training.spaces import AlgorithmSpec, Choice, Parameter, Real, Whole

ENDS = st.floats(1e-6, 1e6)


@st.composite
def spaces(draw: st.DrawFn) -> Parameter:
    kind = draw(st.sampled_from(["real", "whole", "choice"]))
    if kind == "choice":
        settings = st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.text(max_size=5))
        values = draw(st.lists(settings, min_size=2, max_size=5, unique_by=json.dumps))
        return Choice(tuple(values), draw(st.booleans()))
    if kind == "whole":
        low, high = sorted(draw(st.lists(st.integers(1, 500), min_size=2, max_size=2, unique=True)))
        return Whole(low, high, draw(st.booleans()))
    first, second = sorted(draw(st.lists(ENDS, min_size=2, max_size=2, unique=True)))
    return Real(first, second, draw(st.booleans()))


def spec(parameters: dict[str, Parameter], **more: Any) -> AlgorithmSpec:
    defaults = {name: space.at(0.5) for name, space in parameters.items()}
    fields = {
        "name": "some",
        "title": "Some",
        "estimators": {"regression": "package:Class"},
        "parameters": parameters,
        "defaults": defaults,
    }
    return AlgorithmSpec(**{**fields, **more})


@given(spaces(), st.floats(0.0, 1.0))
def test_samples_are_inside_and_survive_json(space: Parameter, share: float) -> None:
    value = space.at(share)
    assert space.holds(value)
    assert all(0.0 <= feature <= 1.0 for feature in space.encode("x", value).values())
    assert space.encode("x", value).keys() == space.encode("x", space.at(0.0)).keys()
    restored = json.loads(json.dumps(value))
    assert restored == value
    assert type(restored) is type(value)


@given(st.lists(spaces(), max_size=4))
def test_configurations_are_unique_and_start_with_the_defaults(parameters: list[Parameter]) -> None:
    some = spec({f"p{number}": space for number, space in enumerate(parameters)})
    points = [point for point, _ in zip(some.configurations(), range(30), strict=False)]
    assert points[0] == some.defaults
    assert some.model_name(points[0]) == "some"
    assert len({json.dumps(point) for point in points}) == len(points)
    for point in points:
        assert some.check(json.loads(json.dumps(point))) == point
        assert list(some.describe(point).configuration) == list(some.parameters)


def test_finite_spaces_end() -> None:
    some = spec({"a": Choice((1, 2, 3)), "b": Choice((True, False))})
    assert len(list(some.configurations())) == 6
    assert len(list(spec({}).configurations())) == 1


def test_points_are_spread_evenly() -> None:
    some = spec({"a": Real(0.0, 1.0), "b": Real(0.0, 1.0)})
    points = [point for point, _ in zip(some.configurations(), range(65), strict=False)][1:]
    cells = {(int(float(p["a"] or 0) * 4), int(float(p["b"] or 0) * 4)) for p in points}
    assert len(cells) == 16  # 64 points leave none of 16 squares empty


def test_encodings() -> None:
    assert Real(0.01, 1.0, log=True).encode("x", 0.1) == {"x": pytest.approx(0.5)}
    assert Whole(0, 10).encode("x", 5) == {"x": 0.5}
    assert Choice((1, 2, 4), ordered=True).encode("x", 2) == {"x": 0.5}
    assert Choice((True, "true", 1)).encode("x", 1) == {"x=true": 0.0, 'x="true"': 0.0, "x=1": 1.0}


def test_numbers_are_rounded_within_the_range() -> None:
    assert Real(1e-4, 1e-1, log=True).at(0.3331) == 0.000998
    assert Real(0.12345, 1.0).at(0.0) == 0.12345
    assert [Whole(1, 3).at(share) for share in (0.0, 0.34, 0.67, 1.0)] == [1, 2, 3, 3]


def test_whole_numbers_are_accepted_as_numbers() -> None:
    some = spec({"x": Real(0.0, 2.0)}, defaults={"x": 1})
    assert json.dumps(some.defaults) == '{"x": 1.0}'
    assert some.model_name(some.check({"x": 1})) == "some"


@pytest.mark.parametrize(
    ("configuration", "reason"),
    [
        ({}, "has the parameters x, not none"),
        ({"x": 0.5, "y": 1}, "not x, y"),
        ({"x": math.nan}, "x is nan"),
        ({"x": 3.0}, "x is 3.0, not 0 to 2"),
        ({"x": True}, "x is True"),
        ({"x": "__import__('os')"}, "x is"),
    ],
)
def test_configurations_of_other_algorithms_are_refused(
    configuration: dict[str, Setting], reason: str
) -> None:
    with pytest.raises(InvalidInput, match=reason) as refused:
        spec({"x": Real(0.0, 2.0)}).check(configuration)
    assert "same catalogue" in str(refused.value)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"name": "Some Name"}, "lower-case letters"),
        ({"name": "x" * 61}, "at most 60"),
        ({"estimators": {}}, "either estimators or a command"),
        ({"command": ("run",)}, "either estimators or a command"),
        ({"estimators": {"regression": "os; import os:Class"}}, "package.module:Class"),
        ({"estimators": {"regression": "package.Class"}}, "package.module:Class"),
        ({"fixed": {"a b": 1}}, "parameter is named"),
        ({"fixed": {"lambda": 1}}, "parameter is named"),
        ({"fixed": {"x": math.inf}}, "x is inf"),
        ({"fixed_for": {"regression": {"x": [1]}}}, r"x is \[1\]"),
        ({"defaults": {}}, "a default"),
        ({"defaults": {"x": 5.0}}, "x defaults to 5.0; give 0 to 2"),
    ],
)
def test_invalid_algorithms_are_refused(wrong: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        spec({"x": Real(0.0, 2.0)}, **wrong)


@pytest.mark.parametrize("ends", [(1.0, 1.0), (2.0, 1.0), (math.nan, 1.0), (0.0, math.inf)])
def test_a_range_without_values_is_refused(ends: tuple[float, float]) -> None:
    with pytest.raises(InvalidInput, match="low must be below high"):
        Real(*ends)


def test_a_logarithm_needs_numbers_above_zero() -> None:
    with pytest.raises(InvalidInput, match="start above 0"):
        Whole(0, 5, log=True)
    with pytest.raises(InvalidInput, match="at least two"):
        Choice(("a", "a"))
