"""Errors of the command line: one line that says what to do, and exit code 2."""

from pathlib import Path

import pytest
from support.commands import HEADER, Bentham, assert_refused

BAD_TABLES = {
    "missing column": ("study,model,score\na,x,1\n", "row 1: the column 'cost' is missing"),
    "text": (HEADER + "a,x,good,1\n", "row 2: the score is 'good'"),
    "NaN": (HEADER + "a,x,nan,1\n", "row 2: the score is nan"),
    "inf": (HEADER + "a,x,1,inf\n", "row 2: the cost is inf"),
    "negative cost": (HEADER + "a,x,1,-1\n", "row 2: the cost is -1"),
    "zero cost": (HEADER + "a,x,1,0\n", "row 2: the cost is 0"),
    "no models": (HEADER + "a,x,1,1\nb,,,\n", "row 3: study 'b' has no model"),
    "doubled row": (
        HEADER + "a,x,1,1\na,x,1,1\n",
        "row 3: study 'a' and model 'x' are already in row 2",
    ),
    "empty": ("", "row 1: the header is missing"),
}


@pytest.mark.parametrize(("text", "words"), BAD_TABLES.values(), ids=BAD_TABLES)
def test_bad_tables(bentham: Bentham, tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text)
    assert_refused(bentham, "simulate", path, contains=[f"{path}, {words}"])
    assert_refused(bentham, "simulate", "oboe:8", "--history", path, contains=[f"{path}, {words}"])


def test_a_history_that_lacks_a_model(bentham: Bentham, small: Path, tmp_path: Path) -> None:
    path = tmp_path / "history.csv"
    path.write_text(HEADER + "a,x,1,1\nb,x,1,1\n")
    words = [f"{path}, row 2: study 'a' ", "has no row for model 'DT", "add that row"]
    assert_refused(
        bentham, "simulate", small, "--prior", "sample", "--history", path, contains=words
    )


@pytest.mark.outside
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--history", "oboe:8", "--holdout", 3], "mutually exclusive"),
        (["--holdout", 12], "cannot hold out 12 of the 12 studies"),
        (["--prior", "sample", "--holdout", 1], "at least 2 historical studies"),
        (["--warm-start", "slowest"], "choose fastest:k"),
        (["--prior", "gut"], "unknown prior 'gut'; choose learned"),
        (["--prior", "kernel:x", "--features", "none.csv"], "none.csv: there is no such file"),
        (["--plot", "regret.gif"], "unknown plot format; use a name that ends in .png, .svg, .pdf"),
        (["--plot", "no/such/regret.png"], "there is no directory no/such"),
        (["--events", "no/such/events"], "there is no directory no/such"),
        (["--events", "."], "is a directory"),
        (["--events", "e", "--repeat", 2], "--events records one run"),
        (["--floor", "1e308"], "floor"),
        (["--floor", "nan"], "floor"),
        (["--prior", "sample", "--jitter", "1e308"], "jitter"),
        (["--prior", "sample", "--features", "f.csv"], "needs --prior learned or kernel"),
        (["--length-scale", 1], "needs --prior kernel"),
        (["--jitter", 1], "needs no jitter"),
        (["--without", "luck"], "no 'luck' to switch off"),
        (["--prior", "sample", "--without", "warp"], "needs --prior learned"),
        (["--costs", "free"], "unknown costs 'free'"),
        (["--cost-exponent", "11"], "cost exponent"),
        (["--repair", 5], "add --lose"),
        (["--until", "1e308"], "until 1e+308"),
        (["--cost-error", "1e300"], "a factor from 1 to 1e+06"),
        (["--prior", "p.json", "--jitter", 1], "has its own jitter"),
        (["--fail", 0.7, "--lose", 0.7], "add up to more than 1"),
    ],
)  # fmt: skip
def test_invalid_options(
    bentham: Bentham, small: Path, arguments: list[object], words: str
) -> None:
    assert_refused(bentham, "simulate", small, *arguments, contains=[words])


def test_the_input_is_not_overwritten(bentham: Bentham, small: Path) -> None:
    before = small.read_text()
    assert_refused(
        bentham, "simulate", small, "--events", small, contains=["write to another file"]
    )
    assert small.read_text() == before


def test_usage_errors_are_exit_code_2(bentham: Bentham, small: Path) -> None:
    for arguments in (
        ["--devices", 0],
        ["--until", "nan"],
        ["--policy", "best"],
        ["--nonsense"],
        ["--seed", "x"],
    ):
        done = bentham("simulate", small, *arguments)
        assert done.code == 2
        assert "Traceback" not in done.err
    assert bentham("simulate").code == 2


def test_a_misspelt_choice_gets_a_suggestion(bentham: Bentham, small: Path) -> None:
    done = bentham("simulate", small, "--policy", "mdtm")
    assert done.code == 2
    assert "'mdtm' is not allowed; choose 'joint', 'mdmt', " in _joined(done.err)
    assert "or 'oracle'; did you mean 'mdmt'?" in _joined(done.err)
    assert "did you mean" not in bentham("simulate", small, "--policy", "x").err
    # A longer list is left out if a similar value is known.
    words = "unknown variant 'papr'; did you mean 'paper'?"
    assert_refused(bentham, "bench", "regret", "--variants", "papr", contains=[words])


def _joined(text: str) -> str:
    """Return the text of a box of an error."""
    return " ".join(text.replace("│", " ").split())


@pytest.mark.parametrize("name", ["nope", "x" * 5000, "oboe:" + "9" * 5000, "oboe:1.5", "oboe:٣"])
def test_no_such_table(bentham: Bentham, name: str) -> None:
    done = bentham("simulate", name)
    assert done.code == 2
    assert done.err.count("\n") == 1


def test_a_misspelt_command_gets_a_suggestion(bentham: Bentham) -> None:
    done = bentham("studdy", "list")
    assert done.code == 2
    assert "No such command 'studdy'. Did you mean 'study'?" in done.err
