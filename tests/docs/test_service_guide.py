"""The tour of docs/service.md, to the letter, in a shell beside a real server."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.paths import ROOT
from support.sites import Site

from bentham.client import Client

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_tour_runs(tmp_path: Path, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command works as printed, and what it shows fits a terminal."""
    page = BLOCK.findall((ROOT / "docs" / "service.md").read_text())
    script = "\n".join(text for language, text in page if language == "sh")
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "BENTHAM_SERVER": site.address,
        "COLUMNS": "80",
    }
    done = subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "identical" in done.stdout
    assert "0.97" in done.stdout  # the best of wine
    assert max(map(len, done.stdout.splitlines())) <= 80
    (code,) = [text for language, text in page if language == "python"]
    token = (tmp_path / "vision.token").read_text().strip()
    code = code.replace("http://127.0.0.1:8642", site.address)
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "service.md", "exec"), {})
    with Client(site.address, token) as client:
        assert {study.name: study.state for study in client.studies()} == {
            "wine": "closed", "iris": "closed", "soybean": "closed",
        }  # fmt: skip


@pytest.mark.parametrize("name", ["0008-log-and-lead", "0009-answers-come-after-the-commit"])
def test_decisions_that_the_page_rests_on_exist(name: str) -> None:
    assert (ROOT / "docs" / "decisions" / f"{name}.md").exists()
