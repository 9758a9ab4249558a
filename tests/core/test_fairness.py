"""What the service asks of the core: tenants, limits, patience, weights, history that comes."""

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from support.problems import flat_prior, small_prior

from bentham.core import Decision, LearnedPrior, Scheduler
from bentham.core.problem import events as core
from bentham.core.problem.decision import Reason

Past = dict[str, dict[str, tuple[float, float | None]]]
POLICIES = ("joint", "mdmt")
MODELS = 4
seeds = st.integers(0, 10**6)
policies = st.sampled_from(POLICIES)


class Pool:
    """Studies of several tenants with a device, some arms tried; the same for the same seed."""

    def __init__(self, seed: int, policy: str, tenants: int = 3, patience: int | None = None):
        self.random = np.random.default_rng(seed)
        self.scheduler = Scheduler(
            small_prior(MODELS), policy, warm_start="none", patience=patience
        )
        self.tenant_of: dict[str, str] = {}
        self.weight_of: dict[str, float] = {}
        for number in range(int(self.random.integers(2, 8))):
            tenant = f"t{self.random.integers(tenants)}"
            models = {f"m{m}": float(self.random.choice([1.0, 2.0, 4.0])) for m in range(MODELS)}
            self.add(f"s{number}", tenant, models, float(self.random.choice([0.5, 1.0, 3.0])))
        for device in range(3):
            self.scheduler.add_device(device)

    def add(self, name: str, tenant: str, costs: Any, weight: float) -> None:
        # Within a tenant two studies may share a dataset, if their costs agree.
        self.scheduler.add_study(
            name, costs, dataset=f"{tenant}/{name}", weight=weight, tenant=tenant, floor=-1.0
        )
        self.tenant_of[name], self.weight_of[name] = tenant, weight

    def run_some(self, steps: int) -> None:
        for _ in range(steps):
            decision = self.scheduler.ask(0)
            if decision is not None:
                self.scheduler.tell(decision.trial, float(self.random.normal(0.5, 0.3)))
        self.scheduler.ask(1)


def arm(decision: Decision | None) -> Any:
    if decision is None:
        return None
    return replace(decision, trial=0, changes=())


class TestBarred:
    @given(seeds, policies, st.integers(0, 12), st.sets(st.integers(0, 2)))
    def test_the_barred_are_never_served_and_the_others_as_if_they_were_alone(
        self, seed: int, policy: str, steps: int, barred_numbers: set[int]
    ) -> None:
        pool = Pool(seed, policy)
        pool.run_some(steps)
        barred = {f"t{number}": "running-trials" for number in barred_numbers}
        decision = pool.scheduler.decide(2, barred)
        free = pool.scheduler.decide(2)
        for study in list(pool.scheduler.studies):
            if pool.tenant_of[study] in barred:
                pool.scheduler.remove_study(study)
        alone = pool.scheduler.decide(2)
        assert arm(decision) == arm(alone)
        if decision is None:
            return
        assert pool.tenant_of[decision.study] not in barred
        assert not {pool.tenant_of[other.study] for other in decision.runners_up} & set(barred)
        assert free is not None
        limits = [change for change in decision.changes if change.rule == "running-trials"]
        same = (free.study, free.model) == (decision.study, decision.model)
        assert len(limits) == (0 if same else 1)
        if limits:
            assert limits[0].instead.study == free.study
            assert limits[0].instead.model == free.model


class TestWeights:
    @given(seeds, policies, st.integers(0, 12))
    def test_weights_are_named_exactly_when_they_changed_the_outcome(
        self, seed: int, policy: str, steps: int
    ) -> None:
        pool = Pool(seed, policy)
        pool.run_some(steps)
        decision = pool.scheduler.decide(2)
        for study in pool.scheduler.studies:
            pool.scheduler.apply(core.StudyWeighted(0.0, study, 1.0))
        plain = pool.scheduler.decide(2)
        if decision is None or plain is None:
            assert decision is plain
            return
        assert plain.changes == ()
        changes = [change for change in decision.changes if change.rule == "weights"]
        assert plain.value is not None
        if not changes:
            assert (plain.study, plain.model) == (decision.study, decision.model)
            return
        # A weight is divided out again: between arms as good as equal the last bit may decide.
        assert changes[0].instead.value == pytest.approx(plain.value, rel=1e-12)
        if (plain.study, plain.model) == (decision.study, decision.model):
            runner_up = plain.runners_up[0]
            assert runner_up.value == pytest.approx(plain.value, rel=1e-12)

    @given(seeds, policies)
    def test_a_weight_that_came_later_counts_as_if_it_had_been_there(
        self, seed: int, policy: str
    ) -> None:
        pool, other = Pool(seed, policy), Pool(seed, policy)
        for study, weight in pool.weight_of.items():
            pool.scheduler.apply(core.StudyWeighted(0.0, study, weight * 2.0))
            other.scheduler.apply(core.StudyWeighted(0.0, study, 7.0))
            other.scheduler.apply(core.StudyWeighted(0.0, study, weight * 2.0))
        assert pool.scheduler.decide(0) == other.scheduler.decide(0)

    @given(seeds, policies, st.integers(0, 12))
    def test_to_whom_studies_belong_changes_no_decision(
        self, seed: int, policy: str, steps: int
    ) -> None:
        """A tournament of each tenant, or one of all: the same winner and the same next three."""
        several, one = Pool(seed, policy, tenants=5), Pool(seed, policy, tenants=5)
        one.scheduler = Scheduler(small_prior(MODELS), policy, warm_start="none")
        for study in several.scheduler.studies:
            known = several.scheduler.beliefs(study)
            one.scheduler.add_study(
                study,
                {model: belief.cost for model, belief in known.items()},
                dataset=f"{several.tenant_of[study]}/{study}",
                weight=several.weight_of[study],
                floor=-1.0,
            )
        for device in range(3):
            one.scheduler.add_device(device)
        for _ in range(steps):
            decision = several.scheduler.ask(0)
            assert one.scheduler.ask(0) == decision
            if decision is None:
                break
            score = float(several.random.normal(0.5, 0.3))
            several.scheduler.tell(decision.trial, score)
            one.scheduler.tell(decision.trial, score)


class TestPatience:
    @given(
        st.sampled_from(POLICIES),
        st.integers(1, 6),
        st.integers(0, 8),
        st.lists(
            st.sampled_from(["ask", "ask", "ask", "tell", "lose", "add"]), min_size=60, max_size=90
        ),
        seeds,
    )
    @hypothesis_settings(max_examples=60)
    def test_nobody_is_passed_over_by_more_decisions_than_patience_says(
        self, policy: str, studies: int, extra: int, steps: list[str], seed: int
    ) -> None:
        patience = 2 * (studies + 2) + extra
        random = np.random.default_rng(seed)
        scheduler = Scheduler(flat_prior(40), policy, warm_start="none", patience=patience)
        models = {f"m{model}": 1.0 for model in range(40)}
        served: dict[str, int] = {}  # how many decisions passed over each study
        picked: Counter[str] = Counter()

        def add(name: str, weight: float) -> None:
            scheduler.add_study(name, models, dataset=name, weight=weight, tenant=name)
            served[name] = 0

        for number in range(studies):
            add(f"s{number}", float(10.0 ** random.integers(0, 7)))
        running: list[int] = []
        for device in range(len(steps)):
            scheduler.add_device(device)
        for device, step in enumerate(steps):
            if step == "add" and len(served) < studies + 2:
                add(f"late{len(served)}", 1.0)
            elif step == "ask":
                decision = scheduler.ask(device)
                if decision is None:
                    continue
                running.append(decision.trial)
                served = {name: passed + 1 for name, passed in served.items()}
                served[decision.study] = 0
                picked[decision.study] += 1
                # With fewer picks than models, a study has something left to try.
                assert all(served[name] <= patience for name in served if picked[name] < 40)
            elif running:
                trial = running.pop(int(random.integers(len(running))))
                if step == "tell":
                    scheduler.tell(trial, float(random.random()))
                else:
                    scheduler.lose(trial)

    def test_the_guard_says_what_would_have_been_run(self) -> None:
        scheduler = Scheduler(flat_prior(30), "mdmt", warm_start="none", patience=6)
        models = {f"m{model}": 1.0 for model in range(30)}
        for name, weight in (("heavy", 1e6), ("light", 1.0)):
            scheduler.add_study(name, models, dataset=name, weight=weight, tenant=name)
        scheduler.add_device(0)
        reasons = []
        for _ in range(14):
            decision = scheduler.ask(0)
            assert decision is not None
            reasons.append((decision.study, decision.reason))
            guards = [change for change in decision.changes if change.rule == "starvation-guard"]
            assert len(guards) == (decision.reason is Reason.GUARD)
            if guards:
                assert guards[0].instead.study == "heavy"
            scheduler.tell(decision.trial, -1.0)
        assert ("light", Reason.GUARD) in reasons
        assert reasons[0] == ("heavy", Reason.POLICY)

    def test_whoever_is_barred_is_not_served_by_the_guard(self) -> None:
        scheduler = Scheduler(flat_prior(20), "mdmt", warm_start="none", patience=3)
        models = {f"m{model}": 1.0 for model in range(20)}
        for name, weight in (("heavy", 1e6), ("light", 1.0)):
            scheduler.add_study(name, models, dataset=name, weight=weight, tenant=name)
        for device in range(10):
            scheduler.add_device(device)
            decision = scheduler.decide(device, {"light": "device-time"})
            assert decision is not None
            assert decision.study == "heavy"
            scheduler.apply(core.TrialStarted(0.0, decision))


class TestReleased:
    def test_a_release_is_no_attempt(self) -> None:
        scheduler = Scheduler(small_prior(1), warm_start="none", attempts=2)
        scheduler.add_study("a", {"m0": 1.0})
        scheduler.add_device(0)
        for _ in range(5):
            decision = scheduler.ask(0)
            assert decision is not None
            scheduler.apply(core.TrialReleased(0.0, decision.trial))
        for _ in range(2):
            decision = scheduler.ask(0)
            assert decision is not None
            scheduler.lose(decision.trial)
        assert scheduler.ask(0) is None


class TestHistory:
    @given(seeds, st.integers(1, 5), st.integers(2, 6), st.booleans())
    @hypothesis_settings(max_examples=15)
    def test_history_that_comes_is_as_good_as_history_that_was_there(
        self, seed: int, past: int, models: int, costly: bool
    ) -> None:
        random = np.random.default_rng(seed)
        names = [f"m{model}" for model in range(models)]
        scores = np.where(
            random.random((past, models)) < 0.7, random.random((past, models)), np.nan
        )
        scores[:, 0] = random.random(past)  # every past study has a run
        costs = random.uniform(1.0, 9.0, scores.shape)
        history = {
            f"past{study}": {
                name: (float(scores[study, m]), float(costs[study, m]) if costly else None)
                for m, name in enumerate(names) if np.isfinite(scores[study, m])
            }
            for study in range(past)
        }  # fmt: skip
        seen = [name for name in names if any(name in runs for runs in history.values())]
        columns = [names.index(name) for name in seen]
        known = Scheduler(
            LearnedPrior(seen, scores[:, columns]),
            past_costs={
                dataset: {model: cost for model, (_, cost) in runs.items() if cost is not None}
                for dataset, runs in history.items()
            } if costly else None,
        )  # fmt: skip
        told = Scheduler(LearnedPrior(seen))
        told.apply(core.HistoryAdded(0.0, history))
        for scheduler in (known, told):
            scheduler.add_study("new", names if costly else dict.fromkeys(names, 2.0))
            scheduler.add_device(0)
        for step in range(models):
            decision = known.ask(0, time=float(step))
            assert told.ask(0, time=float(step)) == decision
            assert decision is not None
            for scheduler in (known, told):
                scheduler.tell(decision.trial, step / 10.0, time=step + 0.5)

    def test_a_model_new_to_several_past_studies_gets_one_column(self) -> None:
        scheduler = Scheduler()
        scheduler.add_study("a", {"m4": 1.0, "m5": 1.0})
        scheduler.add_device(0)
        decision = scheduler.ask(0)
        assert decision is not None
        scheduler.tell(decision.trial, 0.3)
        past: Past = {"old": {"m0": (0.4, 2.0), "m1": (0.7, 3.0)}, "older": {"m1": (0.2, None)}}
        scheduler.apply(core.HistoryAdded(0.0, past))
        scheduler.add_study("b", {f"m{model}": 1.0 for model in (0, 1, 4, 5, 6)})
        run = []
        while (decision := scheduler.ask(0)) is not None:
            run.append((decision.study, decision.model))
            scheduler.tell(decision.trial, 0.5)
        assert len(run) == len(set(run)) == 6
