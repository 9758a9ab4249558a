"""Decisions, with all that justifies them."""

from typing import Literal

from bentham.wire.base import ResponseBody


class GainView(ResponseBody):
    """What a study expects of the arm: its EI times its weight (its own times its tenant's).

    `name` is the study's.
    """

    tenant: str
    study: str
    name: str = ""
    expected_improvement: float
    weight: float


class RunnerUpView(ResponseBody):
    """An arm that came after; `name` is its study's, `value` is what the policy ranked by."""

    tenant: str
    study: str
    name: str = ""
    dataset: str
    model: str
    value: float


class ChangeView(ResponseBody):
    """A rule that changed the outcome, and what would have been run without it.

    A tenant is not told of those whose `instead` is somebody else's.
    """

    rule: Literal["weights", "running-trials", "device-time", "starvation-guard"]
    detail: str
    instead: RunnerUpView | None


class DecisionView(ResponseBody):
    """The arm picked for a free device, and why. It has the id of its trial."""

    id: str
    time: float
    device: str
    tenant: str
    study: str
    study_name: str = ""
    dataset: str
    model: str
    reason: Literal["policy", "warm-start", "starvation-guard"]
    value: float | None
    cost: float
    expected_improvement: float
    rate: float
    gains: list[GainView]
    runners_up: list[RunnerUpView]
    changes: list[ChangeView]
