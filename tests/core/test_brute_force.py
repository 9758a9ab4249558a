"""`mdmt` against a computation from scratch, as studies, devices and trials come and go."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from scipy.special import ndtr
from support.problems import random_problem

from bentham.core import Arm, Event, Scheduler, StudySpec
from bentham.core.problem.decision import RUNNERS_UP
from bentham.core.scheduler.replay import verify


class Comparison(RuleBasedStateMachine):
    """Random events; every decision is compared with a computation from scratch."""

    layout = "shared"

    @initialize(seed=st.integers(0, 10_000))
    def start(self, seed: int) -> None:
        self.problem = random_problem(seed, self.layout, studies=6, models=3)
        self.events: list[Event] = []
        self.scheduler = Scheduler(
            self.problem.prior, warm_start="none", attempts=2, record=self.events.append
        )
        self.waiting = list(self.problem.studies)
        self.served: list[StudySpec] = []
        self.devices: list[int] = []
        self.running: dict[int, tuple[int, Arm]] = {}
        self.observed: dict[Arm, float] = {}
        self.order: list[Arm] = []
        self.closed: set[Arm] = set()
        self.lost: dict[Arm, int] = {}

    @precondition(lambda self: self.waiting)
    @rule()
    def add_study(self) -> None:
        study = self.waiting.pop(0)
        self.scheduler.add_study(
            study.name, study.costs, dataset=study.dataset, weight=study.weight, floor=study.floor
        )
        self.served.append(study)

    @precondition(lambda self: self.served)
    @rule(index=st.integers(0, 100))
    def remove_study(self, index: int) -> None:
        study = self.served.pop(index % len(self.served))
        self.scheduler.remove_study(study.name)
        self.waiting.append(study)  # it may be added again later, as the newest

    @rule()
    def add_device(self) -> None:
        device = len(self.devices) + 100
        while device in self.scheduler.devices:
            device += 1
        self.scheduler.add_device(device)
        self.devices.append(device)

    @precondition(lambda self: self.devices)
    @rule(index=st.integers(0, 100))
    def remove_device(self, index: int) -> None:
        device = self.devices.pop(index % len(self.devices))
        trial = self.scheduler.devices[device]
        self.scheduler.remove_device(device)
        if trial is not None:
            self.record_loss(trial)

    @precondition(lambda self: self.running)
    @rule(index=st.integers(0, 100), outcome=st.sampled_from(["tell", "tell", "lose", "fail"]))
    def end_trial(self, index: int, outcome: str) -> None:
        trial = sorted(self.running)[index % len(self.running)]
        _, arm = self.running[trial]
        if outcome == "tell":
            self.scheduler.tell(trial, self.problem.truth[arm])
            self.observed[arm] = self.problem.truth[arm]
            self.order.append(arm)
            del self.running[trial]
        elif outcome == "fail":
            self.scheduler.fail(trial)
            self.closed.add(arm)
            del self.running[trial]
        else:
            self.scheduler.lose(trial)
            self.record_loss(trial)

    def record_loss(self, trial: int) -> None:
        _, arm = self.running.pop(trial)
        self.lost[arm] = self.lost.get(arm, 0) + 1
        if self.lost[arm] >= 2:
            self.closed.add(arm)

    @precondition(lambda self: self.devices)
    @rule(index=st.integers(0, 100))
    def ask(self, index: int) -> None:
        idle = [d for d in self.devices if self.scheduler.devices[d] is None]
        if not idle:
            return
        device = idle[index % len(idle)]
        rates = self.rates()
        decision = self.scheduler.ask(device)
        if not rates:
            assert decision is None
            return
        assert decision is not None
        arm = Arm(decision.dataset, decision.model)
        best = max(rates.values())
        assert rates[arm] == pytest.approx(best, rel=1e-7, abs=1e-12)
        assert decision.rate == pytest.approx(rates[arm], rel=1e-7, abs=1e-12)
        ranked = sorted(rates.values(), reverse=True)[1 : 1 + RUNNERS_UP]
        assert [r.value for r in decision.runners_up] == pytest.approx(ranked, rel=1e-7, abs=1e-12)
        self.running[decision.trial] = device, arm

    def rates(self) -> dict[Arm, float]:
        """Return Eq. 3 to 5 for every arm that may be run, computed from scratch."""
        busy = {arm for _, arm in self.running.values()}
        rates: dict[Arm, float] = {}
        for study in self.served:
            scores = [self.observed[arm] for arm in self.order if self.lists(study, arm)]
            incumbent = max(scores, default=study.floor)
            for model, cost in study.costs.items():
                arm = Arm(study.dataset, model)
                if arm in busy or arm in self.observed or arm in self.closed:
                    continue
                mean, sigma = self.belief(arm)
                u = (mean - incumbent) / sigma
                density = math.exp(-0.5 * u * u) / math.sqrt(2.0 * math.pi)
                improvement = sigma * (u * ndtr(u) + density)
                rates[arm] = rates.get(arm, 0.0) + study.weight * improvement / cost
        return rates

    def lists(self, study: StudySpec, arm: Arm) -> bool:
        return study.dataset == arm.dataset and arm.model in study.costs

    def belief(self, arm: Arm) -> tuple[float, float]:
        mean, covariance = self.dense(arm)
        prior = self.problem.prior
        key = prior.block_key(arm.dataset)
        observed = [o for o in self.order if prior.block_key(o.dataset) == key]
        columns = [prior.columns(o.dataset)[o.model] for o in observed]
        column = prior.columns(arm.dataset)[arm.model]
        if not columns:
            return float(mean[column]), math.sqrt(covariance[column, column])
        gain = np.linalg.solve(covariance[np.ix_(columns, columns)], covariance[columns, column])
        scores = np.array([self.observed[o] for o in observed])
        mu = mean[column] + gain @ (scores - mean[columns])
        variance = covariance[column, column] - gain @ covariance[columns, column]
        return float(mu), math.sqrt(max(variance, 1e-300))

    def dense(self, arm: Arm) -> tuple[Any, Any]:
        prior = self.problem.prior
        block = prior.block(prior.block_key(arm.dataset))
        return block.mean, np.array([block.row(i) for i in range(block.size)])

    def teardown(self) -> None:
        if hasattr(self, "events"):
            fresh = Scheduler(self.problem.prior, warm_start="none", attempts=2)
            assert verify(fresh, self.events) == []


class ProductComparison(Comparison):
    layout = "product"


class JointComparison(Comparison):
    layout = "joint"


machine_settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestShared = Comparison.TestCase
TestShared.settings = machine_settings
TestProduct = ProductComparison.TestCase
TestProduct.settings = machine_settings
TestJoint = JointComparison.TestCase
TestJoint.settings = machine_settings
