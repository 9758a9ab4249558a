"""A machine without a browser gets one, or is told why not. Its programs are scripts here."""

import shutil
import subprocess
import sys
from pathlib import Path

import find_browser
import pytest

BROWSER = "echo Chromium 1"
BROKEN = "echo install the snap >&2; exit 1"
INSTALLS = """echo "$@" >> $0.log; new=${0%/*}/chromium
case "$*" in *install*) printf '#!/bin/sh\\necho Chromium 1\\n' > $new; chmod +x $new;; esac"""
SUDO = 'test "$1" = --non-interactive && shift && exec "$@"'


def look(folder: Path, programs: dict[str, str], *arguments: str, **variables: str) -> list[str]:
    """The exit code, what was printed and complained of, on a machine with just these programs."""
    for name, text in programs.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    for name in ("env", "chmod", "id"):
        (folder / name).symlink_to(shutil.which(name) or name)
    # -S: without what is installed, as a machine is before anything is.
    done = subprocess.run(
        [sys.executable, "-S", find_browser.__file__, *arguments],
        env={"PATH": str(folder), "TMPDIR": str(folder), **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    return [str(done.returncode), done.stdout.strip(), done.stderr]


def test_what_is_named_comes_first_and_must_run(tmp_path: Path) -> None:
    programs = {"mine": BROWSER, "broken": BROKEN, "chromium": BROWSER}
    named = str(tmp_path / "mine")
    assert look(tmp_path, programs, BENTHAM_CHROMIUM=named)[:2] == ["0", named]


@pytest.mark.parametrize("arguments", [(), ("--install",)])
def test_what_is_named_and_does_not_run_is_said(tmp_path: Path, arguments: tuple[str]) -> None:
    programs = {"broken": BROKEN, "chromium": BROWSER, "apt-get": INSTALLS}
    code, _, error = look(tmp_path, programs, *arguments, BENTHAM_CHROMIUM="broken")
    assert code == "1"
    assert "BENTHAM_CHROMIUM is broken, which does not run; correct or unset it" in error
    assert not (tmp_path / "apt-get.log").exists()


def test_one_that_runs_is_found_and_nothing_installed(tmp_path: Path) -> None:
    programs = {"chromium": BROKEN, "google-chrome": BROWSER, "apt-get": INSTALLS}
    found = look(tmp_path, programs, "--install")
    assert found[:2] == ["0", str(tmp_path / "google-chrome")]
    assert not (tmp_path / "apt-get.log").exists()


def test_one_is_installed_where_there_is_none(tmp_path: Path) -> None:
    found = look(tmp_path, {"apt-get": INSTALLS, "sudo": SUDO}, "--install")
    assert found == ["0", str(tmp_path / "chromium"), ""]
    asked = (tmp_path / "apt-get.log").read_text().splitlines()
    assert [line.split()[-1] for line in asked] == ["update", "chromium"]


@pytest.mark.parametrize(
    ("programs", "reason"),
    [
        ({}, "Chromium could not be installed"),
        ({"apt-get": BROKEN, "sudo": SUDO}, "update: install the snap"),
        ({"apt-get": "exit 0", "sudo": SUDO}, "chromium: succeeded, but still no browser runs"),
    ],
    ids=["no way", "fails", "in vain"],
)
def test_why_there_is_none_is_said(tmp_path: Path, programs: dict[str, str], reason: str) -> None:
    code, _, error = look(tmp_path, programs, "--install")
    assert code == "1"
    assert reason in error
    assert "set BENTHAM_CHROMIUM to the path of a program" in error
