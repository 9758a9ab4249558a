"""tools/install.py installs the locked versions with uv or pip, and checks the hashes."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import install
import pytest


class Machine:
    """Records commands instead of running them; commands that contain one of `broken` fail."""

    def __init__(self, *broken: str):
        self.commands: list[list[str]] = []
        self._broken = broken

    def run(self, command: Any, check: bool, **_: object) -> subprocess.CompletedProcess[str]:
        words = [str(word) for word in command]
        for place, word in enumerate(words):
            if word == "-r":
                words[place + 1] = Path(words[place + 1]).read_text(encoding="utf-8")
        self.commands.append(words)
        code = int(any(name in words for name in self._broken))
        if code and check:
            raise subprocess.CalledProcessError(code, words)
        return subprocess.CompletedProcess(words, code, "", "no route to host")

    def installed(self, program: str) -> list[list[str]]:
        """Return the arguments after `install` of the commands of a program."""
        return [
            command[command.index("install") :] for command in self.commands if program in command
        ]


def install_on(machine: Machine, monkeypatch: pytest.MonkeyPatch, uv: str | None) -> int:
    monkeypatch.setattr(subprocess, "run", machine.run)
    monkeypatch.setattr(shutil, "which", lambda _: uv)
    return install.main()


def is_complete(commands: list[list[str]]) -> bool:
    """Whether the whole lock file was installed with hashes, and then Bentham."""
    locked, bentham = commands
    lock = install.LOCK.read_text(encoding="utf-8")
    return locked[-3:] == ["--require-hashes", "-r", lock] and bentham[-2:] == [
        "-e",
        str(install.ROOT),
    ]


def test_uv_is_used_if_available(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine()
    assert install_on(machine, monkeypatch, "/bin/uv") == 0
    assert is_complete(machine.installed("/bin/uv"))
    assert machine.installed("pip") == machine.installed("/bin/uv")  # `uv pip install`


def test_pip_is_used_if_uv_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    machine = Machine("/bin/uv")
    assert install_on(machine, monkeypatch, "/bin/uv") == 0
    assert is_complete(machine.installed("-m"))
    assert "uv could not install: no route to host" in capsys.readouterr().err


def test_pip_is_used_without_uv(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine()
    monkeypatch.setattr(install, "find_uv", lambda: None)
    assert install_on(machine, monkeypatch, None) == 0
    assert is_complete(machine.installed("-m"))


def test_failure_of_both_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    assert install_on(Machine("install"), monkeypatch, None) == 1


def test_pip_fetches_the_locked_uv(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine("install")  # so that it stops there
    install_on(machine, monkeypatch, None)
    command = machine.commands[0]
    assert "--require-hashes" in command
    first, *hashes = command[-1].split(" \\\n")
    assert first.startswith("uv==")
    assert len(hashes) > 5
    assert all(line.strip().startswith("--hash=sha256:") for line in hashes)


def test_the_lock_must_list_the_requirement() -> None:
    pinned = "uv==2 \\\n    --hash=sha256:bb \\\n    --hash=sha256:cc"
    lock = f"ruff==1 \\\n    --hash=sha256:aa\n{pinned}\nz==3"
    assert install.requirement("uv", lock) == pinned
    with pytest.raises(SystemExit, match="does not list pip"):
        install.requirement("pip", lock)
