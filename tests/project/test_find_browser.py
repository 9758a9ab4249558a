"""tools/find_browser.py finds or installs a browser; programs are simulated by scripts."""

import shutil
import subprocess
import sys
from pathlib import Path

import find_browser
import pytest

pytestmark = pytest.mark.outside

BROWSER = "echo Chromium 1"
BROKEN = "echo install the snap >&2; exit 1"
INSTALLS = """echo "$@" >> $0.log; new=${0%/*}/chromium
case "$*" in *install*) printf '#!/bin/sh\\necho Chromium 1\\n' > $new; chmod +x $new;; esac"""
SUDO = 'test "$1" = --non-interactive && shift && exec "$@"'


def run_tool(
    folder: Path, programs: dict[str, str], *arguments: str, **variables: str
) -> list[str]:
    """Run the tool with only these programs; return exit code, output and error output."""
    for name, text in programs.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    for name in ("env", "chmod", "id"):
        (folder / name).symlink_to(shutil.which(name) or name)
    # -S: without installed packages, as on a new machine.
    done = subprocess.run(
        [sys.executable, "-S", find_browser.__file__, *arguments],
        env={"PATH": str(folder), "TMPDIR": str(folder), **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    return [str(done.returncode), done.stdout.strip(), done.stderr]


def test_the_configured_browser_comes_first(tmp_path: Path) -> None:
    programs = {"mine": BROWSER, "broken": BROKEN, "chromium": BROWSER}
    configured = str(tmp_path / "mine")
    assert run_tool(tmp_path, programs, BENTHAM_CHROMIUM=configured)[:2] == ["0", configured]


@pytest.mark.parametrize("arguments", [(), ("--install",)])
def test_a_configured_browser_that_does_not_run(tmp_path: Path, arguments: tuple[str]) -> None:
    programs = {"broken": BROKEN, "chromium": BROWSER, "apt-get": INSTALLS}
    code, _, error = run_tool(tmp_path, programs, *arguments, BENTHAM_CHROMIUM="broken")
    assert code == "1"
    assert "BENTHAM_CHROMIUM is broken, which does not run; correct or unset it" in error
    assert not (tmp_path / "apt-get.log").exists()


def test_a_browser_that_runs_is_found_and_nothing_installed(tmp_path: Path) -> None:
    programs = {"chromium": BROKEN, "google-chrome": BROWSER, "apt-get": INSTALLS}
    found = run_tool(tmp_path, programs, "--install")
    assert found[:2] == ["0", str(tmp_path / "google-chrome")]
    assert not (tmp_path / "apt-get.log").exists()


def test_a_browser_is_installed_if_there_is_none(tmp_path: Path) -> None:
    found = run_tool(tmp_path, {"apt-get": INSTALLS, "sudo": SUDO}, "--install")
    assert found == ["0", str(tmp_path / "chromium"), ""]
    commands = (tmp_path / "apt-get.log").read_text().splitlines()
    assert [line.split()[-1] for line in commands] == ["update", "chromium-headless-shell"]


def test_the_full_browser_is_installed_where_there_is_no_headless_shell(tmp_path: Path) -> None:
    without_shell = f'case "$*" in *headless*) exit 100;; esac\n{INSTALLS}'
    found = run_tool(tmp_path, {"apt-get": without_shell, "sudo": SUDO}, "--install")
    assert found == ["0", str(tmp_path / "chromium"), ""]
    commands = (tmp_path / "apt-get.log").read_text().splitlines()
    assert [line.split()[-1] for line in commands] == ["update", "chromium"]


@pytest.mark.parametrize(
    ("programs", "reason"),
    [
        ({}, "Chromium could not be installed"),
        ({"apt-get": BROKEN, "sudo": SUDO}, "update: install the snap"),
        ({"apt-get": "exit 0", "sudo": SUDO}, "chromium: succeeded, but still no browser runs"),
    ],
    ids=["no installer", "fails", "no effect"],
)
def test_failed_installations_are_reported(
    tmp_path: Path, programs: dict[str, str], reason: str
) -> None:
    code, _, error = run_tool(tmp_path, programs, "--install")
    assert code == "1"
    assert reason in error
    assert "set BENTHAM_CHROMIUM to the path of a program" in error
