"""Ordinary messy files: what is understood is right, and scores are those of a cleaned file.

Each case writes the same table twice: as people write it, and as someone would clean it by hand.
"""

import csv
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from time import process_time
from typing import Any

import pytest

from bentham.training.catalog import load_catalog
from bentham.training.dataset import DataFile, Inspection
from bentham.training.inspect import inspect_file
from bentham.training.plan import plan
from bentham.training.script import script
from bentham.training.training_plan import PlanRequest, TrainingPlan

ROWS = 320
SETTINGS = {"n_estimators": 60, "max_features": 0.5, "min_samples_leaf": 2}
ABSENT = [" N/A ", "-", "?", "unknown"]
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
Row = dict[str, Any]


@dataclass
class Case:
    """Two versions of a row, and the types that the messy one must be read with."""

    messy: Callable[[random.Random, Row], Row]
    clean: Callable[[Row], Row]
    types: dict[str, str]
    delimiter: str = ","
    notes: list[str] = field(default_factory=list)


def euros(value: float) -> str:
    return f"{value:,.2f}".replace(",", "_").replace(".", ",").replace("_", ".")


def signed(value: float) -> str:
    short = f"{abs(value) / 1000:.3f}k" if abs(value) < 40_000 else f"{abs(value) / 1e6:.6f}M"
    return f"{short}-" if value < 0 else short


def facts(draw: random.Random) -> Row:
    """A customer: who leaves depends on the amount, the plan, the month and whether unhappy."""
    amount, share = draw.uniform(200, 90_000), draw.uniform(0, 100)
    year, month, day = draw.randint(2015, 2024), draw.randint(1, 12), draw.randint(1, 28)
    plan_name, unhappy = draw.choice(["basic", "plus"]), draw.random() < 0.5
    leaves = (amount > 45_000) + unhappy + (month > 6) + (plan_name == "basic") >= 3
    return {
        "amount": amount, "share": share, "year": year, "month": month, "day": day,
        "plan": plan_name, "unhappy": unhappy, "left": leaves != (draw.random() < 0.02),
        "known": draw.random() > 0.2, "zip": f"0{draw.randint(1000, 1030)}",
    }  # fmt: skip


def base(row: Row) -> Row:
    """The columns that every case has, clean."""
    return {
        "share": f"{row['share']:.1f}",
        "month": row["month"],
        "unhappy": int(row["unhappy"]),
        "plan": row["plan"],
    }


def of(row: Row, **columns: Any) -> Row:
    left = columns.pop("left", "yes" if row["left"] else "no")
    return {**base(row), **columns, "left": left}


def days(row: Row) -> int:
    return int(row["year"] * 365 + row["month"] * 30 + row["day"])


CASES = {
    "currency": Case(
        lambda _, row: of(row, amount=f"${row['amount']:,.2f}"),
        lambda row: of(row, amount=f"{row['amount']:.2f}"),
        {"amount": "number"}, notes=["is read as"],
    ),
    "currency after the number, decimal comma": Case(
        lambda _, row: of(row, amount=f"{euros(row['amount'])} EUR"),
        lambda row: of(row, amount=f"{row['amount']:.2f}"),
        {"amount": "decimal-comma"}, ";", notes=["is read as"],
    ),
    "percent": Case(
        lambda _, row: of(row, amount=f"{row['amount'] / 900:.1f} %"),
        lambda row: of(row, amount=f"{row['amount'] / 900:.1f}"),
        {"amount": "number"}, notes=["is read as"],
    ),
    "thousands with commas": Case(
        lambda _, row: of(row, amount=f"{row['amount']:,.0f}"),
        lambda row: of(row, amount=f"{row['amount']:.0f}"),
        {"amount": "number"}, notes=["decimal-comma"],
    ),
    "thousands with points": Case(
        lambda _, row: of(row, amount=f"{row['amount']:,.0f}".replace(",", ".")),
        lambda row: of(row, amount=f"{row['amount']:.0f}"),
        {"amount": "decimal-comma"}, notes=["set its type to number"],
    ),
    "dates, year first": Case(
        lambda _, row: of(row, when=f"{row['year']}-{row['month']:02}-{row['day']:02}"),
        lambda row: of(row, when=days(row), year=row["year"]),
        {"when": "date"},
    ),
    "dates, day first": Case(
        lambda _, row: of(row, when=f"{row['day']}.{row['month']}.{row['year']} 12:30"),
        lambda row: of(row, when=days(row), year=row["year"]),
        {"when": "day-first"},
    ),
    "dates, month first": Case(
        lambda _, row: of(row, when=f"{row['month']:02}/{row['day']:02}/{row['year']}"),
        lambda row: of(row, when=days(row), year=row["year"]),
        {"when": "month-first"},
    ),
    "dates with names of months": Case(
        lambda _, row: of(row, when=f"{row['day']} {MONTHS[row['month'] - 1]} {row['year']}"),
        lambda row: of(row, when=days(row), year=row["year"]),
        {"when": "date"},
    ),
    "amounts with minus behind them, in thousands and millions, and units": Case(
        lambda _, row: of(
            row, share=f"{row['share']:.1f} °C", amount=signed(row["amount"] - 45_000),
            month=f"{MONTHS[row['month'] - 1]}-24",
        ),
        lambda row: of(row, amount=round((row["amount"] - 45_000) / 1000, 3)),
        {"amount": "number", "share": "number", "month": "date"}, notes=["is read as -", "°C"],
    ),
    "both decimal signs in one column": Case(
        lambda draw, row: of(
            row, amount=euros(row["amount"]) if draw.random() < 0.3 else f"{row['amount']:,.2f}"
        ),
        lambda row: of(row, amount=f"{row['amount']:.2f}"),
        {"amount": "number"}, ";", notes=["some values have a decimal comma"],
    ),
    "near-duplicate labels and categories": Case(
        lambda draw, row: of(
            row, plan=draw.choice([row["plan"], row["plan"].upper(), f" {row['plan']} "]),
            left=draw.choice(["yes", "Yes ", "YES"] if row["left"] else ["no", "No"]),
        ),
        lambda row: of(row),
        {"plan": "any-spelling", "left": "yes-no"}, notes=["are merged", "read as yes"],
    ),
    "ids, postal codes and free text": Case(
        lambda draw, row: {
            "customer": f"C-{draw.randrange(10**9):09}",
            **of(row, zip=row["zip"], remark=f"said {draw.random()} by phone"),
        },
        lambda row: of(row, zip=f"code {row['zip']}"),
        {"customer": "ignored", "zip": "category", "remark": "ignored"},
        notes=["begin with 0", "2 columns are left out"],
    ),
    "mixed types and texts for missing values": Case(
        lambda draw, row: of(
            row, amount=f" {row['amount']:.0f} " if row["known"] else draw.choice(ABSENT),
        ),
        lambda row: of(row, amount=f"{row['amount']:.0f}" if row["known"] else ""),
        {"amount": "number"}, notes=["'unknown', and count as missing"],
    ),
}  # fmt: skip


def write(path: Path, rows: list[Row], delimiter: str = ",") -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)


def read(path: Path, rows: list[Row], delimiter: str = ",") -> tuple[Inspection, DataFile]:
    write(path, rows, delimiter)
    found = inspect_file(path, "csv")
    assert found.refusal == ""
    content = path.read_bytes()
    return found, DataFile(
        "d", path.name, sha256(content).hexdigest(), "csv", found.delimiter, len(content),
        found.rows, tuple(found.columns),
    )  # fmt: skip


def score(path: Path, training: TrainingPlan) -> float:
    algorithm = load_catalog(None).algorithm("random-forest")
    source = script(training, "random-forest", algorithm, SETTINGS)
    names: dict[str, Any] = {"__name__": "script"}
    exec(compile(source, "script.py", "exec"), names)
    return float(names["evaluate"](str(path), lambda *_: None)[0])


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_messy_file_scores_like_a_cleaned_one(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    draw = random.Random(5)
    rows = [facts(draw) for _ in range(ROWS)]
    messy_path, clean_path = tmp_path / "messy.csv", tmp_path / "clean.csv"
    found, messy = read(messy_path, [case.messy(draw, row) for row in rows], case.delimiter)
    _, clean = read(clean_path, [case.clean(row) for row in rows])
    types = {column.name: column.type for column in found.columns}
    assert {column: types[column] for column in case.types} == case.types
    asked = PlanRequest("left", "accuracy")
    training = plan(messy, asked)
    for words in case.notes:
        assert any(words in note for note in training.notes), training.notes
    reached = score(messy_path, training)
    cleaned = score(clean_path, plan(clean, asked))
    assert cleaned > training.baseline + 0.05
    assert reached >= cleaned - 0.01


@pytest.mark.slow
def test_a_rare_class_and_a_column_that_gives_it_away(tmp_path: Path) -> None:
    draw = random.Random(7)
    rows = []
    for number in range(1500):
        fraud = number % 100 == 0
        amount = draw.gauss(3.0 if fraud else 0.0, 1.0)
        state = "charged back" if fraud else draw.choice(["open", "settled"])
        rows.append({"amount": f"{amount:.3f}", "state": state, "fraud": "yes" if fraud else "no"})
    found, file = read(tmp_path / "fraud.csv", rows)
    (target,) = [column for column in found.columns if column.name == "fraud"]
    assert target.values == [("no", 1485), ("yes", 15)]
    assert target.predictors == ["state"]
    training = plan(file, PlanRequest("fraud"))
    assert (training.metric, training.positive) == ("average-precision", "yes")
    assert training.baseline == pytest.approx(0.01)
    assert any("'state' alone predicts 'fraud'" in note for note in training.notes)
    assert score(tmp_path / "fraud.csv", training) == 1.0  # as the warning says
    honest = plan(file, PlanRequest("fraud", types={"state": "ignored"}))
    assert 0.1 < score(tmp_path / "fraud.csv", honest) < 0.95


@pytest.mark.slow
def test_a_wide_table(tmp_path: Path) -> None:
    draw = random.Random(3)
    names = [f"gene {number}" for number in range(1997)]
    rows, cleaned = [], []
    for number in range(60):
        sick = number % 2
        genes = [draw.gauss(0, 1000) for _ in names]
        genes[7] = draw.gauss(3000 * sick, 1000)
        level = genes[7] + draw.gauss(0, 300)
        result = {"result": "positive" if sick else "negative", "sick": "yes" if sick else "No "}
        written = [f"{gene:.2f}" for gene in genes[:-1]]
        rows.append(
            dict(zip(names, [*written, f"{genes[-1]:,.2f} $"], strict=True))
            | {"level": f"{level:,.1f} ng/ml", **result}
        )
        cleaned.append(
            dict(zip(names, [*written, f"{genes[-1]:.2f}"], strict=True))
            | {"level": f"{level:.1f}", "sick": "yes" if sick else "no"}
        )
    assert len(rows[0]) == 2000
    found, file = read(tmp_path / "wide.csv", rows)
    types = {column.name: column.type for column in found.columns}
    assert {types[name] for name in [*names, "level"]} == {"number"}
    (target,) = [column for column in found.columns if column.name == "sick"]
    assert target.predictors == ["result"]
    training = plan(file, PlanRequest("sick", types={"result": "ignored"}))
    assert len(training.columns) == 1998
    write(tmp_path / "clean.csv", cleaned)  # it has the same columns, so the same script reads it
    reached = score(tmp_path / "wide.csv", training)
    assert reached >= score(tmp_path / "clean.csv", training) - 0.01
    assert reached > training.baseline + 0.05


def test_long_and_hostile_texts_are_read_quickly(tmp_path: Path) -> None:
    """Patterns must not try every way to split a text; then this would take hours."""
    texts = [
        "1,111" * 8,
        "1" * 39 + "x",
        "9 " * 19 + "x",
        "a b " * 10,
        "1/1/1/" * 6,
        "(((((1",
        "1.1.1" * 7,
    ]
    rows = [{"v": f"{texts[row % 7]}{row}", "y": row % 2} for row in range(7000)]
    began = process_time()
    found, _ = read(tmp_path / "hostile.csv", rows)
    assert found.columns[0].type == "ignored"
    rows = [{"v": f"{'.' * 30_000}1,{row:03}", "y": row % 2} for row in range(30)]
    found, _ = read(tmp_path / "dots.csv", rows)
    assert found.columns[0].type == "ignored"
    assert process_time() - began < 20.0
