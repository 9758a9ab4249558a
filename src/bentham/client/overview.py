"""Calls for the state of the pool, or of a tenant's part: now, over time, and per study."""

from collections.abc import Sequence

from bentham.client.calls import Calls
from bentham.client.connection import segment
from bentham.wire import Heatmap, Next, Overview, StatusView, Timeline, Trend


class OverviewCalls(Calls):
    """The overview, its history, and what would run next."""

    def overview(self) -> Overview:
        """Return a summary of the pool, or of a tenant's part of it."""
        return self._get("/v1/overview", Overview)

    def status(self, limit: int = 20) -> StatusView:
        """Return what runs now, for whom, and why nothing else does; up to `limit` of each."""
        query = {"limit": limit}
        return self._connection.ask("GET", "/v1/status", StatusView, parameters=query)

    def trend(self, seconds: float | None = None, points: int = 300) -> Trend:
        """Return mean regret over the last `seconds`, or over all time."""
        query = {"seconds": seconds, "points": points}
        return self._connection.ask("GET", "/v1/trend", Trend, parameters=query)

    def timeline(self, seconds: float = 3600.0, limit: int = 2000) -> Timeline:
        """Return which device ran which trial in the last `seconds`."""
        query = {"seconds": seconds, "limit": limit}
        return self._connection.ask("GET", "/v1/timeline", Timeline, parameters=query)

    def heatmap(
        self, studies: Sequence[str] | None = None, after: str | None = None, limit: int = 50
    ) -> Heatmap:
        """Return studies by models: up to 50 studies by id, or the `limit` newest after one."""
        ids = None if studies is None else ",".join(studies)
        query = {"studies": ids, "after": after, "limit": limit}
        return self._connection.ask("GET", "/v1/heatmap", Heatmap, parameters=query)

    def next_model(self, study_id: str) -> Next:
        """Return the model that would run next for a study, and why."""
        return self._get(f"/v1/studies/{segment('study', study_id)}/next", Next)
