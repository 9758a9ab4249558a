"""The lease of one trial: when to renew it, and when it must be taken for lost.

All times are the worker's own. The server began to count after a request was *sent*, so a lease
counted from the sending ends here before it ends there, whatever the network does.
"""

from bentham.wire import Lease, Renewal

# Of a lease, the part after which a trial that could not be renewed is killed.
KILL_AFTER = 0.8
SHORTEST = 0.05
LONGEST_TIMEOUT = 10.0


class Lifeline:
    """Told of what was sent and acknowledged; asked what is due."""

    def __init__(self, lease: Lease, sent: float):
        self._acknowledged = sent
        self.heard = True  # whether the last heartbeat was answered: then there may be more
        self._measure(lease)
        self.due = sent + self._heartbeat_seconds

    def renewed(self, sent: float, renewal: Renewal) -> None:
        """A heartbeat that was sent then was acknowledged."""
        self._acknowledged = sent
        self.heard = True
        self._measure(renewal)
        self.due = sent + self._heartbeat_seconds

    def missed(self, now: float) -> None:
        """A heartbeat was not answered: try again sooner than otherwise."""
        self.heard = False
        self.due = now + self._heartbeat_seconds / 4.0

    @property
    def kill_at(self) -> float:
        """When a trial that still runs has to be killed."""
        return self._acknowledged + KILL_AFTER * self._lease_seconds

    @property
    def timeout(self) -> float:
        """How long a request may take: connecting and answering together one heartbeat."""
        return min(LONGEST_TIMEOUT, self._heartbeat_seconds / 2.0)

    def fresh(self, now: float) -> bool:
        """Whether there is time enough to begin, or a heartbeat has to come first."""
        return now < self._acknowledged + KILL_AFTER / 2.0 * self._lease_seconds

    def _measure(self, source: Lease | Renewal) -> None:
        # In this order, so that what is no number becomes the shortest.
        self._lease_seconds = max(SHORTEST, source.lease_seconds)
        self._heartbeat_seconds = max(
            SHORTEST / 4.0, min(source.heartbeat_seconds, self._lease_seconds / 4.0)
        )
