"""Runs recorded by an earlier version must be reproduced by this one."""

import pytest
from support.paths import GOLDEN

from bentham.core.problem.events import ArmStarted
from bentham.sim import POLICY_NAMES, read_recording


@pytest.mark.parametrize("name", [*POLICY_NAMES, "learned"])
def test_recorded_decisions_are_reproduced(name: str) -> None:
    recording = read_recording(GOLDEN / f"{name}.jsonl")
    scheduler = recording.scheduler()
    decisions = 0
    for event in recording.events:
        if isinstance(event, ArmStarted):
            remade, recorded = scheduler.decide(event.decision.device), event.decision
            assert remade is not None
            for field in ("trial", "study", "dataset", "model", "reason"):
                assert getattr(remade, field) == getattr(recorded, field)
            # Another machine's exp may differ in the last bit.
            assert remade.cost == pytest.approx(recorded.cost, rel=1e-9)
            assert remade.rate == pytest.approx(recorded.rate, rel=1e-9, abs=1e-12)
            assert [r.model for r in remade.runners_up] == [r.model for r in recorded.runners_up]
            decisions += 1
        scheduler.apply(event)
    assert decisions >= 30
    assert scheduler.finished
