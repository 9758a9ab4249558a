"""Resource usage of a trial's processes, read from /proc.

A warden runs one trial at a time and adopts orphans, so the trial's processes are exactly the
warden's descendants. PIDs are those of the /proc mounted here, which differ from those inside a
nested PID namespace.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass

_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Usage:
    """The usage of all processes of a trial together: memory in bytes, CPU time in seconds."""

    memory: int
    cpu_seconds: float


def descendants(of: int | None = None) -> list[int]:
    """Return the PIDs of all descendants of a process, including those not yet reaped.

    Of this process, unless another is given.
    """
    found: list[int] = []
    try:
        pending = [int(os.readlink("/proc/self")) if of is None else of]
        while pending:
            children = _children(pending.pop())
            found += children
            pending += children
    except OSError:  # no /proc: not Linux
        return []
    return found


def usage(pids: list[int], memory_limit: int) -> Usage:
    """Return the usage of the processes; shared memory counts once if the limit seems exceeded.

    Resident memory is cheap to read, but counts shared pages once per process. So the exact
    memory is read only if the sum of resident memory exceeds the limit.
    """
    memory, ticks = 0, 0
    for pid in pids:
        fields = _stat(pid)
        if fields is None:
            continue
        ticks += sum(int(each) for each in fields[11:15])  # its own and its ended children's
        memory += int(fields[21]) * _PAGE
    if memory > memory_limit:
        memory = sum(_proportional(pid) for pid in pids)
    return Usage(memory, ticks / _TICK)


def own_size() -> int:
    """Return the size of this process's address space in bytes; 0 if it is unknown."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[0]) * _PAGE
    except OSError:
        return 0


def _children(pid: int) -> list[int]:
    """Return the children of all threads of a process, which may have ended."""
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
            if os.path.exists(f"/proc/{pid}/task/{thread}"):  # a kernel without these files
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
    """Return the fields after the process name, which may hold anything: state, parent, ..."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()
    except OSError:
        return None


def _proportional(pid: int) -> int:
    """Return a process's memory in bytes, with its proportional part of shared pages."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
            for line in file:
                if line.startswith(b"Pss:"):
                    return int(line.split()[1]) * 1024
    except OSError:  # it has ended, or access is denied
        pass
    return 0
