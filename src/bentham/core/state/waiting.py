"""How long studies have waited: the longest waiting of each tenant is at hand.

Waiting is counted in decisions. Every study with something left to try waits from when it was
opened, or when an arm of its was last picked.
"""

import bisect
from collections.abc import Container

from bentham.core.state.study_state import StudyState


class Waiting:
    """Open studies: in the order they were added, and of each tenant the longest waiting first."""

    def __init__(self) -> None:
        # By tenant, then by the study's order: which decision was next when it last was served.
        # A dict keeps what was entered first in front, so nobody is ever sought.
        self._since: dict[str, dict[int, int]] = {}
        self.orders: list[int] = []  # ascending

    def copy(self) -> "Waiting":
        """Return an independent copy."""
        made = Waiting()
        made.orders = list(self.orders)
        made._since = {tenant: dict(since) for tenant, since in self._since.items()}
        return made

    def served(self, study: StudyState, decision: int) -> None:
        """The study was opened or served just now; `decision` is the next one's number."""
        if study.open_arms:
            waiting = self._since.setdefault(study.tenant, {})
            if waiting.pop(study.order, None) is None:
                bisect.insort(self.orders, study.order)
            waiting[study.order] = decision

    def note(self, study: StudyState, decision: int) -> None:
        """The study may have something to try where it had nothing, or nothing any more."""
        waiting = self._since.get(study.tenant, {})
        if study.open_arms and study.order not in waiting:
            self.served(study, decision)
        elif not study.open_arms and waiting.pop(study.order, None) is not None:
            del self.orders[bisect.bisect_left(self.orders, study.order)]
            if not waiting:
                del self._since[study.tenant]

    def starved(self, decision: int, patience: int, barred: Container[str] = ()) -> int | None:
        """The order of a study that must be served now, so that none waits for too long.

        Up to all the open studies may have to be served one after the other, so the guard begins
        that many decisions before patience runs out. Then nobody is passed over more often than
        `patience` says, unless more studies are open than that: these then simply take turns.
        """
        oldest: tuple[int, int] | None = None
        for tenant, waiting in self._since.items():
            if tenant not in barred:
                order, since = next(iter(waiting.items()))
                oldest = (since, order) if oldest is None else min(oldest, (since, order))
        if oldest is None or decision - oldest[0] < max(0, patience - len(self.orders)):
            return None
        return oldest[1]
