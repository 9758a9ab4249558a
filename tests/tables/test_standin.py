"""The AZURE stand-in: its shape, how it is chosen, and tables that vary one property."""

import itertools

import numpy as np
import pytest
from support.commands import Bentham, assert_refused

from bentham.tables import Table, load_table
from bentham.tables.standin import CLASSIFIERS, CURATED, azure_standin, by_spread, of_size, spread


@pytest.fixture(scope="module")
def oboe() -> Table:
    return load_table("oboe")


def test_it_has_the_shape_of_azure(oboe: Table) -> None:
    table = azure_standin(oboe)
    assert table.scores.shape == (17, 8)
    assert np.isfinite(table.scores).all()
    assert table.models == tuple(CLASSIFIERS)
    assert len({model.split()[0] for model in CLASSIFIERS.values()}) == 8  # one to one
    # The value that reports compare with the paper's 0.12.
    assert float(spread(table).mean()) == pytest.approx(0.0625, abs=0.0005)


def test_its_scores_are_those_of_oboe(oboe: Table) -> None:
    table = azure_standin(oboe)
    for index, study in enumerate(table.studies):
        for column, model in enumerate(CLASSIFIERS.values()):
            row, oboe_column = oboe.studies.index(study), oboe.models.index(model)
            assert table.scores[index, column] == oboe.scores[row, oboe_column]
            assert table.costs[index, column] == oboe.costs[row, oboe_column]


def test_it_holds_the_curated_datasets_that_took_longest(oboe: Table) -> None:
    columns = [oboe.models.index(model) for model in CLASSIFIERS.values()]
    time = {
        f"openml-{number}": oboe.costs[oboe.studies.index(f"openml-{number}"), columns].sum()
        for number in CURATED
    }
    chosen = set(azure_standin(oboe).studies)
    assert chosen < set(time)
    assert min(time[study] for study in chosen) > max(time[study] for study in set(time) - chosen)


def test_spread_grows_from_table_to_table(oboe: Table) -> None:
    tables = by_spread(oboe)
    assert len(tables) == 24
    assert all(table.scores.shape == (17, 8) for table in tables)
    assert len({study for table in tables for study in table.studies}) == 24 * 17
    edges = [(spread(table).min(), spread(table).max()) for table in tables]
    assert all(above[0] >= below[1] for below, above in itertools.pairwise(edges))


def test_tables_of_any_size(oboe: Table) -> None:
    assert len(of_size(oboe, 60).studies) == 60
    assert of_size(oboe, 418).studies == oboe.studies


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("azure-standin:3", "azure-standin takes no number; remove :3"),
        ("classifiers", "classifiers:60"),
        ("classifiers:0", "choose from 1 to 418"),
        ("classifiers:999", "choose from 1 to 418"),
        ("spread", "spread:9"),
        ("spread:25", "from 1 to 24"),
        ("spread:x", "expected a number after the colon"),
    ],
)
def test_invalid_names(bentham: Bentham, name: str, words: str) -> None:
    assert_refused(bentham, "simulate", name, contains=[words])


def test_it_can_be_simulated(bentham: Bentham) -> None:
    done = bentham("simulate", "azure-standin", "--paper", "--policy", "round-robin")
    assert done.code == 0
    assert "azure-standin: 9 studies x 8 models" in done.out
