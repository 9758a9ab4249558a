"""The lease of one trial: when to renew it, and when to consider it lost.

All times are from the worker's clock. The server starts a lease after the request was *sent*, so a
lease counted from the time of sending expires here before it expires there, whatever the network
delay.
"""

from bentham.wire import Lease, Renewal

# Fraction of the lease after which a trial whose lease was not renewed is killed.
KILL_AFTER = 0.8
SHORTEST = 0.05
LONGEST_TIMEOUT = 10.0


class Lifeline:
    """Tracks sent and acknowledged requests; knows when the next heartbeat is due."""

    def __init__(self, lease: Lease, sent: float):
        self._acknowledged = sent
        # Whether the last heartbeat was answered; early ones are sent only then.
        self.answered = True
        self._measure(lease)
        self.due = sent + self._heartbeat_seconds

    def renewed(self, sent: float, renewal: Renewal) -> None:
        """Record that the heartbeat sent at `sent` was acknowledged."""
        self._acknowledged = sent
        self.answered = True
        self._measure(renewal)
        self.due = sent + self._heartbeat_seconds

    def missed(self, now: float) -> None:
        """Record that a heartbeat was not answered; the next one is due sooner."""
        self.answered = False
        self.due = now + self._heartbeat_seconds / 4.0

    @property
    def kill_at(self) -> float:
        """When the trial must be killed if it still runs."""
        return self._acknowledged + KILL_AFTER * self._lease_seconds

    @property
    def timeout(self) -> float:
        """Timeout of a request: connecting and responding take at most one heartbeat interval."""
        return min(LONGEST_TIMEOUT, self._heartbeat_seconds / 2.0)

    def fresh(self, now: float) -> bool:
        """Whether enough of the lease is left to start; if not, a heartbeat must succeed first."""
        return now < self._acknowledged + KILL_AFTER / 2.0 * self._lease_seconds

    def _measure(self, source: Lease | Renewal) -> None:
        # The order of the arguments matters: it turns NaN into the minimum.
        self._lease_seconds = max(SHORTEST, source.lease_seconds)
        self._heartbeat_seconds = max(
            SHORTEST / 4.0, min(source.heartbeat_seconds, self._lease_seconds / 4.0)
        )
