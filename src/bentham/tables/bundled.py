"""The tables that come with Bentham, and how to name a table.

synthetic            the paper's synthetic problem, 50 studies x 50 models
synthetic:SEED       another random draw of it
oboe                 418 OpenML datasets x 219 trained configurations of 12 algorithms
oboe:MODELS          MODELS of its models, evenly spaced through the list (oboe:8, oboe:40)
azure-standin        17 of its datasets x 8 classifiers, in place of the paper's AZURE table
classifiers:STUDIES  these 8 classifiers on STUDIES of its datasets, evenly spaced
spread:PLACE         these 8 classifiers on 17 datasets: from 1 (differ least) to 24 (most)
PATH                 a CSV file with the columns study, model, score, cost
"""

import functools
import os
from dataclasses import replace
from importlib import resources
from pathlib import Path

import numpy as np

from bentham.errors import InvalidInput
from bentham.tables.reader import read_table
from bentham.tables.standin import STANDIN, azure_standin, by_spread, of_size
from bentham.tables.synthetic import dataset_sizes, draw_synthetic, model_features
from bentham.tables.table import Table

BUNDLED = ("synthetic", "oboe", STANDIN, "classifiers", "spread")


def load_table(name: str) -> Table:
    """Load a bundled table by its name, or a CSV file by its path."""
    base, colon, argument = name.partition(":")
    if base not in BUNDLED:
        return _from_path(name)
    if colon and not (argument.isascii() and argument.isdigit() and len(argument) <= 9):
        raise InvalidInput(f"table {name!r}: expected a number after the colon, as in {base}:8")
    if base != "synthetic":
        return _of_oboe(name, base, int(argument) if colon else None)
    if colon and int(argument) > 0:
        return draw_synthetic(int(argument))
    table = _packaged("synthetic.csv", "synthetic")
    return replace(table, features=model_features(), sizes=dataset_sizes(table.costs))


def _of_oboe(name: str, base: str, number: int | None) -> Table:
    oboe = _packaged("oboe.csv.gz", "oboe")
    if base == STANDIN:
        if number is not None:
            raise InvalidInput(f"{STANDIN} takes no number; remove {name[len(STANDIN) :]}")
        return azure_standin(oboe)
    if base == "oboe":
        return oboe if number is None else _slice(oboe, number)
    if number is None:
        raise InvalidInput(f"{name} needs a number, as in {base}:{9 if base == 'spread' else 60}")
    if base == "classifiers":
        return of_size(oboe, number)
    tables = by_spread(oboe)
    if not 1 <= number <= len(tables):
        raise InvalidInput(f"{name}: choose a number from 1 to {len(tables)}")
    return tables[number - 1]


def _from_path(name: str) -> Table:
    path = Path(name)
    if not path.suffix and not os.path.lexists(path):
        raise InvalidInput(
            f"there is no table {name!r}; give a CSV file, or a bundled table "
            f"({', '.join(BUNDLED)})"
        )
    return read_table(path)


@functools.cache  # many tables are parts of the same file
def _packaged(file: str, name: str) -> Table:
    with resources.as_file(resources.files("bentham.tables") / "data" / file) as path:
        table = read_table(path, name)
    for array in (table.scores, table.costs):
        array.setflags(write=False)
    return table


def _slice(table: Table, models: int) -> Table:
    if not 1 <= models <= len(table.models):
        raise InvalidInput(
            f"{table.name} has {len(table.models)} models; choose from 1 to {len(table.models)}"
        )
    # The middle of each of `models` equal sections, so that every algorithm is represented.
    places = ((np.arange(models) + 0.5) * len(table.models) / models).astype(int)
    return replace(
        table,
        name=f"{table.name}:{models}",
        models=tuple(table.models[place] for place in places),
        scores=table.scores[:, places],
        costs=table.costs[:, places],
    )
