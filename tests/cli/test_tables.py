"""Tables: columns that fit the terminal, whole words, and aligned decimal points."""

import io
import re

import pytest
from rich.console import Console

from bentham.cli.remote.formatting import figures, grid, numbers, rates, sizes, spans
from bentham.cli.remote.tables import FittingTable

NAME = "customer-churn of the retention team, 2024"
MODEL = "logistic-regression-720363"


def lines_of(table: FittingTable, width: int) -> list[str]:
    file = io.StringIO()
    Console(file=file, width=width).print(table)
    return file.getvalue().splitlines()


@pytest.mark.parametrize("width", [120, 80, 60, 50])
def test_a_table_fits_and_breaks_no_word(width: int) -> None:
    table = grid(["???id", "~name", "??~tenant", "state", figures("best"), "?~model"], "Studies")
    table.add_row("s_0000000000000001", NAME, "marketing", "open", 0.93, MODEL)
    table.add_row("s_0000000000000002", "iris", "botany", "closed", 0.8125, "ridge")
    lines = lines_of(table, width)
    assert max(map(len, lines)) <= width
    words = set(re.findall(r"[\w.]+", " ".join(lines)))
    expected = {*re.findall(r"\w+", NAME), "iris", "open", "closed", "0.9300", "0.8125"}
    assert expected <= words
    left_out = " ".join(lines).partition("Left out")[2]
    for name, value in (("id", "s_0000000000000001"), ("tenant", "marketing"), ("model", "ridge")):
        assert (value in words) is (name not in re.findall(r"\w+", left_out))
    assert bool(left_out) is (width < 120)


def test_the_least_important_columns_are_left_out_first() -> None:
    table = grid(["name", "?one", "??two", "?three"])
    table.add_row("x" * 10, "y" * 10, "z" * 10, "w" * 10)
    assert lines_of(table, 53)[0].count("┳") == 3
    assert lines_of(table, 52)[-1] == "Left out, since the terminal is narrow: two."
    assert lines_of(table, 35)[-1].endswith("two, three.")
    assert all(len(line) <= 12 for line in lines_of(table, 12))  # even if a word must be broken


def test_numbers_of_a_column_align() -> None:
    assert numbers([0.956, 12.25, None, -0.03]) == ["0.956", "12.250", "-", "-0.030"]
    assert numbers([0.5, 1e-7, float("nan")])[1:] == ["1.00e-07", "nan"]
    assert rates([0.00124, 1e-7, None, 0.0]) == ["1.24e-03", "1.00e-07", "-", "0"]
    assert spans([7.63, 118.0, 300.0, None]) == ["7.6 s  ", "118.0 s  ", "5.0 min", "-"]
    assert spans([]) == numbers([]) == sizes([]) == []
    assert sizes([300, 5000, 50_000_000]) == ["0.3 KiB", "4.9 KiB", "47.7 MiB"]
    assert sizes([300, 5]) == ["300 B", "5 B"]
