"""A frozen copy goes on by itself: as the original would, and without the original noticing."""

from collections.abc import Callable

import numpy as np
import pytest

from bentham.core import Decision, LearnedPrior, Scheduler, SharedPrior
from bentham.core.state.blocks import Block

MODELS = [f"m{model}" for model in range(6)]
FIXED = SharedPrior(
    MODELS, np.linspace(0.5, 0.6, 6), 0.01 * np.exp(-np.abs(np.subtract.outer(range(6), range(6))))
)
TRUTH = 0.6 + 0.1 * np.random.default_rng(1).standard_normal((4, 6))


def made(prior: SharedPrior | LearnedPrior, **options: object) -> Scheduler:
    scheduler = Scheduler(prior, **options)  # type: ignore[arg-type]
    costs = np.random.default_rng(2).uniform(1.0, 9.0, (4, 6))
    for study in range(4):
        # Two studies share a dataset, and one weighs more.
        scheduler.add_study(
            f"s{study}", dict(zip(MODELS, costs[max(study, 1)], strict=True)),
            dataset=f"d{max(study, 1)}", weight=2.0 if study == 3 else 1.0,
        )  # fmt: skip
    for device in range(3):
        scheduler.add_device(device)
    return scheduler


def go_on(scheduler: Scheduler, trials: int, begun: list[Decision]) -> list[Decision]:
    """Decide and end trials in turn; returns all decisions, of which `begun` still run."""
    decisions: list[Decision] = []
    for _ in range(trials):
        for device, trial in scheduler.devices.items():
            time = float(scheduler._state.next_trial)  # a clock that all of them share
            if trial is None and (decision := scheduler.ask(device, time=time)) is not None:
                decisions.append(decision)
                begun.append(decision)
        if not begun:
            break
        ended = begun.pop(0)
        score = TRUTH[int(ended.dataset[1:]), int(ended.model[1:])]
        scheduler.tell(ended.trial, float(score), time=scheduler._state.next_trial + 0.5)
    return decisions


MAKERS: dict[str, Callable[[], Scheduler]] = {
    "joint": lambda: made(FIXED, policy="joint", patience=9),
    "mdmt": lambda: made(FIXED, policy="mdmt", warm_start="fastest:2"),
    "random": lambda: made(FIXED, policy="random", seed=5),
    "gp-ucb": lambda: made(FIXED, policy="gp-ucb"),
    "learned": lambda: made(LearnedPrior()),
}


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("after", [0, 1, 7])
def test_a_copy_decides_as_the_original_which_does_not_notice(kind: str, after: int) -> None:
    original, control = MAKERS[kind](), MAKERS[kind]()
    running: list[Decision] = []
    alone: list[Decision] = []
    go_on(original, after, running)
    go_on(control, after, alone)
    first = original.frozen()
    copied = go_on(first, 99, list(running))
    second = original.frozen()  # the first has used up everything by now
    begun = list(running)
    half = go_on(original, 5, running)
    rest = go_on(second, 99, begun)
    decisions = go_on(control, 99, alone)
    assert half + go_on(original, 99, running) == decisions
    assert rest == copied
    if kind == "learned":  # the copy does not learn
        assert copied[0] == decisions[0]
    else:
        assert copied == decisions
    assert (first.finished, second.finished) == (True, True)


def test_another_policy_may_go_on() -> None:
    original = made(FIXED, policy="joint", warm_start="none")
    turns = original.frozen("round-robin")
    assert [decision.study for decision in go_on(turns, 4, [])[:4]] == ["s0", "s1", "s2", "s3"]
    assert original.devices == {0: None, 1: None, 2: None}


def test_what_is_lost_in_a_copy_runs_there_again() -> None:
    original = made(FIXED, policy="mdmt", warm_start="fastest:1")
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


def test_nothing_is_forgotten() -> None:
    scheduler = made(LearnedPrior())
    for block in scheduler.frozen()._state.blocks():
        missing = [name for name in Block.__slots__ if not hasattr(block, name)]
        assert not missing
