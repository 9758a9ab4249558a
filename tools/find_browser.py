"""Find a Chromium for the dashboard tests, and install one if there is none.

    python tools/find_browser.py             print its path
    python tools/find_browser.py --install   install one first if it is missing

Uses only the standard library, so that it can run before anything is installed. If another process
is installing a browser, it waits for that process.
"""

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path

VARIABLE = "BENTHAM_CHROMIUM"
# The headless shell is the same engine without windows: the dashboard tests need half the CPU time.
NAMES = (
    "chromium-headless-shell", "chromium", "chromium-browser", "google-chrome",
    "google-chrome-stable",
)  # fmt: skip
PLAYWRIGHT_PATH = """
from playwright.sync_api import sync_playwright
with sync_playwright() as playwright:
    print(playwright.chromium.executable_path)
"""
# Flags to start it without a display and without network access beyond this machine.
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)  # fmt: skip
REMEDY = (
    f"install Chromium or Chrome so that one of {', '.join(NAMES)} is on the PATH, "
    f"or set {VARIABLE} to the path of a program"
)
WORKS_WITHIN, INSTALLED_WITHIN = 60.0, 600.0


class NoBrowser(Exception):
    """No browser was found or could be installed; the message gives the reason."""


@cache
def find_browser() -> str:
    """Return the path of a browser that runs."""
    configured = os.environ.get(VARIABLE)
    if configured:
        if not _runs(configured):
            raise NoBrowser(f"{VARIABLE} is {configured}, which does not run; correct or unset it")
        return configured
    for name in NAMES:
        found = shutil.which(name)
        if found and _runs(found):  # Ubuntu's may be a stub that only prints advice
            return found
    if find_spec("playwright"):
        found = _output_of(sys.executable, "-c", PLAYWRIGHT_PATH)
        if found and _runs(found):
            return found
    raise NoBrowser(f"no Chromium found for the tests: {REMEDY}")


def install_browser() -> str:
    """Return the path of a browser; install one if there is none."""
    with _exclusive():
        try:
            return find_browser()
        except NoBrowser:
            if os.environ.get(VARIABLE):
                raise
        tried: list[str] = []
        for steps in _ways():
            for step in steps:
                problem = _problem(step)
                if problem:
                    tried.append(f"{' '.join(step)}: {problem}")
                    break
            else:
                try:
                    return find_browser()
                except NoBrowser:
                    tried.append(f"{' '.join(steps[-1])}: succeeded, but still no browser runs")
        reasons = "".join(f"\n  {each}" for each in tried)
        raise NoBrowser(f"Chromium could not be installed: {REMEDY}. Tried:{reasons}")


def _ways() -> Iterator[list[list[str]]]:
    """Yield ways to install one, each a list of commands, best first."""
    sudo = [] if os.geteuid() == 0 else ["sudo", "--non-interactive"]
    if shutil.which("apt-get") and (
        not sudo or _output_of("sudo", "--non-interactive", "id") != ""
    ):
        apt_get = [*sudo, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "--quiet", "--yes",
                 "--option", "DPkg::Lock::Timeout=300"]  # fmt: skip
        install = [*apt_get, "install", "--no-install-recommends"]
        yield [[*apt_get, "update"], [*install, "chromium-headless-shell"]]
        yield [[*install, "chromium"]]  # where there is no such package
    if find_spec("playwright"):
        command = [sys.executable, "-m", "playwright", "install", "chromium"]
        yield [[*command, "--with-deps"]] if not sudo else [command]


@contextmanager
def _exclusive() -> Iterator[None]:
    path = Path(tempfile.gettempdir()) / f"bentham-browser-{os.geteuid()}.lock"
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _runs(program: str) -> bool:
    return _output_of(program, "--version") != ""


def _output_of(*command: str) -> str:
    """Return what a command prints; empty if it fails."""
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            timeout=WORKS_WITHIN, text=True, check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def _problem(command: Sequence[str]) -> str:
    """Run a command; return the error, empty if it succeeded."""
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=INSTALLED_WITHIN, text=True, errors="replace", check=False,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        return str(error)
    lines = done.stdout.strip().splitlines() or [f"exit code {done.returncode}"]
    return " / ".join(lines[-3:]) if done.returncode else ""


def main(arguments: Sequence[str]) -> int:
    """Print the program's path; exit code 1 if there is none."""
    try:
        print(install_browser() if "--install" in arguments else find_browser())
    except NoBrowser as error:
        print(f"find_browser: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
