"""Who counts what the engine does."""

from typing import Protocol


class Observer(Protocol):
    """Told of every decision, commit and end of a trial."""

    def decided(self, seconds: float) -> None:
        """A decision was made, in so many seconds."""

    def committed(self, events: int, seconds: float) -> None:
        """Events were committed."""

    def trial_ended(self, kind: str) -> None:
        """A trial ended, by an event of this kind."""


class SilentObserver:
    """Does not count."""

    def decided(self, seconds: float) -> None:
        """Nothing."""

    def committed(self, events: int, seconds: float) -> None:
        """Nothing."""

    def trial_ended(self, kind: str) -> None:
        """Nothing."""
