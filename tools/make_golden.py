"""Make tests/golden: one recorded run per policy. Run it only if decisions are meant to change.

Run `python tools/make_golden.py`, then explain in the changelog why the decisions changed.
"""

from dataclasses import replace
from pathlib import Path

from bentham.sim import POLICY_NAMES, Disturbances, write_recording
from bentham.sim.experiment import Experiment, run_experiment
from bentham.tables import load_table

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


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for policy in POLICY_NAMES:
        outcome = run_experiment(golden_experiment(), policy, seed=1)
        write_recording(GOLDEN / f"{policy}.jsonl", outcome.recording())
    learned = replace(golden_experiment(), prior="learned", costs="learned", warm_start=None)
    write_recording(GOLDEN / "learned.jsonl", run_experiment(learned, None, seed=1).recording())
