"""What studies may choose from, and how models are judged."""

from typing import Any

from bentham.training.metrics import MetricSpec
from bentham.training.spaces import AlgorithmSpec


def algorithm_view(spec: AlgorithmSpec) -> dict[str, Any]:
    """An algorithm, for people: `space` tells what may vary."""
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
    """A metric, for people: `score` tells how the score is made of it."""
    return {
        "name": metric.name,
        "task": metric.task,
        "title": metric.title,
        "score": metric.score,
    }
