"""What the processes of a trial use, as /proc tells it.

A warden runs one trial at a time and adopts orphans, so the processes of the trial are just the
warden's descendants. Numbers of processes are those of the /proc that is mounted here, which are
not those of a PID namespace within.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass

_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Usage:
    """All processes of a trial together: memory in bytes, CPU time in seconds."""

    memory: int
    cpu_seconds: float


def descendants() -> list[int]:
    """This process's children, their children and so on; those that it waits for not left out."""
    found: list[int] = []
    try:
        waiting = [int(os.readlink("/proc/self"))]
        while waiting:
            children = _children(waiting.pop())
            found += children
            waiting += children
    except OSError:  # no /proc: not Linux
        return []
    return found


def usage(pids: list[int], memory_limit: int) -> Usage:
    """What they use. Memory that several share counts once, but is worked out only near the limit.

    Resident memory, which is cheap to know, counts shared pages for each process that has them.
    """
    memory, ticks = 0, 0
    for pid in pids:
        fields = _stat(pid)
        if fields is None:
            continue
        ticks += sum(int(each) for each in fields[11:15])  # its own, and that of ended children
        memory += int(fields[21]) * _PAGE
    if memory > memory_limit:
        memory = sum(_proportional(pid) for pid in pids)
    return Usage(memory, ticks / _TICK)


def own_size() -> int:
    """The address space of this process, in bytes; 0 where that cannot be told."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[0]) * _PAGE
    except OSError:
        return 0


def _children(pid: int) -> list[int]:
    """The children of all threads of a process that may have ended meanwhile."""
    found: list[int] = []
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return found
    for thread in threads:
        try:
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                found += map(int, file.read().split())
        except FileNotFoundError:
            if os.path.exists(f"/proc/{pid}/task/{thread}"):  # a kernel without such files
                return [child for child, parent in _parents() if parent == pid]
        except OSError:
            continue
    return found


def _parents() -> Iterator[tuple[int, int]]:
    for name in os.listdir("/proc"):
        fields = _stat(int(name)) if name.isdigit() else None
        if fields is not None:
            yield int(name), int(fields[1])


def _stat(pid: int) -> list[bytes] | None:
    """The fields after a process's name, which may hold anything: state, parent and so on."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()
    except OSError:
        return None


def _proportional(pid: int) -> int:
    """A process's memory, with its part of what it shares."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
            for line in file:
                if line.startswith(b"Pss:"):
                    return int(line.split()[1]) * 1024
    except OSError:  # gone, or not ours to look at
        pass
    return 0
