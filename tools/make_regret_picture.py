"""Make docs/images/regret.png: regret over time, compared with how studies are usually served.

Run `python tools/make_regret_picture.py`; it takes a minute. The variants are those of `bentham
bench regret`.
"""

from pathlib import Path

from bentham import plots
from bentham.experiments.variants import holdout, serve
from bentham.sim.experiment import Experiment, Outcome
from bentham.tables import load_table

PICTURE = Path(__file__).parent.parent / "docs" / "images" / "regret.png"
TABLE, DEVICES, SEEDS = "oboe:8", 4, range(3)
SHOWN = {
    "Bentham": "default",
    "studies in turn, by gain per cost": "round-robin-rate",
    "studies at random": "random",
    "oracle (knows every score)": "oracle",
}


def outcome_of(variant: str, name: str, seed: int) -> Outcome:
    """Run a variant once."""
    table = load_table(TABLE)
    history, served = table.split(holdout(table), seed)
    experiment = Experiment(table, devices=DEVICES, prior="sample")
    run = serve(table, variant, DEVICES, seed)
    return Outcome(experiment, name, seed, history, served, experiment.make_prior(history), run)


def main() -> None:
    """Draw the picture."""
    outcomes = [
        outcome_of(variant, name, seed) for name, variant in SHOWN.items() for seed in SEEDS
    ]
    plots.draw_regret(outcomes, PICTURE)


if __name__ == "__main__":
    main()
