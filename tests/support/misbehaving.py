"""Misbehaving models for the process executor; each runs in a real process.

A job is a dict with the arguments of the model. All processes that a test starts can be found by a
marker in their environment: see `marked_processes`.
"""
# ruff: noqa: ARG001

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Report = Callable[[float, list[float]], None]


@dataclass
class Result:
    score: Any = 0.5
    metrics: dict[str, Any] = field(default_factory=lambda: {"accuracy": 0.5})
    scores: list[Any] = field(default_factory=lambda: [0.4, 0.6])
    look: Callable[[], Any] | None = None


@dataclass
class Versions:
    versions: list[str] = field(default_factory=lambda: ["python==3.12.1"])


def score(job: dict[str, Any], report: Report) -> Result:
    report(0.5, [0.4])
    return Result(job.get("score", 0.5))


def steps(job: dict[str, Any], report: Report) -> Result:
    """Report a step, then wait until a file is removed."""
    report(0.25, [0.4])
    while Path(job["wait"]).exists():
        time.sleep(0.01)
    return Result()


def hang(job: dict[str, Any], report: Report) -> Result:
    print("hanging", flush=True)
    time.sleep(600)
    return Result()


def stubborn(job: dict[str, Any], report: Report) -> Result:
    """Ignore all signals that can be ignored."""
    for number in range(1, 65):
        with suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_IGN)
    time.sleep(600)
    return Result()


def busy(job: dict[str, Any], report: Report) -> Result:
    while True:
        pass


def busy_children(job: dict[str, Any], report: Report) -> Result:
    """Use CPU time in three processes, each of which stays below the limit for a while."""
    for _ in range(2):
        if os.fork() == 0:
            break
    while True:
        pass


def eat(job: dict[str, Any], report: Report) -> Result:
    """Make one large allocation, which fails."""
    return Result(len(bytearray(job["bytes"])))


def eat_slowly(job: dict[str, Any], report: Report) -> Result:
    """Use memory in eight children, each with a part of the total."""
    for _ in range(8):
        if os.fork() == 0:
            block = bytearray(os.urandom(4096)) * (job["bytes"] // 8 // 4096)
            time.sleep(600)
            del block
    time.sleep(600)
    return Result()


def share_memory(job: dict[str, Any], report: Report) -> Result:
    """Share memory among children: it counts once."""
    block = bytearray(os.urandom(4096)) * (job["bytes"] // 4096)
    children = []
    for _ in range(6):
        child = os.fork()
        if child == 0:
            time.sleep(0.5)
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
    return Result(block[0] * 0.0 + 0.5)


def detach(job: dict[str, Any], report: Report) -> Result:
    """Leave a grandchild in its own session that keeps writing to a file."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for _ in range(6000):
                with open(job["beats"], "a") as file:
                    file.write(".")
                time.sleep(0.01)
        os._exit(0)
    while not Path(job["beats"]).exists():
        time.sleep(0.005)
    if job.get("then") == "hang":
        time.sleep(600)
    return Result()


def bomb(job: dict[str, Any], report: Report) -> Result:
    """Fork in all of its processes; for safety, a counter in a file stops it at 400."""
    counter = os.open(job["count"], os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    while os.fstat(counter).st_size < 400:
        os.write(counter, b".")
        if os.fork() == 0:
            os.setsid()
    time.sleep(600)
    return Result()


def wrong(job: dict[str, Any], report: Report) -> Result:
    raise ValueError("the columns\n  do not fit \x1b[31mat all")


def leave(job: dict[str, Any], report: Report) -> Result:
    os._exit(job["status"])


def quit_early(job: dict[str, Any], report: Report) -> Result:
    sys.exit("enough of this")


def crash(job: dict[str, Any], report: Report) -> Result:
    ctypes.string_at(0)
    return Result()


def abort(job: dict[str, Any], report: Report) -> Result:
    os.abort()


def killed(job: dict[str, Any], report: Report) -> Result:
    os.kill(os.getpid(), job["signal"])
    time.sleep(600)
    return Result()


def looking(job: dict[str, Any], report: Report) -> Result:
    """Score, then fail in some way while looking at the model."""

    def look() -> Any:
        if job["how"] == "crash":
            ctypes.string_at(0)
        if job["how"] == "eat":
            return [bytearray(10**7) for _ in range(10**4)]
        if job["how"] == "hang":
            time.sleep(600)
        if job["how"] == "raise":
            raise ValueError("no columns")
        return {"rows": 7} if job["how"] == "good" else job["how"]

    return Result(look=look)


def fitting(job: dict[str, Any], report: Report) -> Versions:
    """Write the file of a fitted model, or something else in its place."""
    file = Path("fitted.pyz")
    if job["how"] == "link":
        file.symlink_to("/etc/hostname")
    elif job["how"] == "large":
        with file.open("wb") as opened:
            opened.truncate(job["size"])
    elif job["how"] != "nothing":
        file.write_bytes(b"PK model")
    return Versions()


def text_score(job: dict[str, Any], report: Report) -> Result:
    return Result("high")


def nothing(job: dict[str, Any], report: Report) -> None:
    return None


def garbage(job: dict[str, Any], report: Report) -> Result:
    """Write to every pipe it can find."""
    for number in range(3, 100):
        with suppress(OSError):
            os.write(number, b"\x00{[" * 100 + b"\n")
    time.sleep(600)
    return Result()


def chatter(job: dict[str, Any], report: Report) -> Result:
    print("the first line")
    line = "x" * 99
    for _ in range(job["bytes"] // 100):
        print(line)
    print("the last line")
    return Result()


def deaf(job: dict[str, Any], report: Report) -> Result:
    """Close the standard streams, as daemons do."""
    sys.stdout.close()
    sys.stderr.close()
    for number in range(3):
        os.close(number)
    return Result()


def scribble(job: dict[str, Any], report: Report) -> Result:
    with open("large", "wb") as file:
        for _ in range(64):
            file.write(bytes(2**20))
    return Result()


def show_environment(job: dict[str, Any], report: Report) -> Result:
    """Print what a trial can see: environment, open files, folder and processes."""
    print(
        repr(
            {
                "environment": dict(os.environ),
                "files": sorted(int(name) for name in os.listdir("/proc/self/fd")),
                "folder": os.getcwd(),
                "processes": sum(name.isdigit() for name in os.listdir("/proc")),
                "pid": os.getpid(),
            }
        )
    )
    return Result()


def read(job: dict[str, Any], report: Report) -> Result:
    return Result(len(Path(job["data"]).read_bytes()))


def spoil(job: dict[str, Any], report: Report) -> Result:
    """Overwrite the data, which later trials share."""
    path = Path(job["data"])
    path.chmod(0o644)
    with path.open("r+b") as file:
        file.write(b"spoiled")
    return Result()


def with_children(job: dict[str, Any], report: Report) -> Result:
    """Start a program, as a well-behaved model may."""
    text = subprocess.run(["echo", "0.75"], capture_output=True, check=True).stdout
    return Result(float(text))


def marked_processes(marker: str) -> list[int]:
    """Return the running processes whose environment contains the marker."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            environment = Path(f"/proc/{name}/environ").read_bytes()
            state = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if marker.encode() in environment and state not in "ZX":
            found.append(int(name))
    return found


def note_preload() -> None:
    """Note the process that imports what trials need, in a file that a variable names."""
    with open(os.environ["PRELOAD_NOTES"], "a") as file:
        file.write(f"{os.getpid()}\n")
