"""The calls of Linux that Python 3.11 does not have, by ctypes."""

import ctypes
import os
import signal
import sys

LINUX = sys.platform == "linux"
CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWPID = 0x00020000, 0x10000000, 0x20000000
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 1, 36, 38
_MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_REC, _MS_PRIVATE = 2, 4, 8, 16384, 1 << 18
# Loaded before any fork: a child of many may be short of all that loading takes.
_LIBC = ctypes.CDLL(None, use_errno=True) if LINUX else None


def unshare(flags: int) -> None:
    """Leave the namespaces named; of a PID namespace it is the children that leave."""
    _call("unshare", ctypes.c_int(flags))


def return_to(namespace: int, flags: int) -> None:
    """Enter the namespace of an open file of /proc/*/ns."""
    _call("setns", ctypes.c_int(namespace), ctypes.c_int(flags))


def die_with_parent() -> None:
    """Be killed when the thread that made this process ends, however it does."""
    if LINUX:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parents end."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def gain_nothing() -> None:
    """Let no program that this process runs have more rights than it."""
    if LINUX:
        _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def see_own_processes_only() -> bool:
    """Mount a /proc of this PID namespace, unseen by others; False where that is not allowed."""
    try:
        unshare(CLONE_NEWNS)
        _call("mount", b"none", b"/", None, ctypes.c_ulong(_MS_REC | _MS_PRIVATE), None)
        flags = ctypes.c_ulong(_MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
        _call("mount", b"proc", b"/proc", b"proc", flags, None)
    except OSError:
        return False
    return True


def _prctl(option: int, value: int) -> None:
    zero = ctypes.c_ulong(0)
    _call("prctl", ctypes.c_int(option), ctypes.c_ulong(value), zero, zero, zero)


def _call(name: str, *arguments: object) -> None:
    if _LIBC is None:
        raise OSError(f"{name} is a call of Linux")
    if getattr(_LIBC, name)(*arguments) == -1:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
