"""Inspection, trials and scripts read files in the same way."""

import hashlib
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bentham.errors import InvalidInput
from bentham.training.catalog import load_catalog
from bentham.training.dataset import DataFile, Format
from bentham.training.inspect import inspect_file
from bentham.training.plan import plan
from bentham.training.reading import as_categories, as_numbers, date_parts, read_table
from bentham.training.script import script
from bentham.training.sources import _as_csv
from bentham.training.training_plan import PlanRequest

INFINITE = float("inf")


def dataset(path: Path, kind: Format) -> DataFile:
    """Inspect a file, as the service does."""
    found, content = inspect_file(path, kind), path.read_bytes()
    assert found.refusal == ""
    digest = hashlib.sha256(content).hexdigest()
    return DataFile(
        "d", "data", digest, kind, found.delimiter, len(content), found.rows, tuple(found.columns)
    )


def scripted(data: DataFile, request: PlanRequest, model: str) -> dict[str, Any]:
    """Execute a training script; return its namespace."""
    spec = load_catalog().algorithms[model]
    functions: dict[str, Any] = {"__name__": "model"}
    exec(script(plan(data, request), model, spec, spec.defaults), functions)
    return functions


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        (pd.Series([10, 20]), ["10", "20"]),
        (pd.Series([10.0, None]), ["10", None]),
        (pd.Series([10, None], dtype="Int64"), ["10", None]),
        (pd.Series([10.0, None], dtype="float32"), ["10", None]),
        (pd.Series([10.0, None]).astype("category"), ["10", None]),
        (pd.Series([0.5, -0.0, 1e300]), ["0.5", "0", "1e+300"]),
        (pd.Series([INFINITE, -INFINITE, 1.0]), [None, None, "1"]),
        (pd.Series(["1.0", "1", "inf"]), ["1.0", "1", "inf"]),
        (pd.Series([True, None]), ["True", None]),
    ],
)
def test_numbers_as_categories(values: pd.Series, texts: list[str | None]) -> None:
    found = as_categories(values)
    assert [None if pd.isna(each) else each for each in found] == texts


@pytest.mark.parametrize(
    ("texts", "number"),
    [
        ("1200.5 $1,200.50 USD1200.5 1'200.50 1,200.50€ US$1,200.5 +1200.5 1.2005k", 1200.5),
        ("-7 (7) 7- $(7) (7€) -$7 7DR \u22127 -7kg", -7.0),
        ("1234567 1,234,567 1.234.567 12,34,567 1'234'567 1,234,567.--", 1234567.0),
        ("3.5 3,5 3,5% 3.5kg 3.5°C 3,5€ 3.5CR", 3.5),
        (
            "x (7 7) 1(2) 5/6 1.2.3 10-20 <5 ~5 5'11\" A7 7-8 1..2 12.3.4567 " + "1" * 41 + "kg",
            None,
        ),
    ],
)
def test_numbers_as_people_write_them(texts: str, number: float | None) -> None:
    values = pd.Series(texts.split())
    for comma in (False, True):
        found = [None if pd.isna(each) else each for each in as_numbers(values, comma)]
        assert dict(zip(values, found, strict=True)) == dict.fromkeys(values, number)


def test_only_the_type_decides_what_can_be_read_in_two_ways() -> None:
    values = pd.Series(["1,234", "1.234", "1,234.5", "1.234,5"])
    assert list(as_numbers(values)) == [1234.0, 1.234, 1234.5, 1234.5]
    assert list(as_numbers(values, True)) == [1.234, 1234.0, 1234.5, 1234.5]


def test_dates_and_times() -> None:
    texts = {
        "2024-02-29T23:30:00.5+01:00": (2024, 2, 3, 19782, 23.5),
        "Thu, 29 Feb 2024 23:30:00 GMT": (2024, 2, 3, 19782, 23.5),
        "29 février 2024": (2024, 2, 3, 19782, None),
        "2024Q1": (2024, 1, 0, 19723, None),
        "Jan-24": (2024, 1, 0, 19723, None),
        "29/2/24 11:30 p.m.": (2024, 2, 3, 19782, 23.5),
        "100:30:00": (None, None, None, None, 100.5),
        **dict.fromkeys(["2023-02-29", "9999-12-31", "0000-00-00", "10-20", "12:60", "", "x" * 50]),
    }
    read = date_parts(pd.Series(list(texts)), "day-first").to_numpy().tolist()
    found = [tuple(None if pd.isna(each) else each for each in row) for row in read]
    assert dict(zip(texts, found, strict=True)) == {
        text: parts or (None,) * 5 for text, parts in texts.items()
    }


def test_a_missing_value_changes_no_category(tmp_path: Path) -> None:
    rows = 40
    codes: list[int | None] = [[10, 20][row % 2] for row in range(rows)]
    noise = [float(row % 7) for row in range(rows)]
    labels = [[1, 2][row % 2] for row in range(rows)]
    path, other = tmp_path / "whole", tmp_path / "other"
    with_null = pa.array([None, *codes[1:]], pa.int64())
    pq.write_table(pa.table({"code": with_null, "noise": noise, "y": labels}), path)
    request = PlanRequest("y", task="classification", types={"code": "category"})
    functions = scripted(dataset(path, "parquet"), request, "logistic-regression")
    for column in (pa.array([10, 20] * 5), pa.array([10, 20] * 4 + [10, None])):
        pq.write_table(pa.table({"code": column, "noise": [0.0] * 10}), other)
        found = functions["predict"](
            *functions["fit"](str(path)), functions["read_table"](other, None)
        )
        assert list(found["prediction"])[:8] == ["1", "2"] * 4


@pytest.mark.parametrize("header", ["a ,b", " a,\tb ", '"a ",b'])
def test_spaces_around_names_are_removed(tmp_path: Path, header: str) -> None:
    path = tmp_path / "data"
    path.write_text(header + "\n" + "".join(f"{row},{row % 2}\n" for row in range(20)))
    found = inspect_file(path, "csv")
    assert (found.refusal, [each.name for each in found.columns]) == ("", ["a", "b"])
    assert "spaces around column names are removed" in found.notes
    assert list(read_table(str(path), ",").columns) == ["a", "b"]


def test_names_that_differ_only_in_spaces_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_text("a ,a\n" + "1,2\n" * 20)
    assert "more than one column has the name 'a'" in inspect_file(path, "csv").refusal


def test_numbered_columns_of_parquet(tmp_path: Path) -> None:
    path = tmp_path / "data"
    pd.DataFrame({0: range(12), 1: [1, 2] * 6}).to_parquet(path)
    found = inspect_file(path, "parquet")
    assert (found.refusal, [each.name for each in found.columns]) == ("", ["0", "1"])


def test_infinite_targets_count_as_missing(tmp_path: Path) -> None:
    path, rows = tmp_path / "data", 40
    target = [INFINITE, -INFINITE] * (rows // 2 - 1) + [1.5, 2.5]
    pd.DataFrame({"a": [row + 0.5 for row in range(rows)], "y": target}).to_parquet(path)
    data = dataset(path, "parquet")
    (column,) = [each for each in data.columns if each.name == "y"]
    assert (column.missing, column.distinct) == (rows - 2, 2)
    assert "inf" in column.note
    with pytest.raises(InvalidInput, match="2 rows with a target are too few"):
        plan(data, PlanRequest("y", task="regression"))


def test_large_numbers_of_a_source_are_unchanged() -> None:
    table = pd.DataFrame({"a": [1e20, 2.0], "b": [1.0, 3.0]})
    assert _as_csv(table) == b"a,b\n1e+20,1\n2.0,3\n"


@pytest.mark.parametrize("rare", [2, 3, 4])
def test_probabilities_with_a_rare_class(tmp_path: Path, rare: int) -> None:
    path = tmp_path / "data"
    labels = ["p"] * 30 + ["q"] * 30 + ["r"] * rare
    lines = [f"{row * 37 % 11}.5,{row * 17 % 23},{label}" for row, label in enumerate(labels)]
    path.write_text("\n".join(["a,b,y", *lines]) + "\n")
    functions = scripted(dataset(path, "csv"), PlanRequest("y", metric="log-loss"), "ridge")
    score, _, scores = functions["evaluate"](str(path), lambda *_: None)
    assert -1.0 <= score <= 1.0
    assert len(scores) == rare  # one fold per row of the rare class


def test_a_model_that_needs_more_rows_per_class(tmp_path: Path) -> None:
    path = tmp_path / "data"
    labels = ["p"] * 20 + ["q"] * 20 + ["r"] * 2
    lines = [f"{row * 37 % 11}.5,{row * 17 % 23},{label}" for row, label in enumerate(labels)]
    path.write_text("\n".join(["a,b,y", *lines]) + "\n")
    request = PlanRequest("y")
    functions = scripted(dataset(path, "csv"), request, "quadratic-discriminant")
    with pytest.raises(ValueError, match=r"at least 2 rows of each class, .* merge rare classes"):
        functions["evaluate"](str(path), lambda *_: None)
