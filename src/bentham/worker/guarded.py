"""A trial behind a guard: whatever an executor raises or says fails a trial, not the worker."""

from collections.abc import Mapping, Sequence
from math import isfinite

from bentham.executors import Broken, Declined, Executor, Outcome, Progress, Running, Scored
from bentham.executors.outcomes import cause
from bentham.wire import Lease
from bentham.wire.base import LARGEST, LONGEST_NAME
from bentham.wire.devices import MOST_METRICS, MOST_SCORES


class Guarded:
    """A trial that was started, or could not be; its figures are such as the server takes."""

    def __init__(self, executor: Executor, lease: Lease):
        self._running: Running | None = None
        self._stillborn: Outcome | None = None
        try:
            self._running = executor.start(lease)
        except Exception as error:
            self._stillborn = Declined(f"could not be started: {cause(error)}")

    def poll(self) -> Outcome | None:
        """What came of it."""
        if self._running is None:
            return self._stillborn
        try:
            outcome = self._running.poll()
            if not isinstance(outcome, Scored):
                return outcome
            if not isfinite(outcome.score):
                return Broken(f"the score is {outcome.score}, not a finite number", final=True)
            return Scored(outcome.score, _metrics(outcome.metrics), _scores(outcome.scores))
        except Exception as error:
            return Broken(f"the executor failed: {cause(error)}")

    def kill(self) -> None:
        """End it; a second time and after its end that is harmless."""
        if self._running is not None:
            self._running.kill()

    def progress(self) -> Progress:
        """How far it is; nothing is known where that cannot be told."""
        try:
            told = Progress() if self._running is None else self._running.progress()
            share = told.share
            good = share is not None and 0.0 <= share <= 1.0
            return Progress(share if good else None, tuple(_scores(told.scores)))
        except Exception:
            return Progress()

    def log(self) -> bytes:
        """What it printed."""
        try:
            return b"" if self._running is None else self._running.log()
        except Exception:
            return b""


def _scores(scores: Sequence[float]) -> list[float]:
    return [score for score in scores if abs(score) <= LARGEST][-MOST_SCORES:]


def _metrics(metrics: Mapping[str, float]) -> dict[str, float]:
    """Those that can be stored: a figure that cannot is no reason to lose a score."""
    good = {
        name: value
        for name, value in metrics.items()
        if abs(value) <= LARGEST
        and name.isprintable()
        and name.strip()
        and len(name) <= LONGEST_NAME
    }
    return dict(list(good.items())[:MOST_METRICS])
