"""A frozen copy continues as the original would, and does not affect the original."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from bentham.core import POLICIES, Decision, LearnedPrior, Scheduler, SharedPrior
from bentham.core.state.blocks import Block

MODELS = [f"m{model}" for model in range(6)]
FIXED = SharedPrior(
    MODELS, np.linspace(0.5, 0.6, 6), 0.01 * np.exp(-np.abs(np.subtract.outer(range(6), range(6))))
)
TRUTH = 0.6 + 0.1 * np.random.default_rng(1).standard_normal((4, 6))


def make_scheduler(prior: SharedPrior | LearnedPrior, **options: object) -> Scheduler:
    scheduler = Scheduler(prior, **options)  # type: ignore[arg-type]
    costs = np.random.default_rng(2).uniform(1.0, 9.0, (4, 6))
    for study in range(4):
        # Two studies share a dataset, and one has a higher weight.
        scheduler.add_study(
            f"s{study}", dict(zip(MODELS, costs[max(study, 1)], strict=True)),
            dataset=f"d{max(study, 1)}", weight=2.0 if study == 3 else 1.0,
        )  # fmt: skip
    for device in range(3):
        scheduler.add_device(device)
    return scheduler


def advance(scheduler: Scheduler, trials: int, begun: list[Decision]) -> list[Decision]:
    """Decide and end trials in turn; return all decisions. `begun` holds the running ones."""
    decisions: list[Decision] = []
    for _ in range(trials):
        for device, trial in scheduler.devices.items():
            time = float(scheduler._state.next_trial)  # the same clock for all copies
            if trial is None and (decision := scheduler.ask(device, time=time)) is not None:
                decisions.append(decision)
                begun.append(decision)
        if not begun:
            break
        ended = begun.pop(0)
        score = TRUTH[int(ended.dataset[1:]), int(ended.model[1:])]
        scheduler.tell(ended.trial, float(score), time=scheduler._state.next_trial + 0.5)
    return decisions


OPTIONS: dict[str, dict[str, object]] = {
    "joint": {"patience": 9},
    "mdmt": {"warm_start": "fastest:2"},
    "random": {"seed": 5},
}
MAKERS: dict[str, Callable[[], Scheduler]] = {
    **{
        name: partial(make_scheduler, FIXED, policy=name, **OPTIONS.get(name, {}))
        for name in POLICIES
    },
    "learned": lambda: make_scheduler(LearnedPrior()),
}


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("after", [0, 1, 7])
def test_a_copy_decides_as_the_original_and_does_not_affect_it(kind: str, after: int) -> None:
    original, control = MAKERS[kind](), MAKERS[kind]()
    running: list[Decision] = []
    alone: list[Decision] = []
    advance(original, after, running)
    advance(control, after, alone)
    first = original.frozen()
    copied = advance(first, 99, list(running))
    second = original.frozen()  # the first has tried every arm by now
    begun = list(running)
    half = advance(original, 5, running)
    rest = advance(second, 99, begun)
    decisions = advance(control, 99, alone)
    assert half + advance(original, 99, running) == decisions
    assert rest == copied
    if kind == "learned":  # the copy does not learn
        assert copied[0] == decisions[0]
    else:
        assert copied == decisions
    assert (first.finished, second.finished) == (True, True)


def test_a_copy_with_another_policy() -> None:
    original = make_scheduler(FIXED, policy="joint", warm_start="none")
    turns = original.frozen("round-robin")
    assert [decision.study for decision in advance(turns, 4, [])[:4]] == ["s0", "s1", "s2", "s3"]
    assert original.devices == {0: None, 1: None, 2: None}


def test_a_lost_trial_is_retried_in_the_copy_only() -> None:
    original = make_scheduler(FIXED, policy="mdmt", warm_start="fastest:1")
    decision = original.ask(0)
    assert decision is not None
    copy = original.frozen()
    copy.lose(decision.trial)
    again = copy.ask(0)
    assert again is not None
    assert (again.study, again.model) == (decision.study, decision.model)
    assert original.devices[0] == decision.trial
    copy.remove_study("s3")
    assert original.studies == ("s0", "s1", "s2", "s3")


def test_every_attribute_is_copied() -> None:
    scheduler = make_scheduler(LearnedPrior())
    for block in scheduler.frozen()._state.blocks():
        missing = [name for name in Block.__slots__ if not hasattr(block, name)]
        assert not missing
