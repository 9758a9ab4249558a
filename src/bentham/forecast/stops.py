"""Stop rules in a simulation: a study that meets one is served no more."""

import math
from collections import Counter

from bentham.core import Scheduler
from bentham.forecast.course import Meter
from bentham.forecast.situation import OpenStudy, RunningTrial, Situation

# Of what a study says that it wants in all.
TRIALS, COST, DEADLINE, GAIN = "trials", "cost", "deadline", "expected_gain"


class Stops:
    """Which studies are to end, and when."""

    def __init__(self, situation: Situation, scheduler: Scheduler, meter: Meter):
        self._scheduler, self._meter = scheduler, meter
        ruled = [
            study
            for study in situation.studies
            if any(value is not None for value in study.stop.values())
        ]
        self._studies = {study.id: study for study in ruled}
        self._trials = {study.id: study.trials for study in ruled}
        self._seconds = {study.id: study.device_seconds for study in ruled}
        self._begun = {trial.number: -trial.elapsed for trial in situation.running}
        self._busy = Counter(trial.dataset for trial in situation.running)
        self._deadlines = sorted(
            (float(deadline) - situation.now, study.id)
            for study in ruled
            if (deadline := study.stop.get(DEADLINE)) is not None
        )

    def started(self, trial: RunningTrial, time: float) -> None:
        """A trial runs: a study may have as many as it wants."""
        if not self._studies:
            return
        self._begun[trial.number] = time
        self._busy[trial.dataset] += 1
        study = self._studies.get(trial.study)
        if study is not None:
            self._trials[study.id] += 1
            if self._trials[study.id] >= (study.stop.get(TRIALS) or math.inf):
                self._end(study.id)

    def ended(self, trial: RunningTrial, time: float) -> None:
        """A trial ended: a study may have used what it wanted, or expect no more."""
        if not self._studies:
            return
        self._busy[trial.dataset] -= 1
        study = self._studies.get(trial.study)
        if study is not None:
            self._seconds[study.id] += time - self._begun.pop(trial.number)
            if self._seconds[study.id] >= (study.stop.get(COST) or math.inf):
                self._end(study.id)
        for _, listing in self._meter.listing(trial.dataset, trial.model):
            if listing.id in self._studies:
                self._look(listing)

    def pass_time(self, time: float) -> None:
        """Deadlines go by."""
        while self._deadlines and self._deadlines[0][0] <= time:
            self._end(self._deadlines.pop(0)[1])

    def _look(self, study: OpenStudy) -> None:
        level = study.stop.get(GAIN)
        if level is None or self._busy[study.dataset]:  # what runs may still raise the best
            return
        if self._scheduler.prospect(study.id) < level:
            self._end(study.id)

    def _end(self, study: str) -> None:
        if self._studies.pop(study, None) is not None:
            self._scheduler.remove_study(study)
