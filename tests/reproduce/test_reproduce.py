"""`bentham reproduce` from the runs to the report, at a small scale; interrupted and resumed."""

import base64
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from support.commands import HEADER, Bentham, assert_refused, write_table

from bentham.reproduce.plan import FULL, QUICK, SYNTHETIC, Scale, plan, tables_of
from bentham.tables import Table, load_table

TINY = Scale(
    "quick", repeats=2, probes=1, synthetic=2, learned=1, rates=2, bounds=1, models=(16, 32)
)
VOID = {"meta", "img", "link", "br"}


class Page(HTMLParser):
    """Checks that tags are closed in order, and collects all attributes."""

    def __init__(self, text: str):
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def all(self, tag: str, name: str) -> list[str]:
        return [value for kind, key, value in self.attributes if (kind, key) == (tag, name)]


def load_part(name: str) -> Table:
    """Return a table; a seventh of the one on which the learned default takes longest."""
    table = load_table(name)
    return table.only(range(0, table.scores.shape[0], 7)) if name == SYNTHETIC else table


@pytest.mark.outside
def test_complete_reproduction(
    bentham: Bentham, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bentham.reproduce.QUICK", TINY)
    monkeypatch.setattr("bentham.reproduce.plan.MODELS", 8)
    monkeypatch.setattr("bentham.reproduce.reproduction.load_table", load_part)
    out = tmp_path / "made" / "here"

    with monkeypatch.context() as patch:  # drawing figures takes long and is tested below
        patch.setattr("bentham.reproduce.figures.draw_figures", lambda *_: [])
        done = bentham("reproduce", "--quick", "--out", out)
    assert done.code == 0, done.err
    *lines, report_line = done.out.splitlines()
    assert max(map(len, lines)) <= 80
    assert report_line == f"Report: {out / 'report.html'}"
    assert "--deeplearning FILE" in done.out
    runs = sum(plan(TINY, deeplearning=False).values())
    assert f"{runs:,} runs, " in done.out
    claims = (out / "claims.json").read_bytes()
    _check_claims(json.loads(claims), deeplearning=False)
    _check_report(out, deeplearning=False, drawn=False)

    # After an interruption, one file is missing and one is truncated; only these are run again.
    results = sorted((out / "results").iterdir())
    complete = results[3].read_bytes()
    results[0].unlink()
    results[3].write_bytes(complete[:-20])
    with monkeypatch.context() as patch:
        patch.setattr("bentham.reproduce.figures.draw_figures", lambda *_: [])
        done = bentham("reproduce", "--quick", "--out", out, "--jobs", 1, "--json")
    assert done.code == 0, done.err
    assert (out / "claims.json").read_bytes() == claims
    assert results[3].read_bytes() == complete
    assert json.loads(done.out) == json.loads(claims)

    # With a table in place of DEEPLEARNING, only its runs are added.
    table = write_table(tmp_path / "given.csv", load_table("classifiers:22"))
    done = bentham("reproduce", "--quick", "--out", out, "--jobs", 1, "--deeplearning", table)
    assert done.code == 0, done.err
    more = sum(plan(TINY, deeplearning=True).values()) - runs
    assert f"{more:,} runs, {runs:,} reused" in done.out
    _check_claims(json.loads((out / "claims.json").read_text()), deeplearning=True)
    _check_report(out, deeplearning=True)


def _check_claims(content: dict[str, object], deeplearning: bool) -> None:
    claims = content["claims"]
    assert isinstance(claims, list)
    verdicts = {claim["name"]: claim["verdict"] for claim in claims}
    assert len(verdicts) == 16
    assert set(verdicts.values()) <= {
        "holds", "holds in part", "does not hold", "cannot be tested",
    }  # fmt: skip
    untested = {name for name, verdict in verdicts.items() if verdict == "cannot be tested"}
    need_table = {"no-speed-up-on-deeplearning", "larger-speed-up-with-more-studies"}
    assert deeplearning or need_table <= untested
    asking_for_table = {claim["name"] for claim in claims if "--deeplearning FILE" in claim["why"]}
    assert asking_for_table == (set() if deeplearning else need_table)
    assert verdicts["miu-under-the-diagonal"] == "does not hold"
    assert verdicts["regret-under-the-bound"] == "holds"
    assert verdicts["miu-in-special-cases"] == "holds"
    for claim in claims:
        assert claim["statement"]
        assert claim["rule"]
        assert claim["why"] or claim["verdict"] == "holds"
        if claim["name"] in untested - need_table:  # two runs decide few claims
            assert claim["why"].startswith("The runs do not decide this claim.")
        for number in claim["measured"]:
            assert "value" in number, number
            if "low" in number:
                assert number["low"] <= number["high"]
    beyond = content["beyond"]
    assert isinstance(beyond, list)
    assert {(row["variant"]) for row in beyond} == {"default", "gp-ucb", "oracle"}
    described = content["deeplearning"]
    assert (described is not None) is deeplearning
    if isinstance(described, dict):
        assert (described["studies"], described["models"]) == (22, 8)


def _check_report(out: Path, deeplearning: bool, drawn: bool = True) -> None:
    text = (out / "report.html").read_text(encoding="utf-8")
    page = Page(text)
    assert "<script" not in text
    assert "AZURE stand-in" in text
    assert "0.12 for AZURE" in text
    # The report is one file without external references.
    sources = page.all("img", "src")
    assert all(source.startswith("data:image/svg+xml;base64,") for source in sources)
    links = page.all("a", "href")
    assert {link[1:] for link in links} <= {
        value for _, name, value in page.attributes if name == "id"
    }
    assert all(page.all("img", "alt"))
    assert "width=device-width" in text
    assert "@media print" in text
    assert ("is not part of this project" in text) is not deeplearning
    if not drawn:
        assert sources == []
        return
    figures = {path.name for path in (out / "figures").iterdir()}
    names = {name.removesuffix(".svg") for name in figures if name.endswith(".svg")}
    assert {f"{name}.png" for name in names} | {f"{name}.svg" for name in names} == figures
    assert len(sources) == len(names)
    assert ("figure-2-deeplearning" in names) is deeplearning
    embedded = {base64.b64decode(source.split(",", 1)[1]) for source in sources}
    assert (out / "figures" / "figure-5-synthetic.svg").read_bytes() in embedded
    assert str(out) not in text
    assert not re.search(r"\bnan\b", text)


@pytest.mark.parametrize("scale", [QUICK, FULL])
def test_the_plan_is_that_of_the_paper(scale: Scale) -> None:
    cells = {(cell.name): runs for cell, runs in plan(scale, deeplearning=True).items()}
    assert len(cells) == len(plan(scale, deeplearning=True))  # every file has a unique name
    for table in ("azure-standin", "deeplearning"):
        for policy in ("paper", "round-robin", "random", "default", "gp-ucb", "oracle"):
            for devices in (1, 4, 8):
                assert cells[f"{table}.{policy}.{devices}"] == scale.repeats
        assert cells[f"{table}.paper.2"] == scale.repeats
    for devices in (1, 2, 4, 8, 16):
        assert cells[f"synthetic.paper.{devices}"] == 5
    assert set(tables_of(plan(scale, deeplearning=False))) < set(
        tables_of(plan(scale, deeplearning=True))
    )


def test_a_larger_scale_contains_the_runs_of_a_smaller_one() -> None:
    small, large = plan(QUICK, deeplearning=True), plan(FULL, deeplearning=True)
    assert set(small) <= set(large)
    assert all(large[cell] >= runs for cell, runs in small.items())


@pytest.mark.outside
def test_errors(bentham: Bentham, tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("mine")
    assert_refused(
        bentham, "reproduce", "--quick", "--out", taken, contains=["is a file", "directory"]
    )
    assert taken.read_text() == "mine"
    out = ("reproduce", "--quick", "--out", tmp_path / "out")
    assert_refused(bentham, *out, "--deeplearning", tmp_path / "no.csv", contains=["no such file"])
    small = write_table(tmp_path / "small.csv", load_table("classifiers:5"))
    assert_refused(bentham, *out, "--deeplearning", small, contains=["5 studies", "22 x 8"])
    rows = [f"s{study},m{model},0.5,1\n" for study in range(12) for model in range(3)]
    flat = tmp_path / "flat.csv"
    flat.write_text(HEADER + "".join(rows))
    assert_refused(bentham, *out, "--deeplearning", flat, contains=["score the same"])
    assert not (tmp_path / "out").exists()
