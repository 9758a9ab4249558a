"""Mean regret as one simulated world takes its course."""

import bisect
import math
from dataclasses import dataclass, field

from bentham.core.worlds.draws import Draw
from bentham.forecast.situation import OpenStudy, Situation


@dataclass(slots=True)
class Course:
    """When mean regret fell to what; `cut` says that decisions ran out."""

    times: list[float] = field(default_factory=list)
    regrets: list[float] = field(default_factory=list)
    cut: bool = False

    def note(self, time: float, regret: float) -> None:
        """From this time on it is so much."""
        if not self.regrets or regret != self.regrets[-1]:
            self.times.append(time)
            self.regrets.append(regret)

    def reached(self, level: float) -> float:
        """The first time at which it was no more than that; infinite if it never was."""
        for time, regret in zip(self.times, self.regrets, strict=True):
            if regret <= level:
                return time
        return math.inf

    def at(self, time: float) -> float:
        """What it was then; after the end, as at the end."""
        return self.regrets[max(0, bisect.bisect_right(self.times, time) - 1)]


class Meter:
    """The mean over studies of how far each is from the best that it can find in a world."""

    def __init__(self, situation: Situation, draw: Draw):
        self._studies = situation.studies
        bests = draw.bests()
        self._best = [bests[study.id] for study in self._studies]
        self._value = [study.value for study in self._studies]
        self._scored = [study.scored for study in self._studies]
        gaps = [max(0.0, best - value) for best, value in zip(self._best, self._value, strict=True)]
        self._gaps, self._total = gaps, math.fsum(gaps)
        self._open = sum(gap > 0.0 for gap in gaps)
        self._places: dict[str, list[int]] = {}
        for place, study in enumerate(self._studies):
            self._places.setdefault(study.dataset, []).append(place)

    def listing(self, dataset: str, model: str) -> list[tuple[int, OpenStudy]]:
        """The studies that an arm serves, with their places."""
        places = self._places.get(dataset, ())
        found = ((place, self._studies[place]) for place in places)
        return [(place, study) for place, study in found if model in study.models]

    def observe(self, dataset: str, model: str, score: float) -> None:
        """An arm's score is known."""
        for place, _ in self.listing(dataset, model):
            if score > self._value[place] or not self._scored[place]:
                self._value[place], self._scored[place] = score, True
                before, after = self._gaps[place], max(0.0, self._best[place] - score)
                self._gaps[place] = after
                self._total += after - before
                self._open += (after > 0.0) - (before > 0.0)

    @property
    def mean(self) -> float:
        """Mean regret now."""
        # When every study has its best, no rounding is left.
        return max(0.0, self._total) / len(self._studies) if self._open else 0.0
