"""The number of trials that ended recently, in total and by tenant, counted by the minute."""

MINUTE, MINUTES = 60.0, 60


class Throughput:
    """Counts of the last hour."""

    def __init__(self) -> None:
        self._minutes: dict[int, dict[str, int]] = {}

    def note(self, time: float, tenant: str) -> None:
        """Count a trial of a tenant that ended."""
        minute = int(time // MINUTE)
        if minute not in self._minutes:
            self._minutes = {
                old: counts for old, counts in self._minutes.items() if old > minute - MINUTES
            }
            self._minutes[minute] = {}
        counts = self._minutes[minute]
        counts[tenant] = counts.get(tenant, 0) + 1

    def ended(self, now: float, minutes: int, tenant: str | None = None) -> int:
        """Return the number of trials that ended in the last minutes, of one tenant or of all."""
        first = int(now // MINUTE) - minutes
        return sum(
            sum(counts.values()) if tenant is None else counts.get(tenant, 0)
            for minute, counts in self._minutes.items()
            if minute > first
        )
