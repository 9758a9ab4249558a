"""Documents say what the code does: their examples run, their links lead somewhere."""

import json
import re
import shlex
from pathlib import Path

import pytest
from make_reference import events, reference
from support.commands import Bentham
from support.paths import ROOT

PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(page.read_text())


@pytest.mark.outside
def test_the_tutorial_runs(
    bentham: Bentham, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    ran = 0
    for language, text in blocks(ROOT / "docs" / "tutorial.md"):
        if language == "python":
            exec(compile(text, "tutorial.md", "exec"), names)
        elif language == "shell":
            for line in text.splitlines():
                program, *arguments = shlex.split(line)
                assert program == "bentham"
                done = bentham(*arguments)
                assert done.code == 0, done.err
                ran += 1
    assert ran >= 5


@pytest.mark.slow
def test_every_field_of_the_json_is_documented(bentham: Bentham) -> None:
    run = json.loads(bentham("simulate", "oboe:4", "--until", 5, "--json").out)
    tutorial = (ROOT / "docs" / "tutorial.md").read_text()
    for field in [*run, *run["trials"][0]]:
        assert f"`{field}`" in tutorial, field


@pytest.mark.outside
def test_the_reference_is_made_from_the_code() -> None:
    page = ROOT / "docs" / "reference.md"
    assert page.read_text() == reference(), "run: make docs"
    page = ROOT / "docs" / "events.md"
    assert page.read_text() == events(), "run: make docs"


def test_commands_in_the_documents_exist(bentham: Bentham) -> None:
    """Every `bentham ...` option named anywhere is one that the reference knows."""
    known = set(re.findall(r"`(--[a-z-]+)", (ROOT / "docs" / "reference.md").read_text()))
    known |= {"--help", "--version"}
    for page in PAGES:
        for line in page.read_text().splitlines():
            if "bentham " in line:
                assert set(re.findall(r"(?<![\w-])(--[a-z][a-z-]+)", line)) <= known, (page, line)
    assert bentham("--help").code == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), target


@pytest.mark.slow
def test_figures_of_the_readme_are_those_of_the_demo() -> None:
    """The table behind the picture, in short: mdmt is an order of magnitude ahead."""
    from bentham.sim.experiment import Experiment, run_experiment
    from bentham.tables import load_table

    experiment = Experiment(load_table("oboe:8").only(range(0, 418, 6)), devices=4)
    times = {
        policy: run_experiment(experiment, policy, 0).run.regret.time_to(0.01)
        for policy in ("mdmt", "round-robin", "oracle")
    }
    assert times["oracle"] is not None
    assert times["mdmt"] is not None
    assert times["round-robin"] is not None
    assert times["oracle"] < times["mdmt"] < times["round-robin"] / 5
