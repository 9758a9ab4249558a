"""The tutorials, to the letter: commands run beside a real server, and print what they say."""

import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sites import Site
from tutorials import DOCS, WIDTH, blocks, fits, run_page

ADDRESS = "http://127.0.0.1:8642"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """A server that serves."""
    made = Site(tmp_path)
    try:
        with made.client() as admin:
            admin.overview()
        yield made
    finally:
        made.close()


def test_a_first_study(tmp_path: Path, site: Site) -> None:
    printed = run_page(
        DOCS / "first-study.md",
        tmp_path,
        {"BENTHAM_SERVER": site.address},
        {ADDRESS: site.address},
    )
    assert "bth_" not in printed  # no token
    shown = [line for line in printed.splitlines() if not line.startswith(("{", "bentham: "))]
    assert max(map(len, shown)) <= WIDTH + 25  # but for a reason in a log


def test_your_own_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server needs the page's files before its commands are run, and the package installed."""
    page = DOCS / "own-training.md"
    for words, text in blocks(page):
        _, _, name = words.partition(" ")
        if name:
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text)
    installed = tmp_path / "site"
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"),
            *("--no-deps", "--no-index", "--no-build-isolation", "--target", installed, tmp_path),
        ],
        check=True,
    )
    monkeypatch.syspath_prepend(installed)
    (start,) = [text for words, text in blocks(page) if words == "text"]
    program, serve, data, folder, *options = shlex.split(start)
    assert [program, serve, data, folder] == ["bentham", "serve", "--data", "bentham-data"]
    site = Site(tmp_path, *options)
    try:
        site.client().close()
        printed = run_page(page, tmp_path, {"BENTHAM_SERVER": site.address})
    finally:
        site.close()
    assert "algorithms left out" not in printed


@pytest.mark.parametrize(
    ("expected", "printed", "ids"),
    [
        ("│ svm │ 0.91 │", "svm   0.92\n", {}),
        ("svm 0.91", "svm 0.95", None),
        ("study x (s_0123456789abcdef)", "study x (s_fedcba9876543210)", {"0": "f"}),
        ("took 3.2 s on 2026-11-16 16:52", "took 12 min on 2027-01-01 00:00", {}),
        ("one\n...\nfour", "one\ntwo\nthree\nfour", {}),
        ("one\n...\nfour", "one\ntwo\nthree", None),
        ("state open: ...", "state open: for ever", {}),
        ("state open: ...", "state closed: for ever", None),
        ("", "something", None),
    ],
)
def test_what_counts_as_the_same(expected: str, printed: str, ids: dict[str, str] | None) -> None:
    found = fits(expected, printed)
    if ids == {"0": "f"}:
        ids = {"s_0123456789abcdef": "s_fedcba9876543210"}
    assert found == ids
