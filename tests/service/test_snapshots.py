"""A restored snapshot continues exactly like the original; other objects are refused."""

import os
import subprocess
import sys
from collections import OrderedDict, deque
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.histories import COSTS, PRIORS, History, fingerprint, prior_named
from support.paths import PYTHONPATH
from support.problems import flat_prior, small_scheduler

from bentham.core import POLICIES, Arm, Event, Scheduler
from bentham.core.gaussian.posterior import Posterior
from bentham.core.learning import prior as learned
from bentham.core.learning.prior import LEAD
from bentham.core.policies import HighestRate
from bentham.core.policies.gp_ucb import GpUcb
from bentham.core.problem.decision import Reason
from bentham.core.state import state
from bentham.core.state.state import RENEWALS
from bentham.errors import InvalidSnapshot
from bentham.service.fold.snapshots import dump, load

SETTINGS = st.fixed_dictionaries(
    {
        "policy": st.sampled_from(sorted(POLICIES)),
        "warm_start": st.sampled_from(["none", "mean", "fastest:2"]),
        "cost_exponent": st.sampled_from([1.0, 0.5]),
        "correct_costs": st.booleans(),
        "seed": st.integers(0, 3),
        "attempts": st.integers(1, 3),
    }
)


def restored(scheduler: Scheduler) -> Scheduler:
    copy = load(dump(scheduler))
    assert isinstance(copy, Scheduler)
    return copy


@pytest.mark.slow
@given(
    seed=st.integers(0, 10**6),
    prior=st.sampled_from(PRIORS),
    costs=st.sampled_from(COSTS),
    options=SETTINGS,
    before=st.integers(0, 80),
    after=st.integers(1, 60),
    renewals=st.sampled_from([1, RENEWALS]),
    lead=st.sampled_from([LEAD, 0.5]),
)
@settings(max_examples=20)
def test_a_restored_scheduler_continues_identically(
    seed: int,
    prior: str,
    costs: str,
    options: dict[str, Any],
    before: int,
    after: int,
    renewals: int,
    lead: float,
) -> None:
    # With few datasets a rollout ends at once, and with few scores a fit is adopted at once.
    # A smaller RENEWALS and a larger LEAD make them take several events.
    with mock.patch.object(state, "RENEWALS", renewals), mock.patch.object(learned, "LEAD", lead):
        check_continuation(seed, prior, costs, options, before, after)


def check_continuation(
    seed: int, prior: str, costs: str, options: dict[str, Any], before: int, after: int
) -> None:
    original = Scheduler(prior_named(prior, seed), **options)
    history = History(seed, costs, [original])
    history.run(before)
    copy, unqueried = restored(original), restored(original)
    assert_recomputed(original, restored(original))
    # One copy is queried like the original, the other only receives events.
    events: list[Event] = []
    original._record = events.append
    history.schedulers.append(copy)
    history.run(after)
    history.check_agreement()
    for event in events:
        unqueried.apply(event)
    assert fingerprint(unqueried) == fingerprint(original)
    # The same for a snapshot of a restored snapshot.
    history.schedulers += [restored(original), restored(copy), restored(unqueried)]
    history.check_agreement()
    history.run(15)
    history.check_agreement()


def assert_recomputed(original: Scheduler, copy: Scheduler) -> None:
    """Assert that everything a snapshot leaves out is recomputed identically to the bit."""
    for old, new in zip(original._state._rotation, copy._state._rotation, strict=True):
        posterior = old.belief._posterior
        if posterior is not None:
            count = posterior.count
            assert new.belief.posterior.count == count
            assert new.belief.posterior.distance == posterior.distance
            assert new.belief.posterior.mean.tobytes() == posterior.mean.tobytes()
            assert new.belief.posterior.variance.tobytes() == posterior.variance.tobytes()
            assert new.belief.posterior._rows[:count].tobytes() == posterior._rows[:count].tobytes()
        if old.gains._totals is not None:
            assert new.gains.totals().tobytes() == old.gains._totals.tobytes()
            assert new.gains._each.tobytes() == old.gains._each.tobytes()
    policy, recomputed = original._policy, copy._policy
    assert type(recomputed) is type(policy)
    recomputed.rank(copy._state)
    for block in original._state.blocks():
        if isinstance(policy, HighestRate) and block.order not in policy._stale:
            assert isinstance(recomputed, HighestRate)
            entries = [each._ranking._entries[block.order] for each in (policy, recomputed)]
            assert repr(entries[0]) == repr(entries[1])
        if isinstance(policy, GpUcb) and block.order not in policy._stale:
            assert isinstance(recomputed, GpUcb)
            if policy._studies == recomputed._studies:  # otherwise all are entered again
                for study in block.studies:
                    keys = [
                        each._tournament._keys.get(study.order) for each in (policy, recomputed)
                    ]
                    assert repr(keys[0]) == repr(keys[1])


@pytest.mark.outside
def test_in_a_fresh_process_with_another_hash_seed(tmp_path: Path) -> None:
    scheduler = Scheduler(prior_named("history", 5), seed=5)
    History(5, "mixed", [scheduler]).run(120)
    path = tmp_path / "snapshot"
    path.write_bytes(dump(scheduler))
    code = (
        "import sys, pathlib, bentham.service.fold.snapshots as s, support.histories as h;"
        "print(h.fingerprint(s.load(pathlib.Path(sys.argv[1]).read_bytes())))"
    )
    for hash_seed in ("1", "4242"):
        done = subprocess.run(
            [sys.executable, "-c", code, str(path)],
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": PYTHONPATH},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip() == fingerprint(scheduler)


def test_shared_objects_stay_shared() -> None:
    scheduler = small_scheduler()
    for number in range(50):
        scheduler.add_study(f"s{number}", ["m0", "m1"], dataset=f"d{number % 40}")
    copy = restored(scheduler)._state
    assert len({id(block.prior) for block in copy._rotation}) == 1
    assert copy._rotation[0].prior is copy.prior.block("d0")
    for study in copy.studies.values():
        assert study is copy.by_order[study.order]
        assert study in study.block.studies
        assert study.block in copy._rotation


def test_listeners_are_not_part_of_a_snapshot() -> None:
    events: list[Event] = []
    copy = restored(small_scheduler(record=events.append))
    copy.add_device(0)
    assert events == []


def test_uninitialized_memory_is_not_part_of_a_snapshot() -> None:
    def dumped(garbage: float) -> bytes:
        filled = mock.patch.object(np, "empty", lambda shape: np.full(shape, garbage))
        with filled:
            posterior = Posterior(flat_prior(9).block("d"))
            for column in range(5):
                posterior.observe(column, 0.5)
        return dump(posterior)

    assert dumped(1.0) == dumped(2.0)


def test_plain_data_is_restored_identically() -> None:
    numbers = np.arange(6.0).reshape(2, 3)
    frozen = np.arange(3)
    frozen.flags.writeable = False
    values: dict[str, list[Any]] = {
        "plain": [None, True, 1, 10**40, -0.0, "text", b"bytes", {1, 2}, frozenset({3}), (1, 2)],
        "types": [deque([1, 2], maxlen=2), OrderedDict(b=1, a=2), Arm("d", "m"), Reason.POLICY],
        "arrays": [numbers, np.asfortranarray(numbers), np.zeros((0, 3)), np.array(1), frozen],
        "numbers": [np.float64(0.1), np.int64(3), np.bool_(True)],
    }
    copy: Any = load(dump(values))
    assert repr(copy) == repr(values)
    assert copy["types"][3] is Reason.POLICY
    assert type(copy["types"][2]) is Arm
    for old, new in zip(values["arrays"], copy["arrays"], strict=True):
        assert new.dtype == old.dtype
        assert new.strides == old.strides or old.size == 0
        assert new.flags.writeable == old.flags.writeable
    for old, new in zip(values["numbers"], copy["numbers"], strict=True):
        assert type(new) is type(old)


class _Foreign:
    pass


class _Dictionary(dict[str, int]):
    pass


@pytest.mark.parametrize(
    "value",
    [
        lambda: 0,
        len,
        [].append,
        Scheduler,
        Reason,
        int,
        _Foreign(),
        _Dictionary(),
        np.array([None]),
        np.zeros((4, 4))[::2, ::2],
        np.zeros(2, dtype="f8,f8"),
        np.dtype("f8"),
        np.datetime64("2020-01-01"),
        InvalidSnapshot("an error"),
        Path("path"),
    ],
)
def test_unsupported_objects_are_refused(value: object) -> None:
    with pytest.raises(InvalidSnapshot, match="cannot make a snapshot of"):
        dump([value])


@pytest.mark.outside
def test_too_deep_for_a_snapshot() -> None:
    nested: list[Any] = []
    for _ in range(10**5):
        nested = [nested]
    with pytest.raises(InvalidSnapshot, match="cannot make a snapshot of"):
        dump(nested)
