"""Decisions and their justification."""

from typing import Literal

from bentham.wire.base import ResponseBody


class GainView(ResponseBody):
    """The expected gain of one study: its EI times its weight (the study's times its tenant's).

    It is as if nothing else were running. `name` is the study's name.
    """

    tenant: str
    study: str
    name: str = ""
    expected_improvement: float
    weight: float


class RunnerUpView(ResponseBody):
    """An arm that ranked lower, by `value`, like that of the decision; `name` is its study's."""

    tenant: str
    study: str
    name: str = ""
    dataset: str
    model: str
    value: float


class ChangeView(ResponseBody):
    """A rule that changed the outcome, and what would have been run without it.

    A tenant does not see changes whose `instead` belongs to another tenant.
    """

    rule: Literal["weights", "running-trials", "device-time", "starvation-guard"]
    detail: str
    instead: RunnerUpView | None


class DecisionView(ResponseBody):
    """The arm chosen for a free device, and why. Its id is the id of its trial.

    `value` is what the policy ranked by, None for a warm start: the EI rate (expected improvement
    per unit of `cost`, with weights), under the policy `joint` given the running trials. `gains`,
    their sum `expected_improvement`, and `rate`, that per unit of `cost`, are as if nothing else
    were running.
    """

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
