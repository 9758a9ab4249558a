"""Inspection of files: types, notes, and refusals with a remedy."""

import csv
import datetime
import decimal
import io
import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bentham.training import columns, parquet_file, reading, refusals, written_numbers
from bentham.training import inspect as inspect_module
from bentham.training.dataset import (
    LONGEST_COLUMN,
    MOST_COLUMNS,
    ColumnSummary,
    Format,
    Inspection,
)
from bentham.training.inspect import inspect_file
from bentham.training.reading import as_categories, as_numbers, read_table

Inspect = Callable[[bytes | str], Inspection]


@pytest.fixture
def inspect(tmp_path: Path) -> Inspect:
    def inspect(content: bytes | str, format: Format = "csv") -> Inspection:  # noqa: A002
        path = tmp_path / "data"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return inspect_file(path, format)

    return inspect


def table(header: str, *lines: str, rows: int = 20) -> str:
    """Repeat the lines; {} stands for the row number."""
    body = [lines[row % len(lines)].replace("{}", str(row)) for row in range(rows)]
    return "\n".join([header, *body]) + "\n"


def column(found: Inspection, name: str) -> ColumnSummary:
    assert found.refusal == ""
    return next(each for each in found.columns if each.name == name)


GOOD = table("a,b,y", "{}.5,x,0", "{}.25,z,1")
REFUSED: dict[str, tuple[bytes | str, list[str]]] = {
    "empty": (b"", ["is empty", "line of column names"]),
    "blank": (b"\xef\xbb\xbf \r\n\n", ["is empty"]),
    "only a header": ("a,b\n", ["are 0 rows", "at least 10", "add rows"]),
    "one row": ("a,b\n1,2\n", ["is 1 row", "at least 10"]),
    "nine rows": (table("a,b", "{},1", rows=9), ["are 9 rows"]),
    "one column": (table("a", "{}"), ["only one column", "'a'"]),
    "not UTF-8": (GOOD.replace("z", "é").encode("latin-1"), ["line 3", "0xE9", "UTF-8"]),
    "cut in a character": (GOOD.encode() + "1,é".encode()[:-1], ["middle of a character", "UTF-8"]),
    "NUL": (GOOD.replace("4.5", "4\0"), ["line 6", "NUL", "UTF-8"]),
    "UTF-16": (GOOD.encode("utf-16"), ["UTF-16", "save it as CSV in UTF-8"]),
    "UTF-16 without a mark": (GOOD.encode("utf-16-le"), ["NUL", "save it as CSV in UTF-8"]),
    "image": (b"\x89PNG\r\n\x1a\n" + bytes(99), ["PNG image", "save it as CSV"]),
    "spreadsheet": (b"PK\x03\x04" + bytes(99), ["spreadsheet (.xlsx)", "save it as CSV"]),
    "Parquet as CSV": (b"PAR1" + bytes(99), ["Parquet", "can be uploaded as Parquet"]),
    "too short": (GOOD.replace("7.25,z,1", "7.25,z"), ["line 9", "2 values", "3 columns"]),
    "too long": (GOOD.replace("7.25,z,1", "7,25,z,1"), ["line 9", "4 values", "row number"]),
    "unclosed quote": (GOOD.replace("\n4.5,x", '\n4.5,"x'), ["line 6", "never closed", "close it"]),
    "text after a quote": (GOOD.replace("4.5,x", '4.5,"x"y'), ["line 6", "written twice"]),
    "duplicate names": (table("a,b,a", "1,{},3"), ["more than one", "'a'", "rename"]),
    "name of an unnamed": (table(",b,Unnamed: 0", "1,{},3"), ["'Unnamed: 0'", "rename"]),
    "long name": (table("a" * 201 + ",b", "1,{}"), ["201", str(LONGEST_COLUMN), "shorten"]),
    "many columns": (
        table(",".join(f"c{n}" for n in range(2001)), ",".join("1" * 2001)),
        ["2,001", f"{MOST_COLUMNS:,}", "leave some out"],
    ),
    "ten million columns": ("a," * 10_000_000 + "b\n", ["line 1", "4 MiB", "line break"]),
    "one huge value": (table("a,b", "1,2") + "1," + "x" * 10**8, ["line 22", "4 MiB"]),
    "one large value": (table("a,b", "1,2") + "1," + "x" * 200_000, ["line 22", "128 KiB"]),
    "all missing": (table("a,b", ",NA"), ["every value is missing", "check"]),
    "a title": ("Sales of 2024,,\n" + GOOD, ["one of 3 columns", "'Sales of 2024'", "remove it"]),
    "a line for spreadsheets": ("sep=;\n" + GOOD.replace(",", ";"), ["'sep=;'", "remove"]),
    "a quoted nothing": (GOOD + '""\n', ["in two ways", "blank lines"]),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_bad_files_are_refused_with_cause_and_remedy(inspect: Inspect, case: str) -> None:
    content, words = REFUSED[case]
    found = inspect(content)
    assert [word for word in words if word not in found.refusal] == [], found.refusal
    assert "\n" not in found.refusal
    assert len(found.refusal) < 400
    assert found.columns == []


def test_large_tables_are_refused_before_they_are_read(
    inspect: Inspect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refusals, "MOST_CELLS", 50)
    assert "draw a sample" in inspect(GOOD).refusal
    monkeypatch.setattr(refusals, "MOST_CELLS", 60)
    assert inspect(GOOD).refusal == ""


def test_a_plain_table_is_described(inspect: Inspect) -> None:
    found = inspect(GOOD)
    assert (found.refusal, found.delimiter, found.rows, found.notes) == ("", ",", 20, [])
    assert [each.model_dump(exclude={"values"}) for each in found.columns] == [
        {"name": "a", "type": "number", "missing": 0, "distinct": 20, "rarest": 1, "singles": 20,
         "unread": 0, "numbers": 20, "whole": False, "numeric": True, "note": "", "predictors": [],
         "samples": [("0.5", "0.5"), ("1.25", "1.25"), ("2.5", "2.5")]},
        {"name": "b", "type": "category", "missing": 0, "distinct": 2, "rarest": 10, "singles": 0,
         "unread": 0, "numbers": 0, "whole": False, "numeric": False, "note": "",
         "predictors": ["y"], "samples": [("x", "x"), ("z", "z")]},
        {"name": "y", "type": "number", "missing": 0, "distinct": 2, "rarest": 10, "singles": 0,
         "unread": 0, "numbers": 20, "whole": True, "numeric": True, "note": "",
         "predictors": ["b"], "samples": [("0", "0"), ("1", "1")]},
    ]  # fmt: skip
    assert column(found, "b").values == [("x", 10), ("z", 10)]


@pytest.mark.parametrize(
    ("values", "kind", "words"),
    [
        (["1", "2", "?", "NA"], "number", []),
        (["{}"] * 39 + ["broken"], "number", ["1 of its values", "'broken'", "category"]),
        (["{}"], "ignored", ["numbers the rows"]),
        (["{}", "x"], "category", []),
        (["red", "green", ""], "category", []),
        (["name {}"], "ignored", ["distinct texts", "set its type to category"]),
        (["2024-1-31", "2024-02-28T10:00:00Z"], "date", []),
        (["24.12.2024 18:00", "1.1.25 9:00"], "day-first", []),
        (["12/24/2024", "1/1/25 9:00 PM"], "month-first", []),
        (["1/2/2024", "3/4/2024"], "month-first", ["no value shows", "day-first"]),
        (["1.2.2024", "3.4.2024"], "day-first", ["no value shows", "month-first"]),
        (["1 Mar 2024", "Dec 24, 2023"], "date", []),
        (["20240301", "20231224"], "date", ["set its type to number"]),
        (["12:30", "8:15 PM"], "date", []),
        (["$1,200.50", "-$3", "($4.5)"], "number", ["'$1,200.50' is read as 1200.5"]),
        (["1.200,50 EUR", "3,5 EUR"], "decimal-comma", ["'1.200,50 EUR' is read as 1200.5"]),
        (["$5", "EUR 6"], "number", ["several currencies ($, EUR) are not converted"]),
        (["12,345", "7"], "number", ["is read as 12345", "decimal-comma"]),
        (["12.345", "7"], "decimal-comma", ["is read as 12345", "set its type to number"]),
        (["12.345", "7.125"], "number", ["is read as 12.345, not 12345", "decimal-comma"]),
        (["12 %", "7.5%"], "number", ["'12 %' is read as 12"]),
        (["12 %", "7.5"], "number", ["the unit '%', others not"]),
        (["$(1,234.50)", "$7"], "number", ["'$(1,234.50)' is read as -1234.5", "'$7' as 7"]),
        (["1.841,57-", "3,5"], "decimal-comma", ["'1.841,57-' is read as -1841.57"]),
        (["20,22,484", "64,542.5"], "number", ["'20,22,484' is read as 2022484"]),
        (["1.5M", "20k"], "number", ["'1.5M' is read as 1500000", "'20k' as 20000"]),
        (["5 kg", "2.5kg"], "number", ["'5 kg' is read as 5"]),
        (["30M", "25F"], "category", ["several units ('M', 'f')"]),
        (["5 kg", "700 g"], "category", ["several units ('g', 'kg')", "type to number"]),
        (["1,200.5", "3,5", "4.75"], "number", ["a decimal comma, such as '3,5', others"]),
        (["1", "2", "5", "-999"], "number", ["10 of its values are -999", "leave it empty"]),
        (["1", "2", "<1", "n.b."], "category", []),
        (["1", "2", "<1"], "category", ["68% of its values are numbers"]),
        (["Mar-24", "2024Q3", "05/2023"], "date", []),
        (["28 mars 2024", "3. Okt. 2023"], "date", []),
        (["30:15:00", "1:20"], "date", []),
        (["2024-01-31"] * 8 + ["13/1/2024", "1/2/2024"], "day-first", []),
        (["13/1/2024", "1/13/2024"], "category", ["50% of its values are dates"]),
        (["2024-01-31"] * 39 + ["0000-00-00"], "date", ["1 of its values are not dates"]),
        (["2024-01-31", "2024-02-01", "9999-12-31"], "date", ["'9999-12-31', and count as"]),
        (["2024-01-31T10:00:00+01:00", "2024-01-31T10:00Z"], "date", ["several zones"]),
        (["00000000"] * 2 + ["20240301", "20231224"], "date", ["'00000000', and count as"]),
        (["WAHR", "FALSCH"], "yes-no", []),
        (["Yes", "0", "no", "1"], "yes-no", ["read as yes (1) or no (0)"]),
        (["Yes", "no", "yes "], "yes-no", ["read as yes (1) or no (0)"]),
        (["true", "false"], "yes-no", []),
        (["J", "n", "Ja", "NEIN", "j"], "yes-no", ["read as yes (1) or no (0)"]),
        (["Red", "red", "green"], "any-spelling", ["'Red', 'red'", "merged", "category"]),
        (["02139", "10115"], "category", ["begin with 0"]),
        (["same"], "ignored", ["only one value, 'same'"]),
        (["7"], "ignored", ["only one value"]),
        (["so", ""], "category", []),
        ([""], "ignored", ["all its values are missing"]),
        (["True", "False"], "category", []),
        (["inf", "x", "-inf"], "category", []),
        (["1", "1.0", "2"], "number", ["several ways"]),
        (["1,5", "2,25"], "decimal-comma", ["is read as 1.5"]),
        (["1.000,5{}"], "decimal-comma", ["is read as 1000.5"]),
    ],
    ids=str,
)
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_types_are_inferred(
    inspect: Inspect, values: list[str], kind: str, words: list[str], ending: str
) -> None:
    lines = [f'{row},"{{}}"'.replace("{}", value, 1) for row, value in enumerate(values)]
    text = table("n,v", *lines, rows=40).replace("\n", ending)
    found = column(inspect(text), "v")
    assert found.type == kind
    assert [word for word in words if word not in found.note] == [], found.note
    assert bool(words) == bool(found.note)


def test_row_numbers_are_left_out(inspect: Inspect) -> None:
    found = inspect(table(",customer_id,size,y", "{},1{},9{},{}.5"))
    for name in ("Unnamed: 0", "customer_id"):
        assert column(found, name).type == "ignored"
        assert "set its type to number" in column(found, name).note
    assert column(found, "size").type == "number"
    assert found.notes == ["columns without a name are named by their position: 'Unnamed: 0'"]


def test_ids_and_postal_codes_are_recognized(inspect: Inspect) -> None:
    columns: dict[str, Callable[[int], int]] = {
        "account": lambda row: 7**12 + row * 8081,
        "seen": lambda row: 1_700_000_000 + row * 977,  # seconds since 1970
        "customerId": lambda row: 4000 + row * 3,
        "shopId": lambda row: 4000 + row // 3,
        "Ship ZipCode": lambda row: 10110 + row % 7,
        "y": lambda row: row % 3,
    }
    lines = [",".join(str(value(row)) for value in columns.values()) for row in range(120)]
    found = inspect("\n".join([",".join(columns), *lines, lines[7]]) + "\n")
    assert {each.name: each.type for each in found.columns} == {
        "account": "ignored", "seen": "number", "customerId": "ignored", "shopId": "number",
        "Ship ZipCode": "category", "y": "number",
    }  # fmt: skip
    assert "holds ids; set its type" in column(found, "account").note
    assert "holds ids; set its type" in column(found, "customerId").note


def test_a_total_in_the_last_row_is_noted(inspect: Inspect) -> None:
    text = table("region,sold,y", "north,{}.5,1", "south,{}.25,2")
    assert inspect(text).notes == []
    (note,) = inspect(text + f"Total,{sum(range(20)) + 7.5},30\n").notes
    assert "its 'sold' is the sum of all others" in note


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_other_separators_are_detected_and_noted(inspect: Inspect, delimiter: str) -> None:
    text = table("a;b, or c;y", '1,{};"x;y";{}', "2,{};;1").replace(";", delimiter)
    found = inspect(text)
    assert found.delimiter == delimiter
    assert [each.name for each in found.columns] == ["a", "b, or c", "y"]
    assert "separated by" in found.notes[0]


def test_a_header_that_looks_like_data_is_noted(inspect: Inspect) -> None:
    found = inspect("5.1,3.5,setosa\n" + table("4.9,3.0,setosa", "{},4,x", "2,3,y"))
    assert "add a line of names" in found.notes[0]


def test_formulas_stay_text_and_are_noted(inspect: Inspect) -> None:
    text = table("a,b,n", '"=HYPERLINK(""http://x"")",@SUM(A1),-1', "+1,x,+2", "-,y,=1+1", rows=60)
    found = inspect(text)
    assert [note for note in found.notes if "never evaluated" in note] == [
        "60 values of 'a', 'b', 'n' start like formulas (=, +, -, @ or a tab); they are stored as "
        "plain text and never evaluated, but a spreadsheet that opens them may evaluate them"
    ]
    assert column(found, "a").missing == 20  # a dash alone means missing


def parquet(table: pd.DataFrame | pa.Table) -> bytes:
    target = io.BytesIO()
    if isinstance(table, pd.DataFrame):
        table.to_parquet(target)
    else:
        pq.write_table(table, target)
    return target.getvalue()


def inspected(tmp_path: Path, content: bytes) -> Inspection:
    (tmp_path / "data").write_bytes(content)
    return inspect_file(tmp_path / "data", "parquet")


def test_parquet_of_every_type(tmp_path: Path) -> None:
    day, many = datetime.date(2024, 2, 29), 12
    columns = {
        "number": pa.array([1.5, None, float("inf"), *range(9)]),
        "whole": pa.array([1, 2, 3] * 4, pa.int8()),
        "decimal": pa.array([decimal.Decimal("1.50"), None, decimal.Decimal("2.25")] * 4),
        "text": pa.array(["a", "b", None] * 4),
        "truth": pa.array([True, None, False] * 4),
        "category": pa.array(["a", "b", "b"] * 4).dictionary_encode(),
        "spelled category": pa.array(["a", "A ", "b"] * 4).dictionary_encode(),
        "numbered category": pa.array([1, 2, 2] * 4).dictionary_encode(),
        "day": pa.array([day, datetime.date(2023, 1, 1)] * 6),
        "instant": pa.array([datetime.datetime(2024, 1, 1 + n) for n in range(many)]),
        "span": pa.array([datetime.timedelta(1)] * many),
        "bytes": pa.array([b"a", None, b"\0"] * 4),
        "list": pa.array([[1], [2, 3], None] * 4),
        "struct": pa.array([{"a": 1}] * many),
        "nothing": pa.nulls(many),
    }
    found = inspected(tmp_path, parquet(pa.table(columns)))
    assert found.refusal == ""
    assert {each.name: each.type for each in found.columns} == {
        "number": "number", "whole": "number", "decimal": "number", "text": "category",
        "truth": "category", "category": "category", "numbered category": "number",
        "spelled category": "any-spelling",
        "day": "date", "instant": "date", "span": "ignored", "bytes": "ignored",
        "list": "ignored", "struct": "ignored", "nothing": "ignored",
    }  # fmt: skip
    assert "1 of its values" in column(found, "number").note
    assert column(found, "day").samples[0] == ("2024-02-29", "2024-02-29")
    assert column(found, "instant").samples[1][1] == "2024-01-02 00:00"
    for name in ("span", "bytes", "list", "struct"):
        assert "columns of numbers or texts" in column(found, name).note
    assert column(found, "numbered category").numeric
    assert column(found, "text").missing == 4


def test_a_pandas_index_is_not_a_column(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": range(12), "b": ["x", "y"] * 6}, index=[f"r{n}" for n in range(12)])
    found = inspected(tmp_path, parquet(frame))
    assert [each.name for each in found.columns] == ["a", "b"]


def test_bad_parquet_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = parquet(pd.DataFrame({"a": range(12), "b": ["x", "y"] * 6}))
    assert inspected(tmp_path, good).refusal == ""
    for bad in (good[:-30], good[:4], good[:4] + bytes(1000) + b"PAR1", good[:20] + good[21:]):
        assert "write it again" in inspected(tmp_path, bad).refusal
    assert "not a Parquet file" in inspected(tmp_path, GOOD.encode()).refusal
    twice = pa.table([pa.array(range(12))] * 2, names=["a", "a"])
    assert "more than one column" in inspected(tmp_path, parquet(twice)).refusal
    zero = pa.table({"a\0b": range(12), "b": range(12)})
    assert "cannot be stored" in inspected(tmp_path, parquet(zero)).refusal
    wide = pa.table({f"c{n}": [1] * 12 for n in range(MOST_COLUMNS + 1)})
    assert "2,001" in inspected(tmp_path, parquet(wide)).refusal
    monkeypatch.setattr(parquet_file, "LARGEST", 50)
    assert "when unpacked" in inspected(tmp_path, good).refusal


def test_a_parquet_bomb_is_refused_without_reading_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = refusals.MOST_ROWS + 1
    same = pa.repeat(pa.scalar(1, pa.int8()), rows)
    bomb = parquet(pa.table({"a": same, "b": same}))
    assert len(bomb) < 2**20
    monkeypatch.setattr("bentham.training.inspect.read_table", pytest.fail)
    assert f"{rows:,} rows" in inspected(tmp_path, bomb).refusal


def test_unexpected_errors_are_refusals(
    inspect: Inspect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    absent = inspect_file(tmp_path / "absent", "csv").refusal
    assert "No such file" in absent
    assert str(tmp_path) not in absent
    for error in (RuntimeError("odd\nthing"), MemoryError()):

        def fails(*_: object, error: Exception = error) -> None:
            raise error

        monkeypatch.setattr("bentham.training.inspect.read_table", fails)
        assert "write it again" in inspect(GOOD).refusal or "memory" in inspect(GOOD).refusal


def run(path: Path, *options: str) -> Inspection:
    command = [sys.executable, "-m", "bentham.training.inspect", *options, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n") == 1
    return Inspection.model_validate(json.loads(done.stdout))


@pytest.mark.outside
def test_the_command_prints_the_inspection(tmp_path: Path) -> None:
    (tmp_path / "data").write_text(GOOD)
    assert run(tmp_path / "data") == inspect_file(tmp_path / "data", "csv")


@pytest.mark.outside
def test_the_command_limits_its_memory_and_time(tmp_path: Path) -> None:
    first = pa.repeat(pa.scalar(0, pa.int8()), 1_000_000)
    words = pa.DictionaryArray.from_arrays(first, ["x" * 10_000])
    pq.write_table(pa.table({"a": words, "b": first}), tmp_path / "bomb", store_schema=False)
    assert (tmp_path / "bomb").stat().st_size < 2**20
    found = run(tmp_path / "bomb", "--format", "parquet", "--memory", "2000")
    assert "memory" in found.refusal
    assert "draw a sample" in found.refusal
    (tmp_path / "slow").write_bytes(b"a,b\n" + b"1,x\n" * 8_000_000)
    assert "more than 1 s of CPU time" in run(tmp_path / "slow", "--seconds", "1").refusal


texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6)
cells = st.one_of(
    st.sampled_from(["", "NA", "1", "2.5", "-3e7", "inf", "=1+1", "x", '"', "a,b", " ", "\n"]),
    st.integers().map(str), st.floats().map(str), texts,
)  # fmt: skip


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_inspection_agrees_with_reading(tmp_path: Path, data: st.DataObject) -> None:
    width = data.draw(st.integers(2, 4))
    names = data.draw(st.lists(texts, min_size=width, max_size=width))
    row = st.lists(cells, min_size=width, max_size=width)
    rows = data.draw(st.lists(row, min_size=8, max_size=20))
    path = tmp_path / "data"
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([names, *rows])
    found = inspect_file(path, "csv")
    if found.refusal:
        assert ";" in found.refusal or ":" in found.refusal
        return
    read = read_table(str(path), found.delimiter)
    assert [each.name for each in found.columns] == list(read.columns)
    assert found.rows == len(read)
    for each in found.columns:
        values = as_categories(read[each.name], each.type == "any-spelling")
        numbers = as_numbers(read[each.name])
        assert each.missing - each.unread == values.isna().sum()
        assert each.numbers == numbers.notna().sum()
        assert each.distinct == values.nunique()
        assert each.rarest == (values.value_counts().min() if each.distinct else 0)
        if each.type == "number":
            assert numbers.notna().sum() >= 0.95 * (len(values) - each.missing + each.unread)
            assert each.missing == numbers.isna().sum()
            assert each.numeric
        if each.whole:
            assert all(number.is_integer() for number in numbers.dropna())


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=300), format=st.sampled_from(["csv", "parquet"]))
def test_random_bytes_are_refused(tmp_path: Path, content: bytes, format: Format) -> None:  # noqa: A002
    (tmp_path / "data").write_bytes(content if format == "csv" else b"PAR1" + content + b"PAR1")
    found = inspect_file(tmp_path / "data", format)
    assert found.refusal
    assert "\n" not in found.refusal


def test_numbers_that_seem_to_stand_for_missing_values_are_noted(inspect: Inspect) -> None:
    rows = [
        {
            "income": -999 if row % 25 == 0 else 20_000 + 1290 * row,
            "visits": -1 if row % 10 == 0 else row % 7,
            "area": 9999 if row % 20 == 0 else 20_000 + 1290 * row,
            "price": 5_000_000 if row % 20 == 0 else 10 + row,
            "mood": (-1, 0, 1)[row % 3],
            "change": row % 9 - 4,
            "age": 20 + row % 80,
        }
        for row in range(100)
    ]
    lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
    found = {each.name: each.note for each in inspect("\n".join(lines)).columns}
    assert "4 of its values are -999, far from all others" in found["income"]
    assert "10 of its values are -1, the only negative value" in found["visits"]
    assert "5 of its values are 9999, far" in found["area"]
    assert "5 of its values are 5000000, far" in found["price"]
    assert [found[name] for name in ("mood", "change", "age")] == [""] * 3


def test_values_that_cannot_be_read_count_as_missing(inspect: Inspect) -> None:
    lines = [f"{row}.5,2024-03-{row % 28 + 1:02},{row % 2}" for row in range(100)]
    lines[0], lines[1] = "many,yesterday,0", ",2024-01-01,1"
    found = inspect("\n".join(["size,day,y", *lines]))
    size, day = column(found, "size"), column(found, "day")
    assert (size.type, size.missing, size.unread, size.numbers) == ("number", 2, 1, 98)
    assert (day.type, day.missing, day.unread) == ("date", 1, 1)


def test_spellings_of_yes_and_no_are_named_so(inspect: Inspect) -> None:
    found = column(inspect(table("a,b", "{},false", "{},1", "{},No", "{},True")), "b")
    assert found.values == [("no", 10), ("yes", 10)]


def test_the_numbers_of_a_wide_table_are_read_once(
    inspect: Inspect, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []

    def counting(name: str, real: Callable[..., Any], *values: Any) -> Any:
        calls.append(name)
        return real(*values)

    for module, name in (
        (written_numbers, "number_parts"),
        (columns, "date_parts"),
        (reading, "number_parts"),
        (inspect_module, "formulas_in"),
    ):
        monkeypatch.setattr(module, name, partial(counting, name, getattr(module, name)))
    names = [f"dose {at}" for at in range(40)]
    found = inspect(table(",".join([*names, "y"]), ",".join(["-{}.5 mg"] * 40 + ["a"]), rows=50))
    assert {column(found, name).type for name in names} == {"number"}
    assert set(calls) == {"number_parts", "formulas_in"}
    assert calls.count("number_parts") <= 2 * len(names) + 15  # without and with a decimal comma
    assert calls.count("formulas_in") == 1
