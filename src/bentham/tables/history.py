"""Past runs as CSV: study, model, score and, where known, cost. To set a prior, and to keep it."""

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
    """By study and model, the score and the cost; the column cost, or its fields, may be empty."""
    path = Path(name)
    history: History = {}
    for row, fields in parsed_rows(path, io.StringIO(text, newline=""), HEADER[:3]):
        study, model = (_name(path, row, what, fields[what]) for what in HEADER[:2])
        runs = history.setdefault(study, {})
        if model in runs:
            raise row_error(
                path,
                row,
                f"study {short(study)} and model {short(model)} stand there twice; delete one",
            )
        score = number(path, row, "score", fields["score"])
        cost = number(path, row, "cost", fields["cost"]) if fields.get("cost") else None
        if cost is not None and cost < SMALLEST_COST:
            raise row_error(path, row, f"the cost is {cost:g}; write one above zero, or nothing")
        runs[model] = score, cost
    if not history:
        raise row_error(path, 2, "there is no data below the header; add rows")
    return history


def write_history(runs: Iterable[tuple[str, str, float, float | None]]) -> str:
    """The same as text, for spreadsheets and for the next pool."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(HEADER)
    for study, model, score, cost in runs:
        writer.writerow((study, model, repr(score), "" if cost is None else repr(cost)))
    return file.getvalue()


def _name(path: Path, row: int, what: str, text: str) -> str:
    if not text or len(text) > LONGEST_NAME or not text.isprintable():
        raise row_error(
            path,
            row,
            f"the {what} is {short(text)}; name it by 1 to {LONGEST_NAME} printable characters",
        )
    return text
