"""Import and export of past runs as CSV: study, model, score and, if known, cost."""

import csv
import io
from collections.abc import Iterable
from pathlib import Path

from bentham.core.problem.study import SMALLEST_COST
from bentham.tables.reader import number, parsed_rows, row_error, short

History = dict[str, dict[str, tuple[float, float | None]]]
HEADER = ("study", "model", "score", "cost")
LONGEST_NAME = 200


def read_history(text: str, name: str = "history") -> History:
    """Return scores and costs by study and model; the cost is None if unknown."""
    path = Path(name)
    history: History = {}
    for row, fields in parsed_rows(path, io.StringIO(text, newline=""), HEADER[:3]):
        study, model = (_name(path, row, column, fields[column]) for column in HEADER[:2])
        runs = history.setdefault(study, {})
        if model in runs:
            raise row_error(
                path,
                row,
                f"duplicate row for study {short(study)} and model {short(model)}; delete it",
            )
        score = number(path, row, "score", fields["score"])
        cost = number(path, row, "cost", fields["cost"]) if fields.get("cost") else None
        if cost is not None and cost < SMALLEST_COST:
            raise row_error(
                path, row, f"the cost is {cost:g}; write a number above zero, or leave it empty"
            )
        runs[model] = score, cost
    if not history:
        raise row_error(path, 2, "there is no data below the header; add rows")
    return history


def write_history(runs: Iterable[tuple[str, str, float, float | None]]) -> str:
    """Return the runs as CSV text, for spreadsheets and for import into another pool."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(HEADER)
    for study, model, score, cost in runs:
        writer.writerow((study, model, repr(score), "" if cost is None else repr(cost)))
    return file.getvalue()


def _name(path: Path, row: int, column: str, text: str) -> str:
    if not text or len(text) > LONGEST_NAME or not text.isprintable():
        raise row_error(
            path,
            row,
            f"the {column} is {short(text)}; use 1 to {LONGEST_NAME} printable characters",
        )
    return text
