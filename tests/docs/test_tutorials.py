"""The tutorials, to the letter: commands run beside a real server, and print what they say."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path

import pytest
from support.paths import DOCS, PYTHONPATH
from support.ports import free_port
from support.sites import Site, wait_for
from support.tutorials import WIDTH, blocks, fits, put, run_page

from bentham.training.sources import fetch

pytestmark = pytest.mark.outside

ADDRESS = "http://127.0.0.1:8642"


def test_the_readme_example(
    tmp_path: Path,
    site: Site,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In fifteen lines, with a worker that trains beside it; its script does what it says."""
    (code,) = [text for words, text in blocks(DOCS.parent / "README.md") if words == "python"]
    assert len([line for line in code.splitlines() if line]) <= 15
    imports = [line for line in code.splitlines() if line.startswith(("import ", "from "))]
    assert imports == ["from pathlib import Path", "from bentham import Client"]
    monkeypatch.chdir(tmp_path)
    with site.client() as admin:
        admin.create_tenant("vision")
        Path("vision.token").write_text(admin.issue_token("tenant", "vision").secret)
    Path("wine.csv").write_bytes(fetch("sklearn:wine").content)
    site.trainer()
    exec(compile(code.replace(ADDRESS, site.address), "README.md", "exec"), {})
    model, score = capsys.readouterr().out.split()
    assert model in ("logistic-regression", "ridge", "gaussian-naive-bayes")
    assert 0.9 < float(score) <= 1.0
    done = subprocess.run(
        [sys.executable, "wine-model.py", "wine.csv"], capture_output=True, text=True, check=True
    )
    assert "This is the recorded score." in done.stdout


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
    write_files(page, tmp_path)
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
    assert "algorithms not available" not in printed


def test_a_first_cluster(tmp_path: Path, postgres_url: str) -> None:
    """The server and the worker are started as their units say, on PostgreSQL."""
    page, port = DOCS / "first-cluster.md", free_port()
    write_files(page, tmp_path)
    (database,) = re.findall(r"BENTHAM_DATABASE=(\S+)", (tmp_path / "server.env").read_text())
    here = {
        database: postgres_url,
        without_password(database): without_password(postgres_url),
        ADDRESS: f"http://127.0.0.1:{port}",
        "/opt/bentham/bin/bentham": f"{sys.executable} -m bentham",
        "/etc/bentham": str(tmp_path),
        "/var/lib/bentham": str(tmp_path / "state"),
    }
    serve, work = (
        put(unit(tmp_path / name)["ExecStart"], here)
        for name in ("bentham.service", "bentham-worker.service")
    )
    with (tmp_path / "server.log").open("wb") as log:
        server = subprocess.Popen(
            [*shlex.split(serve), "--port", str(port)],
            env={
                **os.environ,
                "PYTHONPATH": PYTHONPATH,
                "BENTHAM_DATABASE": postgres_url,
            },
            stderr=log,
        )
    try:
        token = tmp_path / "state" / "admin.token"
        wait_for(lambda: token.exists() and token.stat().st_size > 0)
        # One device and no longer than it takes; what comes later on a command line counts.
        here["sudo systemctl start bentham-worker"] = (
            f"{work.replace('%l', 'node')} --devices 1 --exit-when-idle 1"
        )
        run_page(page, tmp_path, {"BENTHAM_SERVER": f"http://127.0.0.1:{port}"}, here)
    finally:
        server.terminate()
        assert server.wait(60) == 0, (tmp_path / "server.log").read_text()


@pytest.mark.parametrize("name", ["bentham.service", "bentham-worker.service"])
def test_units_are_in_order(tmp_path: Path, name: str) -> None:
    """systemd finds nothing to say, where it is at hand; and neither do we."""
    write_files(DOCS / "first-cluster.md", tmp_path)
    said = unit(tmp_path / name)
    assert said["User"] == "bentham"
    assert said["NoNewPrivileges"] == "yes"
    assert said["ProtectSystem"] == "strict"
    # A trial needs namespaces; the server does not.
    assert ("RestrictNamespaces" in said) == (name == "bentham.service")
    if analyze := shutil.which("systemd-analyze"):
        text = (tmp_path / name).read_text().replace("/opt/bentham/bin/bentham", "/bin/true")
        (tmp_path / name).write_text(text)
        done = subprocess.run(
            [analyze, "verify", tmp_path / name], capture_output=True, text=True, check=False
        )
        about_it = [line for line in done.stderr.splitlines() if name in line]
        assert about_it == []


def write_files(page: Path, folder: Path) -> None:
    """The files that a page shows."""
    for words, text in blocks(page):
        _, _, name = words.partition(" ")
        if name:
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text)


def without_password(url: str) -> str:
    """As commands show it."""
    return re.sub(r":[^:@/]+@", ":***@", url)


def unit(path: Path) -> dict[str, str]:
    """What a unit says of its service."""
    parser = ConfigParser(interpolation=None, delimiters=("=",), strict=True)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read(path)
    return dict(parser["Service"])


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
