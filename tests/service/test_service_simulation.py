"""A simulation replayed against the live service over HTTP gives the same decisions."""

from dataclasses import replace
from typing import Any

import pytest
from support.problems import random_problem
from support.service_app import FakeClock, Service, serving

from bentham.core import Arm, Decision, LearnedPrior
from bentham.core.problem import events as core
from bentham.service.engine.leases import Terms
from bentham.service.fold.events import PoolCreated
from bentham.sim import Disturbances, simulate

FOREVER = Terms(1e12, 1e11, 1e12)


class Player:
    """Sends the events of a recording over HTTP, at their times, and compares every decision."""

    def __init__(self, service: Service, truth: Any):
        self._service, self._truth = service, truth
        self._runner = service.token("device")
        self._tenants: dict[str, str] = {}
        self._names: dict[str, str] = {}  # of studies, by their ids
        self._leases: dict[int, Any] = {}
        self.compared, self.ended_early = 0, 0

    def play(self, events: tuple[core.Event, ...]) -> None:
        for event in events:
            self._service.clock.set(event.time)
            match event:
                case core.StudyAdded(study=study):
                    self._add(study)
                case core.DeviceAdded(device=device):
                    self._service.device(f"d{device}", self._runner)
                case core.DeviceRemoved(device=device):
                    path = f"/v1/devices/d{device}/leave"
                    self._service.post(path, None, self._runner).ok()
                case core.ArmStarted(decision=decision):
                    lease = self._service.lease(self._runner, f"d{decision.device}")
                    self._leases[decision.trial] = lease
                    self._compare(decision, lease)
                case core.ArmObserved(trial=trial):
                    lease = self._leases[trial]
                    score = self._truth[Arm(lease["dataset"], lease["model"])]
                    self._service.report(self._runner, lease, score=score).ok()
                case core.ArmFailed(trial=trial):
                    lease = self._leases[trial]
                    self._service.report(self._runner, lease, "fail", final=True).ok()
                case core.StudyRemoved(study=name):
                    self._ends(name)
                case core.ArmLost():
                    pass  # the device leaves next, which loses the trial
                case _:
                    raise AssertionError(event)

    def _add(self, study: Any) -> None:
        tenant = f"tenant-{int(study.dataset[1:]) % 2}"  # each dataset belongs to one tenant
        if tenant not in self._tenants:
            self._tenants[tenant] = self._service.tenant(tenant)
        name = self._service.study(
            self._tenants[tenant], study.name, dict(study.costs), dataset=study.dataset,
            weight=study.weight, floor=study.floor,
            stop={"gain_share": study.gain_share},
        )  # fmt: skip
        self._names[name] = study.name

    def _ends(self, name: str) -> None:
        """The service has ended the study by itself, or does when it looks at all studies."""
        (study,) = [each for each, known in self._names.items() if known == name]
        pool = self._service.pool
        self._service.until(lambda: pool.studies[study].state == "closed")
        if pool.studies[study].untried:
            assert "all untried models together" in pool.studies[study].reason
            self.ended_early += 1

    def _compare(self, decision: Decision, lease: Any) -> None:
        shown = self._service.get(f"/v1/decisions/{lease['trial']}")
        names = self._names
        assert lease["fence"] == decision.trial
        assert (
            names[shown["study"]], shown["dataset"], shown["model"], shown["reason"],
            shown["value"], shown["cost"], shown["expected_improvement"], shown["rate"],
        ) == (
            decision.study, decision.dataset, decision.model, decision.reason.value,
            decision.value, decision.cost, decision.expected_improvement, decision.rate,
        )  # fmt: skip
        assert [
            (names[gain["study"]], gain["expected_improvement"], gain["weight"])
            for gain in shown["gains"]
        ] == [(gain.study, gain.expected_improvement, gain.weight) for gain in decision.gains]
        assert [
            (names[other["study"]], other["dataset"], other["model"], other["value"])
            for other in shown["runners_up"]
        ] == [(o.study, o.dataset, o.model, o.value) for o in decision.runners_up]
        self.compared += 1


@pytest.mark.parametrize("policy", ["joint", "mdmt"])
@pytest.mark.parametrize("learned", [True, False])
@pytest.mark.parametrize(("seed", "gain_share"), [(0, 0.0), (1, 0.0), (1, 0.1)])
def test_the_service_decides_as_the_simulator(
    policy: str, learned: bool, seed: int, gain_share: float
) -> None:
    problem = random_problem(seed, studies=9 if gain_share else 5, models=4)
    studies = [replace(study, gain_share=gain_share) for study in problem.studies]
    prior = LearnedPrior() if learned else problem.prior
    warm_start = "none" if learned else "fastest:2"
    run = simulate(
        studies, problem.truth, prior, policy, devices=3, warm_start=warm_start,
        seed=seed, disturbances=Disturbances(failure=0.15, loss=0.2, repair=1.5, cost_error=1.7),
    )  # fmt: skip
    outcomes = {trial.outcome for trial in run.trials}
    assert outcomes == {"complete", "failed", "lost"}
    described = None if learned else problem.prior.describe()
    first = PoolCreated(policy, warm_start, seed, 3, 1.0, described)
    with serving(clock=FakeClock(0.0), first=first, terms=FOREVER, patience=None) as service:
        player = Player(service, problem.truth)
        player.play(run.events)
        assert player.compared == len(run.trials) > 10
        assert (player.ended_early > 0) == (gain_share > 0.0)
