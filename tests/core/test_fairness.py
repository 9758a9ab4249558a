"""Features of the core for the service: tenants, limits, patience, weights, added history."""

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
    """Studies of several tenants, determined by the seed."""

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
    def test_barred_tenants_are_treated_as_if_absent(
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
    def test_weights_are_reported_if_and_only_if_they_changed_the_outcome(
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
        # The weight is divided out again, so rounding may decide between nearly equal arms.
        assert changes[0].instead.value == pytest.approx(plain.value, rel=1e-12)
        if (plain.study, plain.model) == (decision.study, decision.model):
            runner_up = plain.runners_up[0]
            assert runner_up.value == pytest.approx(plain.value, rel=1e-12)

    @given(seeds, policies)
    def test_a_changed_weight_has_the_same_effect_as_an_initial_one(
        self, seed: int, policy: str
    ) -> None:
        pool, other = Pool(seed, policy), Pool(seed, policy)
        for study, weight in pool.weight_of.items():
            pool.scheduler.apply(core.StudyWeighted(0.0, study, weight * 2.0))
            other.scheduler.apply(core.StudyWeighted(0.0, study, 7.0))
            other.scheduler.apply(core.StudyWeighted(0.0, study, weight * 2.0))
        assert pool.scheduler.decide(0) == other.scheduler.decide(0)

    @given(seeds, policies, st.integers(0, 12))
    def test_tenants_alone_change_no_decision(self, seed: int, policy: str, steps: int) -> None:
        """One tournament per tenant or one in all: the same winner and the same runners-up."""
        several, one = Pool(seed, policy, tenants=5), Pool(seed, policy, tenants=5)
        one.scheduler = Scheduler(small_prior(MODELS), policy, warm_start="none")
        for study in several.scheduler.studies:
            beliefs = several.scheduler.beliefs(study)
            one.scheduler.add_study(
                study,
                {model: belief.cost for model, belief in beliefs.items()},
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
    @pytest.mark.slow
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
    def test_no_study_waits_longer_than_patience(
        self, policy: str, studies: int, extra: int, steps: list[str], seed: int
    ) -> None:
        patience = 2 * (studies + 2) + extra
        random = np.random.default_rng(seed)
        scheduler = Scheduler(flat_prior(40), policy, warm_start="none", patience=patience)
        models = {f"m{model}": 1.0 for model in range(40)}
        passed_over: dict[str, int] = {}  # number of decisions since each study was served
        picked: Counter[str] = Counter()

        def add(name: str, weight: float) -> None:
            scheduler.add_study(name, models, dataset=name, weight=weight, tenant=name)
            passed_over[name] = 0

        for number in range(studies):
            add(f"s{number}", float(10.0 ** random.integers(0, 7)))
        running: list[int] = []
        for device in range(len(steps)):
            scheduler.add_device(device)
        for device, step in enumerate(steps):
            if step == "add" and len(passed_over) < studies + 2:
                add(f"late{len(passed_over)}", 1.0)
            elif step == "ask":
                decision = scheduler.ask(device)
                if decision is None:
                    continue
                running.append(decision.trial)
                passed_over = {name: count + 1 for name, count in passed_over.items()}
                passed_over[decision.study] = 0
                picked[decision.study] += 1
                # A study with fewer picks than models has something left to try.
                assert all(
                    passed_over[name] <= patience for name in passed_over if picked[name] < 40
                )
            elif running:
                trial = running.pop(int(random.integers(len(running))))
                if step == "tell":
                    scheduler.tell(trial, float(random.random()))
                else:
                    scheduler.lose(trial)

    def test_the_guard_reports_what_it_displaced(self) -> None:
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

    def test_the_guard_does_not_serve_barred_tenants(self) -> None:
        scheduler = Scheduler(flat_prior(20), "mdmt", warm_start="none", patience=3)
        models = {f"m{model}": 1.0 for model in range(20)}
        for name, weight in (("heavy", 1e6), ("light", 1.0)):
            scheduler.add_study(name, models, dataset=name, weight=weight, tenant=name)
        for device in range(10):
            scheduler.add_device(device)
            decision = scheduler.decide(device, {"light": "device-time"})
            assert decision is not None
            assert decision.study == "heavy"
            scheduler.apply(core.ArmStarted(0.0, decision))


class TestReleased:
    def test_a_release_does_not_count_as_an_attempt(self) -> None:
        scheduler = Scheduler(small_prior(1), warm_start="none", attempts=2)
        scheduler.add_study("a", {"m0": 1.0})
        scheduler.add_device(0)
        for _ in range(5):
            decision = scheduler.ask(0)
            assert decision is not None
            scheduler.apply(core.ArmReleased(0.0, decision.trial))
        for _ in range(2):
            decision = scheduler.ask(0)
            assert decision is not None
            scheduler.lose(decision.trial)
        assert scheduler.ask(0) is None


class TestHistory:
    @pytest.mark.slow
    @given(seeds, st.integers(1, 5), st.integers(2, 6), st.booleans())
    @hypothesis_settings(max_examples=15)
    def test_added_history_is_equivalent_to_initial_history(
        self, seed: int, past: int, models: int, with_costs: bool
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
                name: (float(scores[study, m]), float(costs[study, m]) if with_costs else None)
                for m, name in enumerate(names) if np.isfinite(scores[study, m])
            }
            for study in range(past)
        }  # fmt: skip
        observed = [name for name in names if any(name in runs for runs in history.values())]
        columns = [names.index(name) for name in observed]
        initial = Scheduler(
            LearnedPrior(observed, scores[:, columns]),
            past_costs={
                dataset: {model: cost for model, (_, cost) in runs.items() if cost is not None}
                for dataset, runs in history.items()
            } if with_costs else None,
        )  # fmt: skip
        extended = Scheduler(LearnedPrior(observed))
        extended.apply(core.HistoryAdded(0.0, history))
        for scheduler in (initial, extended):
            scheduler.add_study("new", names if with_costs else dict.fromkeys(names, 2.0))
            scheduler.add_device(0)
        for step in range(models):
            decision = initial.ask(0, time=float(step))
            assert extended.ask(0, time=float(step)) == decision
            assert decision is not None
            for scheduler in (initial, extended):
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
