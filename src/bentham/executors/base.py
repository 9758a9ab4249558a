"""What a worker asks of an executor: two small protocols.

The worker calls from one thread and drives many trials at once, so nothing here may wait: `start`
returns once the trial is under way, `poll` looks and `kill` does not ask twice.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from bentham.wire import Lease

LARGEST_LOG = 64 * 2**10  # what is uploaded of a trial's log, in bytes


@dataclass(frozen=True, slots=True)
class Scored:
    """The trial ended with a score; larger is better.

    `metrics` are other figures of it by name, `scores` those on the way, as of each fold.
    """

    score: float
    metrics: Mapping[str, float] = field(default_factory=dict)
    scores: Sequence[float] = ()


@dataclass(frozen=True, slots=True)
class Broken:
    """The trial ended without a score; `final` says that another try would end so, too."""

    reason: str
    final: bool = False


@dataclass(frozen=True, slots=True)
class Declined:
    """This executor cannot run the trial, though another might: it is given back untried.

    `unable` says that this one never can, as where the algorithm is not installed; else it is the
    machine that cannot just now, and the same trial may come again.
    """

    reason: str
    unable: bool = False


Outcome: TypeAlias = Scored | Broken | Declined


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a trial is, from 0 to 1 (None: it does not say), and its scores so far."""

    share: float | None = None
    scores: tuple[float, ...] = ()


class Running(Protocol):
    """A trial under way."""

    def poll(self) -> Outcome | None:
        """What came of it, the same whenever asked; None while it runs."""
        ...

    def kill(self) -> None:
        """End it now, with all that it started; harmless when it has ended, and a second time."""
        ...

    def progress(self) -> Progress:
        """How far it is."""
        ...

    def log(self) -> bytes:
        """What it printed, at most `LARGEST_LOG` bytes; whole once it has ended."""
        ...


class Executor(Protocol):
    """Runs trials, as many at a time as the worker has devices."""

    def start(self, lease: Lease) -> Running:
        """Begin a trial. What cannot be run is not raised: that is an outcome, too."""
        ...

    def slots(self) -> Sequence[str] | None:
        """The names of what can run a trial each, where they come and go; None: as many as asked.

        Each is a device of the worker, named by its slot. A slot keeps its name while it lives,
        and a trial's lease names its device, so that the executor knows where to run it.
        """
        ...

    def close(self) -> None:
        """End all that runs and free what is held; harmless a second time."""
        ...
