"""Executors run a trial's model and say what came of it; a worker drives them."""

from bentham.executors.base import (
    Broken,
    Declined,
    Executor,
    Outcome,
    Progress,
    Running,
    Scored,
)
from bentham.executors.replay import ReplayExecutor

__all__ = [
    "Broken",
    "Declined",
    "Executor",
    "Outcome",
    "Progress",
    "ReplayExecutor",
    "Running",
    "Scored",
]
