"""What the simulated worlds say together: answers and curves, with their bands."""

import math
from collections.abc import Sequence
from typing import Any

from bentham.forecast.simulation import Course

LOW, MIDDLE, HIGH = 0.1, 0.5, 0.9
POINTS = 100
# No curve goes on for longer than this, times what the slowest takes to get there.
FURTHER = 1.25
Key = tuple[int, str]  # how many devices, and which policy


class Summary:
    """Courses by the number of devices and the policy."""

    def __init__(self, regret: float, drawn: Sequence[int]):
        """`regret` is the level asked for, `drawn` are the numbers of devices to draw curves of."""
        self._regret, self._drawn = regret, tuple(drawn)
        self._reached: dict[Key, list[float]] = {}
        self._courses: dict[Key, list[Course]] = {}
        self.cut = 0  # courses that were given up before they got there

    def note(self, devices: int, policy: str, course: Course) -> None:
        """One more world."""
        time = course.regret.time_to(self._regret)
        reached = math.inf if time is None else time
        self._reached.setdefault((devices, policy), []).append(reached)
        self.cut += course.cut and math.isinf(reached)
        if devices in self._drawn:
            self._courses.setdefault((devices, policy), []).append(course)

    def keep(self, worlds: int) -> None:
        """Only the first so many worlds: rows can be compared if they are of the same."""
        for times in self._reached.values():
            del times[worlds:]
        for courses in self._courses.values():
            del courses[worlds:]

    def answers(self) -> list[dict[str, Any]]:
        """When mean regret falls below the level, for each number of devices and policy."""
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
        """Mean regret over time, for the few numbers of devices that were chosen.

        Each goes as far as it was followed, but not much beyond the time at which the slowest
        gets to the level.
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
        there = max(filter(math.isfinite, reached), default=0.0)
        return FURTHER * there if there > 0.0 else math.inf


def _bands(courses: Sequence[Course], times: Sequence[float]) -> dict[str, list[float]]:
    at = [[course.regret.at(time) for course in courses] for time in times]
    shares = {"regret": MIDDLE, "low": LOW, "high": HIGH}
    return {
        name: [rounded(quantile(values, share)) for values in at] for name, share in shares.items()
    }


def quantile(values: Sequence[float], share: float) -> float:
    """The value that this share stays below, between neighbours in proportion; may be infinite."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    rest = place - below
    if rest == 0.0 or math.isinf(ordered[below]):
        return ordered[below]
    return ordered[below] + rest * (ordered[below + 1] - ordered[below])


def finite(value: float) -> float | None:
    """None where it is infinite."""
    return rounded(value) if math.isfinite(value) else None


def rounded(value: float) -> float:
    """Six digits: more are noise, and make answers long."""
    return float(f"{value:.6g}")
