"""Both interpretations of round robin, and runs with sampled tables."""

import numpy as np

from bentham import Scheduler, SharedPrior
from bentham.experiments.rivals import RoundRobinByRate
from bentham.reproduce.runs import TableCell, drawn
from bentham.tables import load_table
from bentham.tables.standin import classifiers


def test_one_interpretation_of_round_robin_divides_by_cost() -> None:
    prior = SharedPrior(["cheap", "dear"], [0.5, 0.6], np.eye(2) * 0.01)
    picked = {}
    for name, policy in (("rate", RoundRobinByRate.made), ("ei", "round-robin")):
        scheduler = Scheduler(prior, policy, warm_start="none")
        for study in ("a", "b"):
            scheduler.add_study(study, {"cheap": 1.0, "dear": 100.0})
        scheduler.add_device("device")
        trials = []
        while (decision := scheduler.ask("device")) is not None:
            scheduler.tell(decision.trial, 0.5)
            trials.append((decision.study, decision.model))
        picked[name] = trials
    assert picked["ei"][:2] == [("a", "dear"), ("b", "dear")]
    assert picked["rate"][:2] == [("a", "cheap"), ("b", "cheap")]
    assert sorted(picked["ei"]) == sorted(picked["rate"])


def test_every_seed_samples_other_studies() -> None:
    full_table = classifiers(load_table("oboe"))
    tables = [drawn(full_table, 17, seed) for seed in (0, 0, 1)]
    assert [len(set(table.studies)) for table in tables] == [17, 17, 17]
    assert tables[0].studies == tables[1].studies != tables[2].studies
    index = full_table.studies.index(tables[0].studies[3])
    assert np.array_equal(tables[0].scores[3], full_table.scores[index])


def test_a_cell_of_draws_serves_studies_outside_the_history() -> None:
    full_table = classifiers(load_table("oboe"))
    cell = TableCell("draws:12", "paper", 1)
    one, other = (cell.run(seed, {"draws:12": full_table}) for seed in (0, 1))
    assert one != other
    assert one == cell.run(0, {"draws:12": full_table})
    assert cell.complete(one)
    # Twelve studies, eight of which are history: the initial mean is over the other four.
    history, served = drawn(full_table, 12, 0).split(8, 0)
    assert len(history.studies) == 8
    assert one["curve"][0][1] == served.scores.max(axis=1).mean()
