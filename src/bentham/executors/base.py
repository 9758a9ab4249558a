"""The interface between a worker and an executor: two small protocols.

The worker drives many trials from one thread, so no method here may block: `start` returns once
the trial is under way, `poll` only checks it, and `kill` gives it no grace period.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from bentham.wire import Lease

LARGEST_LOG = 64 * 2**10  # maximum size of an uploaded trial log, in bytes
LARGEST_MODEL = 128 * 2**20  # maximum size of the file of a fitted model, in bytes


@dataclass(frozen=True, slots=True)
class Scored:
    """The trial ended with a score; larger is better.

    `metrics` are other metrics by name; `scores` are the scores so far, such as one per fold;
    `look` is a look at the model (see `training.look`), if one was wanted.
    """

    score: float
    metrics: Mapping[str, float] = field(default_factory=dict)
    scores: Sequence[float] = ()
    look: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Fitted:
    """The trial ended with the file of a fitted model, and the versions of what it needs."""

    content: bytes
    versions: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Broken:
    """The trial ended without a score; `final` means that a retry would fail the same way."""

    reason: str
    final: bool = False


@dataclass(frozen=True, slots=True)
class Declined:
    """This executor cannot run the trial, but another might: it is released without being run.

    `unable` means that this executor can never run it, for example because the algorithm is not
    installed. Otherwise the machine cannot run it at the moment, and the server may assign the
    same trial again.
    """

    reason: str
    unable: bool = False


Outcome: TypeAlias = Scored | Fitted | Broken | Declined


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a trial from 0 to 1 (None: unknown), and its scores so far."""

    share: float | None = None
    scores: tuple[float, ...] = ()


class Running(Protocol):
    """A running trial."""

    def poll(self) -> Outcome | None:
        """Return the outcome, the same on every call; None while the trial runs."""
        ...

    def kill(self) -> None:
        """Kill the trial and everything it started; harmless if it has ended or on repetition."""
        ...

    def progress(self) -> Progress:
        """Return the current progress."""
        ...

    def log(self) -> bytes:
        """Return what it printed, at most `LARGEST_LOG` bytes; final once it has ended."""
        ...


class Executor(Protocol):
    """Runs trials, as many at a time as the worker has devices."""

    def start(self, lease: Lease) -> Running:
        """Start a trial. Does not raise if the trial cannot run: that is an outcome, too."""
        ...

    def slots(self) -> Sequence[str] | None:
        """Return the names of the slots, each for one trial; None if the worker sets their number.

        Slots may appear and disappear. Each is a device of the worker, and its name is the
        device's name, which it keeps while it exists. A lease names its device, so the executor
        knows where to run the trial.
        """
        ...

    def close(self) -> None:
        """End all running trials and release all resources; harmless on repetition."""
        ...
