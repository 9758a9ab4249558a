"""Guards the worker: an executor's errors and invalid values affect one trial only."""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from pydantic import ValidationError

from bentham.executors import Broken, Declined, Executor, Outcome, Progress, Running, Scored
from bentham.executors.outcomes import cause
from bentham.wire import Lease, ModelLook
from bentham.wire.base import LARGEST, LONGEST_NAME
from bentham.wire.devices import MOST_METRICS, MOST_SCORES


class Guarded:
    """A trial that was started or declined; passes on only values that the server accepts."""

    def __init__(self, executor: Executor, lease: Lease):
        self._running: Running | None = None
        self._start_outcome: Outcome | None = None
        try:
            self._running = executor.start(lease)
        except Exception as error:
            self._start_outcome = Declined(f"could not be started: {cause(error)}")

    def poll(self) -> Outcome | None:
        """Return the outcome; None while the trial runs."""
        if self._running is None:
            return self._start_outcome
        try:
            outcome = self._running.poll()
            if not isinstance(outcome, Scored):
                return outcome
            if not isfinite(outcome.score):
                return Broken(f"the score is {outcome.score}, not a finite number", final=True)
            metrics, scores = _metrics(outcome.metrics), _scores(outcome.scores)
            return Scored(outcome.score, metrics, scores, _look(outcome.look))
        except Exception as error:
            return Broken(f"the executor failed: {cause(error)}")

    def kill(self) -> None:
        """Kill the trial; no effect if it has ended."""
        if self._running is not None:
            self._running.kill()

    def progress(self) -> Progress:
        """Return the progress; empty if the executor cannot report it."""
        try:
            progress = Progress() if self._running is None else self._running.progress()
            share = progress.share
            valid = share is not None and 0.0 <= share <= 1.0
            return Progress(share if valid else None, tuple(_scores(progress.scores)))
        except Exception:
            return Progress()

    def log(self) -> bytes:
        """Return the output of the trial."""
        try:
            return b"" if self._running is None else self._running.log()
        except Exception:
            return b""


def _scores(scores: Sequence[float]) -> list[float]:
    return [score for score in scores if abs(score) <= LARGEST][-MOST_SCORES:]


def _look(look: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return a look that the server accepts; an invalid one must not lose the score."""
    try:
        found = None if look is None else ModelLook.model_validate(dict(look))
    except ValidationError:
        return None
    return None if found is None else found.model_dump(exclude_none=True)


def _metrics(metrics: Mapping[str, float]) -> dict[str, float]:
    """Return the metrics that the server accepts; an invalid one must not lose the score."""
    valid = {
        name: value
        for name, value in metrics.items()
        if abs(value) <= LARGEST
        and name.isprintable()
        and name.strip()
        and len(name) <= LONGEST_NAME
    }
    return dict(list(valid.items())[:MOST_METRICS])
