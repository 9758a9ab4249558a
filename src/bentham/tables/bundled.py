"""The tables that come with Bentham, and how a table is named.

synthetic       the paper's synthetic problem, 50 studies x 50 models
synthetic:SEED  another draw of it
oboe            418 OpenML datasets x 219 configurations of 12 algorithms, really trained
oboe:MODELS     as many of its models, evenly spaced through the list (oboe:8, oboe:40)
PATH            a CSV file with the columns study, model, score, cost
"""

import os
from dataclasses import replace
from importlib import resources
from pathlib import Path

import numpy as np

from bentham.errors import InvalidInput
from bentham.tables.reader import read_table
from bentham.tables.synthetic import dataset_sizes, draw_synthetic, model_features
from bentham.tables.table import Table

BUNDLED = ("synthetic", "oboe")


def load_table(name: str) -> Table:
    """A bundled table by its name, or a file by its path."""
    base, colon, argument = name.partition(":")
    if base not in BUNDLED:
        return _from_path(name)
    if colon and not (argument.isascii() and argument.isdigit() and len(argument) <= 9):
        raise InvalidInput(f"table {name!r}: after the colon comes a number, as in {base}:8")
    if base == "oboe":
        table = _packaged("oboe.csv.gz", "oboe")
        return _slice(table, int(argument)) if colon else table
    if colon and int(argument) > 0:
        return draw_synthetic(int(argument))
    table = _packaged("synthetic.csv", "synthetic")
    return replace(table, features=model_features(), sizes=dataset_sizes(table.costs))


def _from_path(name: str) -> Table:
    path = Path(name)
    if not path.suffix and not os.path.lexists(path):
        raise InvalidInput(
            f"there is no table {name!r}: name a CSV file, or a bundled table "
            f"({', '.join(BUNDLED)})"
        )
    return read_table(path)


def _packaged(file: str, name: str) -> Table:
    with resources.as_file(resources.files("bentham.tables") / "data" / file) as path:
        return read_table(path, name)


def _slice(table: Table, models: int) -> Table:
    if not 1 <= models <= len(table.models):
        raise InvalidInput(
            f"{table.name} has {len(table.models)} models; ask for 1 to {len(table.models)}"
        )
    # The middle of each of as many equal stretches, so that every algorithm has its share.
    places = ((np.arange(models) + 0.5) * len(table.models) / models).astype(int)
    return replace(
        table,
        name=f"{table.name}:{models}",
        models=tuple(table.models[place] for place in places),
        scores=table.scores[:, places],
        costs=table.costs[:, places],
    )
