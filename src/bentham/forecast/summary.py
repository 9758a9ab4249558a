"""Summarises the simulated worlds: answers and curves, with their bands."""

import math
from collections.abc import Sequence
from typing import Any

from bentham.forecast.simulation import Course

LOW, MIDDLE, HIGH = 0.1, 0.5, 0.9
POINTS = 100
# Curves end at this multiple of the time at which the slowest of them reaches the level.
FURTHER = 1.25
Key = tuple[int, str]  # the number of devices, and the policy


class Summary:
    """The simulated courses, by number of devices and policy."""

    def __init__(self, regret: float, drawn: Sequence[int]):
        """`regret` is the requested level; curves are drawn for the numbers of devices `drawn`."""
        self._regret, self._drawn = regret, tuple(drawn)
        self._reached: dict[Key, list[float]] = {}  # when each world reached the level
        self._courses: dict[Key, list[Course]] = {}
        self.cut = 0  # the number of courses that were stopped before they reached the level

    def add(self, devices: int, policy: str, course: Course) -> None:
        """Add the course of one world."""
        time = course.regret.time_to(self._regret)
        reached = math.inf if time is None else time
        self._reached.setdefault((devices, policy), []).append(reached)
        self.cut += course.cut and math.isinf(reached)
        if devices in self._drawn:
            self._courses.setdefault((devices, policy), []).append(course)

    def truncate(self, worlds: int) -> None:
        """Keep only the first `worlds` worlds: rows are comparable only over the same worlds."""
        for times in self._reached.values():
            del times[worlds:]
        for courses in self._courses.values():
            del courses[worlds:]

    def answers(self) -> list[dict[str, Any]]:
        """Return when mean regret falls below the level, by number of devices and policy."""
        return [
            {
                "devices": devices,
                "policy": policy,
                "median": finite(quantile(times, MIDDLE)),
                "low": finite(quantile(times, LOW)),
                "high": finite(quantile(times, HIGH)),
                "reached": sum(map(math.isfinite, times)) / len(times),
            }
            for (devices, policy), times in sorted(self._reached.items())
        ]

    def curves(self) -> list[dict[str, Any]]:
        """Return mean regret over time, for the numbers of devices chosen for curves.

        Each curve covers the simulated time, but not much beyond the time at which the slowest
        reaches the level.
        """
        horizon = self._horizon()
        curves = []
        for devices, policy in sorted(self._courses):
            courses = self._courses[devices, policy]
            end = min(horizon, max(course.regret.curve[-1][0] for course in courses))
            times = [rounded(end * point / (POINTS - 1)) for point in range(POINTS)]
            bands = _bands(courses, times)
            curves.append({"devices": devices, "policy": policy, "times": times, **bands})
        return curves

    def _horizon(self) -> float:
        reached = [quantile(self._reached[key], HIGH) for key in self._courses]
        slowest = max(filter(math.isfinite, reached), default=0.0)
        return FURTHER * slowest if slowest > 0.0 else math.inf


def _bands(courses: Sequence[Course], times: Sequence[float]) -> dict[str, list[float]]:
    at = [[course.regret.at(time) for course in courses] for time in times]
    shares = {"regret": MIDDLE, "low": LOW, "high": HIGH}
    return {
        name: [rounded(quantile(values, share)) for values in at] for name, share in shares.items()
    }


def quantile(values: Sequence[float], share: float) -> float:
    """Return a quantile, interpolated linearly; it may be infinite."""
    ordered = sorted(values)
    position = share * (len(ordered) - 1)
    below = math.floor(position)
    rest = position - below
    if rest == 0.0 or math.isinf(ordered[below]):
        return ordered[below]
    return ordered[below] + rest * (ordered[below + 1] - ordered[below])


def finite(value: float) -> float | None:
    """Return the rounded value, or None if it is infinite."""
    return rounded(value) if math.isfinite(value) else None


def rounded(value: float) -> float:
    """Round to six significant digits: more would be noise and make replies long."""
    return float(f"{value:.6g}")
