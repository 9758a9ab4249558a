"""How all that a trial starts is held together, so that all of it can be ended.

`namespace`: each trial has a PID namespace of its own. When the first process in it is killed the
kernel kills the others, in one step, whatever they did to get away. Root may do this, and on most
systems anybody may within a user namespace.

`descendants`: the warden adopts orphans, so that no descendant can leave it; to end a trial it
stops and kills descendants until there are none. Used where namespaces are not allowed. What it
lacks: a descendant that detached itself outlives a warden that is killed by kill -9.

`group`: the trial's process group is killed. Used where there is no Linux, as on macOS; there what
leaves its group gets away, and only time and the limits of single processes are watched.
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
    """Forks the process that a trial lives under, and ends it with all that it started."""

    def __init__(self, hold: Hold):
        self.hold = hold
        self._home = os.open("/proc/self/ns/pid", os.O_RDONLY) if hold == "namespace" else -1

    def fork(self) -> int:
        """As os.fork; the child is the first process of a namespace, where there are such."""
        if self.hold != "namespace":
            return os.fork()
        unshare(CLONE_NEWPID)
        child = -1
        try:
            child = os.fork()
        finally:
            if child != 0:  # the next child needs a namespace of its own
                return_to(self._home, CLONE_NEWPID)
        return child

    def end(self, child: int) -> None:
        """Kill the child and all below it; returns when nothing is left."""
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
    """The best hold that is allowed here, at most as asked. To be called before any threads.

    Where the kernel then ends all trials, this process dies with its parent.
    For a user namespace the caller goes on as a child of this process, which waits for it.
    """
    if not LINUX:
        return Containment("group")
    if most == "namespace":
        if _can(lambda: None):
            die_with_parent()
            return Containment("namespace")
        if _can(_enter_user_namespace):
            die_with_parent()
            _enter_user_namespace()
            unshare(CLONE_NEWPID)
            child = os.fork()
            if child != 0:
                _stand_for(child)
            die_with_parent()
            return Containment("namespace")
    # This one must live to clear up after its parent: it hears of the end by the pipe.
    adopt_orphans()
    return Containment("descendants")


def _can(enter: Callable[[], None]) -> bool:
    """Whether a child that enters can have a child in a PID namespace; tried out, without trace."""
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
    """Become who one is, in a namespace where that may make PID namespaces."""
    user, group = os.getuid(), os.getgid()
    unshare(CLONE_NEWUSER)
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def _stand_for(child: int) -> NoReturn:
    """Wait for the child that goes on instead of this process, and end as it does."""
    os.closerange(0, 1024)  # above all the pipes: their end is how the child learns of an end
    status = os.waitpid(child, 0)[1]
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def _end_descendants() -> None:
    """Stop them all, so that none forks any more, and kill them, until none is left.

    Orphans come to this process, so as long as anything lives below it, it has a child.
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
