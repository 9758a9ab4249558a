"""The tutorials, to the letter: their commands run beside a real server, and print what they say."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sites import Site
from tutorials import DOCS, WIDTH, fits, run_page

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
