"""Views of the catalogue: algorithms and metrics."""

from typing import Any

from bentham.training.metrics import MetricSpec
from bentham.training.spaces import AlgorithmSpec


def algorithm_view(spec: AlgorithmSpec) -> dict[str, Any]:
    """Return the view of an algorithm; `space` describes in words what may vary."""
    return {
        "name": spec.name,
        "title": spec.title,
        "family": spec.family,
        "tasks": list(spec.tasks),
        "needs_data": spec.needs_data,
        "configuration": dict(spec.defaults),
        "space": {name: str(space) for name, space in spec.parameters.items()},
    }


def metric_view(metric: MetricSpec) -> dict[str, Any]:
    """Return the view of a metric; `score` describes in words how the score is computed."""
    return {
        "name": metric.name,
        "task": metric.task,
        "aliases": list(metric.aliases),
        "title": metric.title,
        "score": metric.score,
    }
