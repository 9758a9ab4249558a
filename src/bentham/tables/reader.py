"""Reads tables from CSV files. Every error message is one line: the file, the row and the remedy.

Rows are numbered as in an editor or a spreadsheet: the header is row 1.
"""

import csv
import gzip
import io
import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TextIO

import numpy as np

from bentham.core.gaussian.validation import Matrix
from bentham.core.problem.study import LARGEST, SMALLEST_COST
from bentham.errors import InvalidTable
from bentham.tables.table import Table

COLUMNS = ("study", "model", "score", "cost")
LONGEST_FIELD = 2**17  # in characters
Row = tuple[int, dict[str, str]]


def read_table(path: Path, name: str | None = None) -> Table:
    """Read a CSV file with the columns study, model, score and cost.

    A study lists the models that it has a row for. The optional columns `rows` and `columns` give
    the size of a study's dataset; only the study's first row is used.
    """
    seen: dict[tuple[str, str], int] = {}
    studies: dict[str, int] = {}
    models: dict[str, int] = {}
    first_rows: list[int] = []
    sizes: list[tuple[int, int]] = []
    entries: list[tuple[int, int, float, float]] = []
    for row, fields in _rows(path, COLUMNS):
        study, model = fields["study"], fields["model"]
        if not study:
            raise row_error(path, row, "the study has no name; name it, or delete the row")
        if not model:
            raise row_error(
                path,
                row,
                f"study {short(study)} has no model in this row; name one, or delete the row",
            )
        if (study, model) in seen:
            first = seen[study, model]
            raise row_error(
                path,
                row,
                f"study {short(study)} and model {short(model)} are already in row {first}; "
                "delete one of the two",
            )
        seen[study, model] = row
        score = number(path, row, "score", fields["score"])
        cost = number(path, row, "cost", fields["cost"])
        if cost < SMALLEST_COST:
            limit = "" if cost <= 0.0 else f" (at least {SMALLEST_COST:g})"
            raise row_error(
                path,
                row,
                f"the cost is {cost:g}; write a number above zero{limit}, or delete the row",
            )
        if study not in studies:
            first_rows.append(row)
            sizes.append((_size(path, row, "rows", fields), _size(path, row, "columns", fields)))
        places = studies.setdefault(study, len(studies)), models.setdefault(model, len(models))
        entries.append((*places, score, cost))
    if not entries:
        raise row_error(path, 2, "there is no data below the header; add rows")
    scores = np.full((len(studies), len(models)), np.nan)
    costs = scores.copy()
    for place, column, score, cost in entries:
        scores[place, column], costs[place, column] = score, cost
    return Table(
        name or str(path),
        tuple(studies),
        tuple(models),
        scores,
        costs,
        sizes=tuple(sizes) if any(map(any, sizes)) else (),
        rows=tuple(first_rows),
    )


class ModelFeatures(NamedTuple):
    """Features of models, one row each; columns of the same group share a scale."""

    values: Matrix
    groups: tuple[int, ...]


def read_features(path: Path, models: Sequence[str]) -> ModelFeatures:
    """Read a CSV file of model features and return them for `models`, in their order.

    The file has a column `model` and any number of numeric columns. A column `family` holds names;
    it becomes a group of columns, one per family.
    """
    found: dict[str, list[float]] = {}
    families: dict[str, str] = {}
    for row, fields in _rows(path, ("model",)):
        model = fields.pop("model")
        if model in found:
            raise row_error(path, row, f"model {short(model)} is listed twice; delete one row")
        if "family" in fields:
            families[model] = fields.pop("family")
        found[model] = [number(path, row, name, text) for name, text in fields.items()]
        if not found[model] and not families:
            raise row_error(path, 1, "there is no feature column; add a numeric column")
    for model in models:
        if model not in found:
            raise row_error(path, len(found) + 2, f"model {model!r} is missing; add a row for it")
    values = np.array([found[model] for model in models])
    groups = tuple(range(values.shape[1]))
    if families:
        names = sorted({families[model] for model in models})
        members = np.array([[families[model] == name for name in names] for model in models])
        values = np.hstack([values, members.astype(np.float64)])
        groups += (len(groups),) * len(names)
    return ModelFeatures(values, groups)


def history_scores(history: Table, models: Sequence[str]) -> Matrix:
    """Return past scores, one row per study and one column per model; NaN where not run."""
    scores = np.full((len(history.studies), len(models)), np.nan)
    places = {model: place for place, model in enumerate(history.models)}
    for column, model in enumerate(models):
        if model in places:
            scores[:, column] = history.scores[:, places[model]]
    return scores


def complete_history(history: Table, models: Sequence[str]) -> Matrix:
    """Like `history_scores`, but raise InvalidTable if a study lacks a model."""
    scores = history_scores(history, models)
    missing = np.argwhere(~np.isfinite(scores))
    if len(missing):
        study, model = missing[0]
        row = f", row {history.rows[study]}" if history.rows else ""
        raise InvalidTable(
            f"{history.name}{row}: study {short(history.studies[study])} starts here and has no "
            f"row for model {short(models[model])}; add that row, delete the study's rows, or use "
            "a kernel prior"
        )
    return scores


def _rows(path: Path, required: Sequence[str]) -> Iterator[Row]:
    try:
        text = _decoded(path, path.read_bytes())
    except FileNotFoundError:
        raise InvalidTable(f"{path}: there is no such file; check the path") from None
    except IsADirectoryError:
        raise InvalidTable(f"{path}: this is a directory; name a CSV file in it") from None
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidTable(f"{path}: cannot be read ({reason}); check the file") from None
    yield from parsed_rows(path, io.StringIO(text, newline=""), required)


def _decoded(path: Path, data: bytes) -> str:
    if data.startswith(b"\x1f\x8b"):  # gzip, whatever the file is called
        data = gzip.decompress(data)
    try:
        # utf-8-sig, since spreadsheets write a byte-order mark before the header.
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        row = data.count(b"\n", 0, error.start) + 1
        raise row_error(path, row, "not UTF-8 text; save it as a UTF-8 CSV file") from None


def parsed_rows(path: Path, file: TextIO, required: Sequence[str]) -> Iterator[Row]:
    """Yield each row below the header, with its number."""
    csv.field_size_limit(LONGEST_FIELD)  # process-wide: other code may have changed it
    reader = csv.reader(file, strict=True)
    try:
        header = [name.strip() for name in next(reader, [])]
        if not any(header):
            raise row_error(
                path, 1, f"the header is missing; start the file with {','.join(required)}"
            )
        for name in required:
            if header.count(name) != 1:
                problem = "is missing" if name not in header else "is listed twice"
                raise row_error(
                    path,
                    1,
                    f"the column {name!r} {problem}; the header must contain {','.join(required)}, "
                    "in lower case and separated by commas",
                )
        for fields in reader:
            if not any(field.strip() for field in fields):
                continue
            if len(fields) != len(header):
                raise row_error(
                    path,
                    reader.line_num,
                    f"{len(fields)} fields, but the header has {len(header)}; "
                    "complete or delete the row, and quote names that contain a comma",
                )
            values = dict(zip(header, (field.strip() for field in fields), strict=True))
            yield reader.line_num, values
    except csv.Error as error:
        raise row_error(path, reader.line_num, f"not a CSV row ({error}); fix it") from None


def _size(path: Path, row: int, column: str, fields: Mapping[str, str]) -> int:
    """Return the number of rows or columns of a dataset, 0 if unknown."""
    text = fields.get(column, "")
    if not text:
        return 0
    value = number(path, row, column, text)
    if value < 1.0 or value != math.floor(value):
        raise row_error(
            path, row, f"the {column} are {text}; write an integer of at least 1, or leave it empty"
        )
    return int(value)


def number(path: Path, row: int, column: str, text: str) -> float:
    """Parse a finite number."""
    try:
        # float() would also accept 1_000 and non-ASCII digits.
        value = float(text) if text.isascii() and "_" not in text else None
    except ValueError:
        value = None
    if value is None:
        raise row_error(
            path,
            row,
            f"the {column} is {short(text)}, not a number; write a number, or delete the row",
        )
    if not abs(value) <= LARGEST:
        limit = f" of at most {LARGEST:g}" if math.isfinite(value) else ""
        raise row_error(
            path,
            row,
            f"the {column} is {text[:40]}; write a finite number{limit}, or delete the row",
        )
    return value


def short(text: str) -> str:
    """Quote a name for a message: on one line, with at most 60 characters."""
    return repr(text if len(text) <= 60 else text[:57] + "...")


def row_error(path: Path, row: int, problem: str) -> InvalidTable:
    """Return an error for a row; `problem` names the cause and the remedy."""
    return InvalidTable(f"{path}, row {row}: {problem}")
