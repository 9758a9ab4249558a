"""A snapshot goes on exactly as what it was made of would have; anything else is refused."""

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
from support.histories import COSTS, PRIORS, History, prior_named, seen
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
    again = load(dump(scheduler))
    assert isinstance(again, Scheduler)
    return again


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
@settings(max_examples=50)
def test_goes_on_as_if_nothing_had_happened(
    seed: int,
    prior: str,
    costs: str,
    options: dict[str, Any],
    before: int,
    after: int,
    renewals: int,
    lead: float,
) -> None:
    # With few datasets a rollout is over at once, unless it is made to take several events; with
    # few scores a fit is believed at once, unless it is made to wait for more.
    with mock.patch.object(state, "RENEWALS", renewals), mock.patch.object(learned, "LEAD", lead):
        check_going_on(seed, prior, costs, options, before, after)


def check_going_on(
    seed: int, prior: str, costs: str, options: dict[str, Any], before: int, after: int
) -> None:
    original = Scheduler(prior_named(prior, seed), **options)
    history = History(seed, costs, [original])
    history.run(before)
    again, unseen = restored(original), restored(original)
    assert_made_again(original, restored(original))
    # One of them is looked at as often as the original, the other only takes in events.
    events: list[Event] = []
    original._record = events.append
    history.schedulers.append(again)
    history.run(after)
    history.agree()
    for event in events:
        unseen.apply(event)
    assert seen(unseen) == seen(original)
    # And so for a snapshot of what came from a snapshot.
    history.schedulers += [restored(original), restored(again), restored(unseen)]
    history.agree()
    history.run(15)
    history.agree()


def assert_made_again(original: Scheduler, again: Scheduler) -> None:
    """What a snapshot leaves out, wherever the original has it, is made again to the bit."""
    for old, new in zip(original._state._rotation, again._state._rotation, strict=True):
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
    policy, remade = original._policy, again._policy
    assert type(remade) is type(policy)
    remade.rank(again._state)
    for block in original._state.blocks():
        if isinstance(policy, HighestRate) and block.order not in policy._stale:
            assert isinstance(remade, HighestRate)
            entries = [each._ranking._entries[block.order] for each in (policy, remade)]
            assert repr(entries[0]) == repr(entries[1])
        if isinstance(policy, GpUcb) and block.order not in policy._stale:
            assert isinstance(remade, GpUcb)
            if policy._studies == remade._studies:  # else all are entered anew
                for study in block.studies:
                    keys = [each._tournament._keys.get(study.order) for each in (policy, remade)]
                    assert repr(keys[0]) == repr(keys[1])


def test_in_a_fresh_process_with_another_hash_seed(tmp_path: Path) -> None:
    scheduler = Scheduler(prior_named("history", 5), seed=5)
    History(5, "mixed", [scheduler]).run(120)
    path = tmp_path / "snapshot"
    path.write_bytes(dump(scheduler))
    code = (
        "import sys, pathlib, bentham.service.fold.snapshots as s, support.histories as h;"
        "print(h.seen(s.load(pathlib.Path(sys.argv[1]).read_bytes())))"
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
        assert done.stdout.strip() == seen(scheduler)


def test_what_is_shared_stays_shared() -> None:
    scheduler = small_scheduler()
    for number in range(50):
        scheduler.add_study(f"s{number}", ["m0", "m1"], dataset=f"d{number % 40}")
    again = restored(scheduler)._state
    assert len({id(block.prior) for block in again._rotation}) == 1
    assert again._rotation[0].prior is again.prior.block("d0")
    for study in again.studies.values():
        assert study is again.by_order[study.order]
        assert study in study.block.studies
        assert study.block in again._rotation


def test_who_listens_is_not_part_of_it() -> None:
    events: list[Event] = []
    again = restored(small_scheduler(record=events.append))
    again.add_device(0)
    assert events == []


def test_what_merely_lay_in_memory_is_not_part_of_it() -> None:
    def dumped(rubbish: float) -> bytes:
        filled = mock.patch.object(np, "empty", lambda shape: np.full(shape, rubbish))
        with filled:
            posterior = Posterior(flat_prior(9).block("d"))
            for column in range(5):
                posterior.observe(column, 0.5)
        return dump(posterior)

    assert dumped(1.0) == dumped(2.0)


def test_plain_data_comes_back_as_it_was() -> None:
    numbers = np.arange(6.0).reshape(2, 3)
    frozen = np.arange(3)
    frozen.flags.writeable = False
    things: dict[str, list[Any]] = {
        "plain": [None, True, 1, 10**40, -0.0, "text", b"bytes", {1, 2}, frozenset({3}), (1, 2)],
        "kept": [deque([1, 2], maxlen=2), OrderedDict(b=1, a=2), Arm("d", "m"), Reason.POLICY],
        "arrays": [numbers, np.asfortranarray(numbers), np.zeros((0, 3)), np.array(1), frozen],
        "numbers": [np.float64(0.1), np.int64(3), np.bool_(True)],
    }
    again: Any = load(dump(things))
    assert repr(again) == repr(things)
    assert again["kept"][3] is Reason.POLICY
    assert type(again["kept"][2]) is Arm
    for old, new in zip(things["arrays"], again["arrays"], strict=True):
        assert new.dtype == old.dtype
        assert new.strides == old.strides or old.size == 0
        assert new.flags.writeable == old.flags.writeable
    for old, new in zip(things["numbers"], again["numbers"], strict=True):
        assert type(new) is type(old)


class _Foreign:
    pass


class _Dictionary(dict[str, int]):
    pass


@pytest.mark.parametrize(
    "thing",
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
def test_what_no_snapshot_is_made_of(thing: object) -> None:
    with pytest.raises(InvalidSnapshot, match="cannot make a snapshot of"):
        dump([thing])


def test_too_deep_for_a_snapshot() -> None:
    nested: list[Any] = []
    for _ in range(10**5):
        nested = [nested]
    with pytest.raises(InvalidSnapshot, match="cannot make a snapshot of"):
        dump(nested)
