"""Contains all processes that a trial starts, so that all of them can be killed.

`namespace`: each trial has its own PID namespace. When the first process in it is killed, the
kernel kills all others in one step, whatever they did to escape. Root may create PID namespaces;
on most systems other users may, too, within a user namespace.

`descendants`: the warden adopts orphans, so no descendant can escape from it. To end a trial, it
stops and kills descendants until none are left. Used where namespaces are not allowed. Its
weakness: a descendant that has detached itself outlives a warden that is killed by kill -9.

`group`: the trial's process group is killed. Used on systems other than Linux, such as macOS.
There, a process that leaves the group escapes, and only the wall-clock limit and the limits of
single processes are enforced.
"""

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Literal, NoReturn

from bentham.executors.linux import (
    CLONE_NEWPID,
    CLONE_NEWUSER,
    LINUX,
    adopt_orphans,
    die_with_parent,
    return_to,
    unshare,
)
from bentham.executors.processes import descendants

Hold = Literal["namespace", "descendants", "group"]


class Containment:
    """Forks the process that a trial runs under, and kills it with everything it started."""

    def __init__(self, hold: Hold):
        self.hold = hold
        self._home = os.open("/proc/self/ns/pid", os.O_RDONLY) if hold == "namespace" else -1

    def begin(self) -> None:
        """Prepare to fork trials, in a process forked from the one that called `contained`."""
        if self.hold == "namespace":  # the kernel ends its trials with it
            die_with_parent()
        elif self.hold == "descendants":
            # It must outlive its parent to clean up; the closed pipe tells it when to end.
            adopt_orphans()

    def fork(self) -> int:
        """Like os.fork; where namespaces are used, the child is the first process of a new one."""
        if self.hold != "namespace":
            return os.fork()
        unshare(CLONE_NEWPID)
        child = -1
        try:
            child = os.fork()
        finally:
            if child != 0:  # the next child needs its own namespace
                return_to(self._home, CLONE_NEWPID)
        return child

    def end(self, child: int) -> None:
        """Kill the child and all its descendants; return when none are left."""
        with suppress(ProcessLookupError):
            if self.hold == "group":
                os.killpg(child, signal.SIGKILL)
            os.kill(child, signal.SIGKILL)
        if self.hold == "descendants":
            _end_descendants()
        # The first process of a namespace ends after all others in it.
        with suppress(ChildProcessError):
            os.waitpid(child, 0)


def contained(most: Hold = "namespace") -> Containment:
    """Return the strongest hold allowed here, up to `most`. Call this before starting threads.

    A user namespace needs a fork: the caller continues in a child, and this process waits for it.
    """
    if not LINUX:
        return Containment("group")
    if most == "namespace":
        if _can_fork_after(lambda: None):
            return Containment("namespace")
        if _can_fork_after(_enter_user_namespace):
            _enter_user_namespace()
            unshare(CLONE_NEWPID)
            child = os.fork()
            if child != 0:
                _exit_with(child)
            die_with_parent()
            return Containment("namespace")
    return Containment("descendants")


def _can_fork_after(enter: Callable[[], None]) -> bool:
    """Test in a child process whether, after `enter`, it can fork into a new PID namespace."""
    probe = os.fork()
    if probe == 0:
        try:
            enter()
            unshare(CLONE_NEWPID)
            child = os.fork()
            if child == 0:
                os._exit(0)
            os._exit(os.waitpid(child, 0)[1])
        finally:
            os._exit(1)
    return os.waitpid(probe, 0)[1] == 0


def _enter_user_namespace() -> None:
    """Keep user and group, but in a user namespace where they may create PID namespaces."""
    user, group = os.getuid(), os.getgid()
    unshare(CLONE_NEWUSER)
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def _exit_with(child: int) -> NoReturn:
    """Wait for the child that continues in place of this process, and exit with its status."""
    # Close the pipes, above all: open copies would hide that the other side has ended.
    os.closerange(0, 1024)
    status = os.waitpid(child, 0)[1]
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def _end_descendants() -> None:
    """Stop all descendants, so that none can fork, and kill them; repeat until none are left.

    Orphans become children of this process, so it has a child as long as any descendant lives.
    """
    while True:
        found = descendants()
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in found:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
