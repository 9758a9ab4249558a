"""Compares two states bit by bit, however they were computed."""

from collections import deque
from enum import Enum
from typing import Any

import numpy as np

from bentham.core.costs.cache import KnownCosts

# The content of caches depends on earlier queries. Another test shows that caches change no result.
CACHES = (KnownCosts,)
PLAIN = (int, float, str, bytes, bool, type(None), Enum, type)


def difference(first: object, second: object) -> str:
    """Return the path to the first difference between two states; empty if there is none."""
    return _find(first, second, "", set())


def _find(first: Any, second: Any, path: str, seen: set[tuple[int, int]]) -> str:
    if (id(first), id(second)) in seen:
        return ""
    seen.add((id(first), id(second)))
    if type(first) is not type(second):
        return f"{path}: {type(first).__name__} and {type(second).__name__}"
    if isinstance(first, CACHES):
        return ""
    if isinstance(first, PLAIN):
        return "" if repr(first) == repr(second) else f"{path}: {first!r} and {second!r}"
    if isinstance(first, np.ndarray | np.generic):
        same = np.asarray(first).tobytes() == np.asarray(second).tobytes()
        return "" if same and first.shape == second.shape else f"{path}: an array"
    if isinstance(first, set | frozenset):
        return "" if first == second else f"{path}: a set"
    if isinstance(first, dict):
        if list(first) != list(second):  # the order matters too
            return f"{path}: keys"
        parts = [(f"{path}[{key!r}]", first[key], second[key]) for key in first]
    elif isinstance(first, list | tuple | deque):
        if len(first) != len(second):
            return f"{path}: {len(first)} and {len(second)} items"
        parts = [(f"{path}[{n}]", *pair) for n, pair in enumerate(zip(first, second, strict=True))]
    else:
        names = _attributes(first)
        if names != _attributes(second):
            return f"{path}: attributes"
        parts = [(f"{path}.{name}", getattr(first, name), getattr(second, name)) for name in names]
    return next(filter(None, (_find(a, b, where, seen) for where, a, b in parts)), "")


def _attributes(value: object) -> list[str]:
    names = set(getattr(value, "__dict__", ()))
    for kind in type(value).__mro__:
        names |= set(getattr(kind, "__slots__", ()))
    return sorted(name for name in names - {"__weakref__", "__dict__"} if hasattr(value, name))
