"""What a worker asks of an executor: two small protocols.

The worker calls from one thread and drives many trials at once, so nothing here may wait: `start`
returns once the trial is under way, `poll` looks and `kill` does not ask twice.
"""

from dataclasses import dataclass
from typing import Protocol, TypeAlias

from bentham.wire import Lease


@dataclass(frozen=True, slots=True)
class Scored:
    """The trial ended with a score; larger is better."""

    score: float


@dataclass(frozen=True, slots=True)
class Broken:
    """The trial ended without a score; `final` says that another try would end so, too."""

    reason: str
    final: bool = False


@dataclass(frozen=True, slots=True)
class Declined:
    """This executor cannot run the trial, though another might: it is given back untried."""

    reason: str


Outcome: TypeAlias = Scored | Broken | Declined


class Running(Protocol):
    """A trial under way."""

    def poll(self) -> Outcome | None:
        """What came of it, the same whenever asked; None while it runs."""
        ...

    def kill(self) -> None:
        """End it now, with all that it started; harmless when it has ended, and a second time."""
        ...


class Executor(Protocol):
    """Runs trials, as many at a time as the worker has devices."""

    def start(self, lease: Lease) -> Running:
        """Begin a trial. What cannot be run is not raised: it is a trial that ends Broken."""
        ...
