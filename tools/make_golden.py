"""Make recordings in tests/golden: one run per policy, and one with a learned prior.

    python tools/make_golden.py NAME ...

makes those of the named policies; `learned` is the one with a learned prior. An existing recording
proves that old recordings replay, so do not make it again unless its decisions are meant to change,
and explain in the changelog why they do.
"""

import sys
from dataclasses import replace
from pathlib import Path

from bentham.sim import POLICY_NAMES, Disturbances, write_recording
from bentham.sim.experiment import Experiment, run_experiment
from bentham.tables import load_table

LEARNED = "learned"
GOLDEN = Path(__file__).parent.parent / "tests" / "golden"


def golden_experiment() -> Experiment:
    """Return 14 real studies with five models, on three devices, with all kinds of faults."""
    table = load_table("oboe:5").only(range(0, 420, 30))
    return Experiment(
        table,
        prior="sample",
        devices=3,
        warm_start="fastest:1",
        disturbances=Disturbances(failure=0.1, loss=0.1, repair=0.2, cost_error=2.0),
    )


def make(name: str) -> None:
    """Write one recording."""
    if name == LEARNED:
        learned = replace(golden_experiment(), prior="learned", costs="learned", warm_start=None)
        outcome = run_experiment(learned, None, seed=1)
    else:
        outcome = run_experiment(golden_experiment(), name, seed=1)
    write_recording(GOLDEN / f"{name}.jsonl", outcome.recording())


if __name__ == "__main__":
    known = [*POLICY_NAMES, LEARNED]
    names = sys.argv[1:]
    if not names or not set(names) <= set(known):
        sys.exit(f"name one or more recordings to make: {', '.join(known)}")
    for each in names:
        make(each)
