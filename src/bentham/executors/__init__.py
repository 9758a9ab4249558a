"""Executors run trials and report their outcomes; a worker drives them."""

from bentham.executors.base import (
    Broken,
    Declined,
    Executor,
    Fitted,
    Outcome,
    Progress,
    Running,
    Scored,
)
from bentham.executors.limits import TrialLimits
from bentham.executors.process import Call, Command, ProcessExecutor
from bentham.executors.replay import ReplayExecutor

__all__ = [
    "Broken",
    "Call",
    "Command",
    "Declined",
    "Executor",
    "Fitted",
    "Outcome",
    "ProcessExecutor",
    "Progress",
    "ReplayExecutor",
    "Running",
    "Scored",
    "TrialLimits",
]
