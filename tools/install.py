"""Install the locked dependencies and Bentham into the environment that runs this script.

Uses uv, which takes a third of pip's time: the uv on the PATH, or else the locked version, which
pip installs. If uv is not available or cannot reach the packages (it does not read pip's
configuration, which may name a mirror or a proxy), pip installs everything. Hashes are checked
either way.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
LOCK = ROOT / "requirements.lock"
LOCKED = ("--require-hashes", "-r", str(LOCK))
BENTHAM = ("--no-deps", "--no-build-isolation", "-e", str(ROOT))
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "install")


def requirement(name: str, lock: str) -> str:
    """Return the lines of the lock file that pin a package and its hashes."""
    found = re.search(rf"^{re.escape(name)}==.*?[^\\]$", lock, re.MULTILINE | re.DOTALL)
    if found is None:
        raise SystemExit(f"{LOCK.name} does not list {name}; regenerate it with: make lock")
    return found.group()


def find_uv() -> str | None:
    """Return the uv on the PATH, or the locked one installed next to this Python; else None."""
    if found := shutil.which("uv"):
        return found
    with tempfile.TemporaryDirectory() as folder:
        requirements = Path(folder, "uv.txt")
        requirements.write_text(
            requirement("uv", LOCK.read_text(encoding="utf-8")), encoding="utf-8"
        )
        command = (*PIP, "--no-compile", "--require-hashes", "-r", str(requirements))
        if subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode:
            return None
    installed = Path(sys.executable).with_name("uv")
    return str(installed) if installed.exists() else None


def by_uv(uv: str) -> bool:
    """Install with uv; return whether it succeeded."""
    command = (uv, "pip", "install", "--quiet", "--python", sys.executable)
    for packages in (LOCKED, BENTHAM):
        done = subprocess.run((*command, *packages), capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"uv could not install: {done.stderr.strip()}\nTrying pip ...", file=sys.stderr)
            return False
    return True


def by_pip() -> None:
    """Install with pip."""
    for packages in (LOCKED, BENTHAM):
        subprocess.run((*PIP, "--no-compile", *packages), check=True)


def main() -> int:
    """Install with uv, or with pip if that fails."""
    uv = find_uv()
    if uv is None or not by_uv(uv):
        try:
            by_pip()
        except subprocess.CalledProcessError as error:
            return int(error.returncode)
    return 0


if __name__ == "__main__":
    sys.exit(main())
