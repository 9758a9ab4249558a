"""Reads tables from CSV files. Every refusal is one line: the file, the row and the remedy.

A row is counted as an editor or a spreadsheet counts it: the header is row 1.
"""

import csv
import gzip
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

import numpy as np

from bentham.core.validation import Matrix
from bentham.errors import InvalidTable
from bentham.tables.table import Table

COLUMNS = ("study", "model", "score", "cost")
# Beyond these a sum of squares would overflow; no score or cost comes near them.
LARGEST, SMALLEST_COST = 1e50, 1e-50

Row = tuple[int, dict[str, str]]


def read_table(path: Path, name: str | None = None) -> Table:
    """A CSV of study, model, score and cost; a missing row: the study does not list the model."""
    seen: dict[tuple[str, str], int] = {}
    studies: dict[str, int] = {}
    models: dict[str, int] = {}
    entries: list[tuple[int, int, float, float]] = []
    for row, fields in _rows(path, COLUMNS):
        study, model = fields["study"], fields["model"]
        if not study:
            raise _error(path, row, "the study has no name; name it, or delete the row")
        if not model:
            raise _error(
                path, row, f"study {study!r} lists no model here; name one, or delete the row"
            )
        if (study, model) in seen:
            first = seen[study, model]
            raise _error(
                path,
                row,
                f"study {study!r} and model {model!r} stand in row {first} already; "
                "delete one of the two",
            )
        seen[study, model] = row
        score = _number(path, row, "score", fields["score"])
        cost = _number(path, row, "cost", fields["cost"])
        if cost < SMALLEST_COST:
            raise _error(path, row, f"the cost is {cost:g}; a cost must be above zero")
        places = studies.setdefault(study, len(studies)), models.setdefault(model, len(models))
        entries.append((*places, score, cost))
    if not entries:
        raise _error(path, 2, "there is no data below the header; add rows")
    scores = np.full((len(studies), len(models)), np.nan)
    costs = scores.copy()
    for place, column, score, cost in entries:
        scores[place, column], costs[place, column] = score, cost
    return Table(name or str(path), tuple(studies), tuple(models), scores, costs)


def read_features(path: Path, models: Sequence[str]) -> Matrix:
    """A CSV of model and any number of numeric columns, for the given models in their order."""
    found: dict[str, list[float]] = {}
    for row, fields in _rows(path, ("model",)):
        model = fields.pop("model")
        if model in found:
            raise _error(path, row, f"model {model!r} stands there twice; delete one of the two")
        found[model] = [_number(path, row, name, text) for name, text in fields.items()]
        if not found[model]:
            raise _error(path, 1, "there is no feature beside the model; add a numeric column")
    for model in models:
        if model not in found:
            raise _error(path, len(found) + 2, f"model {model!r} is missing; add a row for it")
    return np.array([found[model] for model in models])


def history_scores(history: Table, models: Sequence[str]) -> Matrix:
    """The scores of historical studies over the models served; models not served are left out."""
    places = {model: place for place, model in enumerate(history.models)}
    for model in models:
        if model not in places:
            raise InvalidTable(
                f"{history.name}: no row has model {model!r}, which is to be served; "
                "add its rows to the history, or leave the model out of the table"
            )
    scores: Matrix = history.scores[:, [places[model] for model in models]]
    return scores


def complete_history(history: Table, models: Sequence[str]) -> Matrix:
    """The same, refused where a study lacks a model."""
    scores = history_scores(history, models)
    missing = np.argwhere(~np.isfinite(scores))
    if len(missing):
        study, model = missing[0]
        raise InvalidTable(
            f"{history.name}: study {history.studies[study]!r} has no row for model "
            f"{models[model]!r}; add that row, delete the study's rows, or use --prior kernel"
        )
    return scores


def _rows(path: Path, required: Sequence[str]) -> Iterator[Row]:
    try:
        with _open(path) as file:
            yield from _parsed(path, file, required)
    except FileNotFoundError:
        raise InvalidTable(f"{path}: there is no such file; check the path") from None
    except IsADirectoryError:
        raise InvalidTable(f"{path}: this is a folder; name a CSV file in it") from None
    except UnicodeDecodeError as error:
        raise InvalidTable(
            f"{path}: byte {error.start} is not UTF-8 text; save it as a UTF-8 CSV file"
        ) from None
    except (OSError, EOFError) as error:
        raise InvalidTable(f"{path}: cannot be read ({error}); check the file") from None


def _open(path: Path) -> TextIO:
    # utf-8-sig: spreadsheets put a byte-order mark before the header.
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def _parsed(path: Path, file: TextIO, required: Sequence[str]) -> Iterator[Row]:
    reader = csv.reader(file, strict=True)
    try:
        header = [name.strip() for name in next(reader, [])]
        if not header:
            raise _error(path, 1, f"the file is empty; begin with the header {','.join(required)}")
        for name in required:
            if header.count(name) != 1:
                problem = "is missing" if name not in header else "stands there twice"
                raise _error(
                    path,
                    1,
                    f"the column {name!r} {problem}; the header must be {','.join(required)}",
                )
        for fields in reader:
            if not any(field.strip() for field in fields):
                continue
            if len(fields) != len(header):
                raise _error(
                    path,
                    reader.line_num,
                    f"{len(fields)} fields under a header of {len(header)}; "
                    "fill in or delete the row, and quote names that hold a comma",
                )
            values = dict(zip(header, (field.strip() for field in fields), strict=True))
            yield reader.line_num, values
    except csv.Error as error:
        raise _error(path, reader.line_num, f"not a CSV row ({error}); mend it") from None


def _number(path: Path, row: int, column: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        shown = repr(text if len(text) <= 40 else text[:37] + "...")
        raise _error(
            path, row, f"the {column} is {shown}, not a number; write one, or delete the row"
        ) from None
    if not math.isfinite(value) or abs(value) > LARGEST:
        raise _error(
            path, row, f"the {column} is {text[:40]}; write a finite number, or delete the row"
        )
    return value


def _error(path: Path, row: int, problem: str) -> InvalidTable:
    return InvalidTable(f"{path}, row {row}: {problem}")
