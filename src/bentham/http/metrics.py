"""Prometheus metrics. Each app has its own registry, so that apps are counted separately."""

from collections import deque
from collections.abc import Mapping

import numpy as np
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from bentham.service import View

_DECISION = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0)
_COMMIT = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)
LATEST_DECISIONS = 1000
_REQUEST = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0)


class Metrics:
    """Counts what the engine does (as its observer) and what HTTP does."""

    def __init__(self) -> None:
        registry = self._registry = CollectorRegistry()
        self._decisions = Histogram(
            "bentham_decision_seconds", "Time to decide what to run.",
            buckets=_DECISION, registry=registry,
        )  # fmt: skip
        self._latest: deque[float] = deque(maxlen=LATEST_DECISIONS)
        self._commits = Histogram(
            "bentham_commit_seconds", "Time to commit a batch of events.",
            buckets=_COMMIT, registry=registry,
        )  # fmt: skip
        self._events = Counter("bentham_events", "Events committed to the log.", registry=registry)
        self._ended = Counter(
            "bentham_trials_ended", "Trials that ended.", ["outcome"], registry=registry
        )
        self._requests = Histogram(
            "bentham_request_seconds", "Time to answer a request.", ["method", "route", "status"],
            buckets=_REQUEST, registry=registry,
        )  # fmt: skip
        names = {
            "bentham_leases_lost": "Trials lost since the log began.",
            "bentham_event_log_lag": "Events applied but not yet committed.",
            "bentham_event_log_head": "Events in the log.",
            "bentham_regret_estimate": "Mean regret of open studies (estimate).",
            "bentham_devices": "Devices that are present, and those that are away.",
            "bentham_work_without_devices": "Whether work waits and no device is alive (1 or 0).",
            "bentham_devices_busy": "Devices running a trial.",
            "bentham_device_utilisation": "Busy devices divided by those that are present.",
            "bentham_studies_open": "Studies being served.",
            "bentham_ready": "Whether this instance serves (1) or not (0).",
        }
        labels = {"bentham_devices": ["presence"]}
        self._gauges = {
            name: Gauge(name, text, labels.get(name, ()), registry=registry)
            for name, text in names.items()
        }

    # -- the engine's observer

    def decided(self, seconds: float) -> None:
        """Record a decision."""
        self._decisions.observe(seconds)
        self._latest.append(seconds)

    def committed(self, events: int, seconds: float) -> None:
        """Record a commit of events."""
        self._events.inc(events)
        self._commits.observe(seconds)

    def trial_ended(self, kind: str) -> None:
        """Count a trial that ended."""
        self._ended.labels(kind.removeprefix("trial-")).inc()

    def latency(self) -> View | None:
        """Return how long the latest decisions took; None before the first since startup."""
        if not self._latest:
            return None
        median, p99 = np.percentile(self._latest, (50.0, 99.0)).tolist()
        return {"decisions": len(self._latest), "median": median, "p99": p99}

    # -- HTTP

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Record an answered request."""
        self._requests.labels(method, route, str(status)).observe(seconds)

    def page(self, gauges: Mapping[str, float | Mapping[str, float]]) -> bytes:
        """Return all metrics in the text format of Prometheus."""
        for name, value in gauges.items():
            if isinstance(value, Mapping):
                for label, each in value.items():
                    self._gauges[name].labels(label).set(each)
            else:
                self._gauges[name].set(value)
        return generate_latest(self._registry)

    def page_without_pool(self) -> bytes:
        """Return the page of an instance that does not serve: that it does not, and no more."""
        ready = self._gauges["bentham_ready"]
        ready.set(0.0)
        return generate_latest(ready)
