"""Whichever of uv and pip installs, it installs what is locked and checks the hashes."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import install
import pytest


class Machine:
    """Runs nothing; keeps what it was asked to, and fails what begins with one of `broken`."""

    def __init__(self, *broken: str):
        self.asked: list[list[str]] = []
        self._broken = broken

    def run(self, command: Any, check: bool, **_: object) -> subprocess.CompletedProcess[str]:
        words = [str(word) for word in command]
        for place, word in enumerate(words):
            if word == "-r":
                words[place + 1] = Path(words[place + 1]).read_text(encoding="utf-8")
        self.asked.append(words)
        code = int(any(name in words for name in self._broken))
        if code and check:
            raise subprocess.CalledProcessError(code, words)
        return subprocess.CompletedProcess(words, code, "", "no route to host")

    def installed(self, program: str) -> list[list[str]]:
        """What was installed by a program: what its commands say behind `install`."""
        return [asked[asked.index("install") :] for asked in self.asked if program in asked]


def install_on(machine: Machine, monkeypatch: pytest.MonkeyPatch, uv: str | None) -> int:
    monkeypatch.setattr(subprocess, "run", machine.run)
    monkeypatch.setattr(shutil, "which", lambda _: uv)
    return install.main()


def is_whole(commands: list[list[str]]) -> bool:
    """Whether all that is locked was installed, hashes checked, and then Bentham."""
    locked, bentham = commands
    lock = install.LOCK.read_text(encoding="utf-8")
    return locked[-3:] == ["--require-hashes", "-r", lock] and bentham[-2:] == [
        "-e",
        str(install.ROOT),
    ]


def test_uv_installs_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine()
    assert install_on(machine, monkeypatch, "/bin/uv") == 0
    assert is_whole(machine.installed("/bin/uv"))
    assert machine.installed("pip") == machine.installed("/bin/uv")  # uv's own word for it


def test_pip_installs_where_uv_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    machine = Machine("/bin/uv")
    assert install_on(machine, monkeypatch, "/bin/uv") == 0
    assert is_whole(machine.installed("-m"))
    assert "uv could not install: no route to host" in capsys.readouterr().err


def test_pip_installs_where_no_uv_can_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine()
    monkeypatch.setattr(install, "find_uv", lambda: None)
    assert install_on(machine, monkeypatch, None) == 0
    assert is_whole(machine.installed("-m"))


def test_it_is_said_when_neither_can(monkeypatch: pytest.MonkeyPatch) -> None:
    assert install_on(Machine("install"), monkeypatch, None) == 1


def test_pip_fetches_the_locked_uv(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine("install")  # so that nothing comes after it
    install_on(machine, monkeypatch, None)
    asked = machine.asked[0]
    assert "--require-hashes" in asked
    first, *hashes = asked[-1].split(" \\\n")
    assert first.startswith("uv==")
    assert len(hashes) > 5
    assert all(line.strip().startswith("--hash=sha256:") for line in hashes)


def test_the_lock_must_name_what_is_wanted() -> None:
    pinned = "uv==2 \\\n    --hash=sha256:bb \\\n    --hash=sha256:cc"
    lock = f"ruff==1 \\\n    --hash=sha256:aa\n{pinned}\nz==3"
    assert install.requirement("uv", lock) == pinned
    with pytest.raises(SystemExit, match="does not list pip"):
        install.requirement("pip", lock)
