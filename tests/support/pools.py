"""Pools built from events, without a server, to test code that reads a pool."""

import heapq
from collections.abc import Mapping
from typing import Any

import numpy as np

from bentham.core import SharedPrior
from bentham.service.fold import events
from bentham.service.fold.pool import Pool
from bentham.service.fold.table import apply

FREE = {"running_trials": None, "device_seconds_per_day": None}
# Scores known with certainty: 'quick' is cheaper, 'good' is better.
CERTAIN = SharedPrior(["quick", "good"], [0.5, 0.9], np.zeros((2, 2)))
COSTS = {"quick": 10.0, "good": 40.0}


class Story:
    """A pool and its events, at times set by the test."""

    def __init__(self, prior: SharedPrior | None = CERTAIN):
        self.pool = Pool()
        self.now = 0.0
        described = None if prior is None else prior.describe()
        self.add(events.PoolCreated("joint", "none", 0, 3, 1.0, described))

    def add(self, event: events.Event) -> None:
        apply(self.pool, self.pool.sequence + 1, self.now, event)

    def tenant(self, name: str = "a", **limits: float) -> None:
        self.add(events.TenantCreated(name, 1.0, {**FREE, **limits}))

    def study(
        self,
        name: str,
        models: Mapping[str, float | None] = COSTS,
        tenant: str = "a",
        stop: Mapping[str, float | None] | None = None,
        **more: Any,
    ) -> None:
        if tenant not in self.pool.tenants:
            self.tenant(tenant)
        options = {"weight": 1.0, "floor": 0.0, "rows": None, "columns": None, **more}
        self.add(
            events.StudyCreated(
                id=name, tenant=tenant, name=name, dataset=name, metric="", models=dict(models),
                stop=dict(stop or {}), **options,
            )
        )  # fmt: skip

    def devices(self, count: int, kind: str = "") -> None:
        for number in range(count):
            self.add(events.DeviceRegistered(f"{kind}gpu-{number}", kind, "token"))

    def start(self, device: str) -> events.TrialLeased:
        decision = self.pool.scheduler.decide(device, {})
        assert decision is not None
        leased = events.TrialLeased(id=f"t{decision.trial}", attempt=1, decision=decision)
        self.add(leased)
        return leased

    def end(self, leased: events.TrialLeased, score: float) -> None:
        self.add(events.TrialCompleted(leased.id, score))


def lively(seed: int = 0, studies: int = 3, models: int = 5, trials: int = 6) -> Story:
    """A pool with a learned prior, some completed trials and two running ones.

    Only the first study declares costs.
    """
    story, rng = Story(prior=None), np.random.default_rng(seed)
    names = [f"m{model}" for model in range(models)]
    truth = 0.7 + 0.1 * rng.standard_normal((studies, models))
    for study in range(studies):
        costs = {name: None if study else float(rng.uniform(5, 20)) for name in names}
        story.study(f"s{study}", costs)
    story.devices(2)
    running = [(rng.uniform(1, 9), story.start(f"gpu-{number}")) for number in range(2)]
    heap = [(time, place, leased) for place, (time, leased) in enumerate(running)]
    heapq.heapify(heap)
    for number in range(trials):
        story.now, _, leased = heapq.heappop(heap)
        decision = leased.decision
        story.end(leased, float(truth[int(decision.study[1:]), int(decision.model[1:])]))
        following = story.start(str(decision.device))
        heapq.heappush(heap, (story.now + rng.uniform(1, 9), number + 2, following))
    return story
