"""How long studies have waited, in decisions.

A study with models left to try has waited since it was opened or since one of its arms was last
picked. The study of each tenant that has waited longest is found in constant time.
"""

import bisect
from collections.abc import Container

from bentham.core.state.study_state import StudyState


class Waiting:
    """The open studies: in the order they were added, and by tenant, longest waiting first."""

    def __init__(self) -> None:
        # By tenant, then by the study's order: the number of the next decision when the study was
        # last served. A dict keeps insertion order, so the first entry has waited longest.
        self._since: dict[str, dict[int, int]] = {}
        self.orders: list[int] = []  # ascending

    def copy(self) -> "Waiting":
        """Return an independent copy."""
        made = Waiting()
        made.orders = list(self.orders)
        made._since = {tenant: dict(since) for tenant, since in self._since.items()}
        return made

    def mark_served(self, study: StudyState, decision: int) -> None:
        """Restart the waiting of a study; `decision` is the number of the next decision."""
        if study.open_arms:
            waiting = self._since.setdefault(study.tenant, {})
            if waiting.pop(study.order, None) is None:
                bisect.insort(self.orders, study.order)
            waiting[study.order] = decision

    def update(self, study: StudyState, decision: int) -> None:
        """Add a study that now has models left to try; remove one that has none left."""
        waiting = self._since.get(study.tenant, {})
        if study.open_arms and study.order not in waiting:
            self.mark_served(study, decision)
        elif not study.open_arms and waiting.pop(study.order, None) is not None:
            del self.orders[bisect.bisect_left(self.orders, study.order)]
            if not waiting:
                del self._since[study.tenant]

    def starved(
        self,
        decision: int,
        patience: int,
        barred: Container[str] = (),
        satisfied: Container[int] = (),
    ) -> int | None:
        """Return the order of a study that must be served now; None if no study must.

        Neither studies of `barred` tenants nor those in `satisfied` must be served.

        All open studies may have to be served one after the other, so the guard starts that many
        decisions before patience runs out. So no study is passed over more than `patience` times,
        unless more studies than that are open: these then take turns.
        """
        oldest: tuple[int, int] | None = None
        for tenant, waiting in self._since.items():
            if tenant in barred:
                continue
            for order, since in waiting.items():
                if order not in satisfied:
                    oldest = (since, order) if oldest is None else min(oldest, (since, order))
                    break
        if oldest is None or decision - oldest[0] < max(0, patience - len(self.orders)):
            return None
        return oldest[1]
