"""Queries of a scheduler: they change nothing and agree with its decisions."""

import pytest

from bentham.core import POLICIES, Reason, Scheduler


def serving(policy: str | None = None, warm_start: str | None = None) -> Scheduler:
    scheduler = Scheduler(policy=policy, warm_start=warm_start)
    scheduler.add_study("a", {"m2": 3.0, "m0": 1.0, "m1": 2.0}, dataset="d", weight=4.0)
    scheduler.add_study("b", {"m1": 2.0, "m3": 5.0}, dataset="d")
    scheduler.add_study("c", ["m0", "m3"], tenant="other")
    scheduler.add_device("x")
    scheduler.add_device("y")
    for device, score in (("x", 0.3), ("y", 0.7)):
        decision = scheduler.ask(device)
        assert decision is not None
        scheduler.tell(decision.trial, score)
    return scheduler


def test_survey_agrees_with_beliefs() -> None:
    scheduler = serving()
    scheduler.ask("x")
    names = ["c", "a", "b"]
    for name, found in zip(names, scheduler.survey(names), strict=True):
        weight = 4.0 if name == "a" else 1.0
        beliefs = scheduler.beliefs(name)
        assert found.models == list(beliefs)
        for index, belief in enumerate(beliefs.values()):
            assert found.mean[index] == belief.mean
            assert found.sigma[index] == belief.sigma
            assert found.cost[index] == belief.cost
            gain = belief.expected_improvement / weight
            assert found.expected_improvement[index] == pytest.approx(gain)
        # The gain of all models together is between that of the best and their sum.
        gains = found.expected_improvement
        assert gains.max() * 0.999 <= scheduler.shortfall(name).gap <= gains.sum() * 1.001
    assert scheduler.survey([]) == []


def test_changes_increase_when_beliefs_change() -> None:
    scheduler = serving()
    before = [scheduler.changes(name) for name in "abc"]
    decision = scheduler.ask("x")
    assert decision is not None
    assert [
        scheduler.changes(name) for name in "abc"
    ] == before  # a running trial changes no belief
    shortfalls = {name: scheduler.shortfall(name) for name in "abc"}
    scheduler.fail(decision.trial)
    after = [scheduler.changes(name) for name in "abc"]
    for name, old, new in zip("abc", before, after, strict=True):
        same = shortfalls[name] == scheduler.shortfall(name)
        assert same == (name not in (decision.study, *(gain.study for gain in decision.gains)))
        if not same:
            assert new > old
    known = {name: (scheduler.changes(name), scheduler.shortfall(name)) for name in "abc"}
    for score in (0.9, 0.2):
        decision = scheduler.ask("x")
        assert decision is not None
        scheduler.tell(decision.trial, score)
        for name, (changes, previous) in known.items():
            now = scheduler.shortfall(name)
            if now != previous:
                assert scheduler.changes(name) > changes
            known[name] = scheduler.changes(name), now


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("warm_start", ["none", "fastest:2"])
def test_first_predicts_the_next_decision(policy: str, warm_start: str) -> None:
    scheduler = serving(policy, warm_start)
    while True:
        firsts = {name: scheduler.first(name) for name in scheduler.studies}
        decision = scheduler.ask("x")
        if decision is None:
            break
        first = firsts[decision.study]
        assert first is not None
        assert (first.model, first.reason, first.cost) == (
            decision.model, decision.reason, decision.cost,
        )  # fmt: skip
        assert first.value == decision.value
        unweighted = {
            gain.study: gain.expected_improvement / gain.weight for gain in decision.gains
        }
        assert first.expected_improvement == pytest.approx(unweighted[decision.study])
        planned = first.reason is Reason.WARM_START
        assert (first.value is None) == planned
        scheduler.tell(decision.trial, 0.5 + decision.trial / 100)
    assert set(firsts.values()) == {None}
