"""The interface for metrics about the engine."""

from typing import Protocol


class Observer(Protocol):
    """Notified of every decision, commit and end of a trial."""

    def decided(self, seconds: float) -> None:
        """Record how long a decision took."""

    def committed(self, events: int, seconds: float) -> None:
        """Record the number of events of a commit, and how long it took."""

    def trial_ended(self, kind: str) -> None:
        """Record that a trial ended, by an event of this kind."""


class SilentObserver:
    """Records nothing."""

    def decided(self, seconds: float) -> None:
        """Do nothing."""

    def committed(self, events: int, seconds: float) -> None:
        """Do nothing."""

    def trial_ended(self, kind: str) -> None:
        """Do nothing."""
