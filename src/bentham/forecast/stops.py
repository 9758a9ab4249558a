"""Stop rules in a simulation: a study that meets one is no longer served."""

from functools import partial

from bentham.core import Scheduler
from bentham.core.problem.stop_rules import (
    DEADLINE,
    StudyProgress,
    has_rule,
    stop_reason,
    trial_limit_reached,
)
from bentham.core.worlds.virtual_time import VirtualPool
from bentham.forecast.starting_point import Listers, OpenStudy, RunningTrial, StartingPoint


class _Counts:
    """The progress of one study that its stop rules depend on."""

    def __init__(self, study: OpenStudy, running: dict[tuple[str, str], int]):
        self.study = study
        self.ended, self.seconds = study.ended, study.device_seconds
        self.own = study.running  # the number of its own running trials
        # Running trials of its models, its own and those of other studies on the same data.
        self.running = sum(
            count
            for (dataset, model), count in running.items()
            if dataset == study.dataset and model in study.models
        )
        self.untried = study.untried
        self.scored = study.scored


class Stops:
    """Ends the studies that meet a stop rule. Studies without one cost nothing."""

    def __init__(
        self, start: StartingPoint, scheduler: Scheduler, listers: Listers, pool: VirtualPool
    ):
        self._scheduler, self._listers, self._now = scheduler, listers, start.now
        self._start_times = {trial.number: -trial.elapsed for trial in start.running}
        running: dict[tuple[str, str], int] = {}
        for trial in start.running:
            arm = trial.dataset, trial.model
            running[arm] = running.get(arm, 0) + 1
        self._counts = {
            study.id: _Counts(study, running) for study in start.studies if has_rule(study.stop)
        }
        for counts in self._counts.values():
            deadline = counts.study.stop.get(DEADLINE)
            if deadline is not None:
                time = max(0.0, float(deadline) - start.now)
                pool.at(time, partial(self._end, counts.study.id))

    def started(self, trial: RunningTrial, time: float) -> None:
        """Record that a trial started."""
        if not self._counts:
            return
        self._start_times[trial.number] = time
        for _, study in self._listers.of(trial.dataset, trial.model):
            if (counts := self._counts.get(study.id)) is not None:
                counts.running += 1
                counts.untried -= 1
        if (own := self._counts.get(trial.study)) is not None:
            own.own += 1
            if trial_limit_reached(own.study.stop, own.own + own.ended):
                self._end(trial.study)

    def ended(self, trial: RunningTrial, time: float) -> None:
        """Record that a trial ended with a score."""
        if not self._counts:
            return
        started = self._start_times.pop(trial.number)
        if (own := self._counts.get(trial.study)) is not None:
            own.own -= 1
            own.ended += 1
            own.seconds += time - started
        for _, study in self._listers.of(trial.dataset, trial.model):
            if (counts := self._counts.get(study.id)) is not None:
                counts.running -= 1
                counts.scored = True
                if stop_reason(study.stop, self._progress(counts), self._now + time) is not None:
                    self._end(study.id)

    def _progress(self, counts: _Counts) -> StudyProgress:
        return StudyProgress(
            ended=counts.ended,
            device_seconds=counts.seconds,
            scored=counts.scored,
            untried=counts.untried > 0,
            perfect=False,  # drawn scores have no maximum
            running=lambda: counts.running > 0,
            prospect=partial(self._scheduler.prospect, counts.study.id),
        )

    def _end(self, study: str) -> None:
        if self._counts.pop(study, None) is not None:
            self._scheduler.remove_study(study)
