"""Tables of scores and costs: bundled ones, and any CSV file."""

from bentham.tables.bundled import BUNDLED, load_table
from bentham.tables.history import History, read_history, write_history
from bentham.tables.reader import (
    ModelFeatures,
    complete_history,
    history_scores,
    read_features,
    read_table,
)
from bentham.tables.synthetic import draw_synthetic
from bentham.tables.table import Table

__all__ = [
    "BUNDLED",
    "History",
    "ModelFeatures",
    "Table",
    "complete_history",
    "draw_synthetic",
    "history_scores",
    "load_table",
    "read_features",
    "read_history",
    "read_table",
    "write_history",
]
