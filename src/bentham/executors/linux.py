"""Linux system calls that Python 3.11 does not provide, called through ctypes."""

import ctypes
import os
import signal
import sys

LINUX = sys.platform == "linux"
CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWPID = 0x00020000, 0x10000000, 0x20000000
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 1, 36, 38
_MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_REC, _MS_PRIVATE = 2, 4, 8, 16384, 1 << 18
# Loaded before any fork: a forked child may lack the resources to load it.
_LIBC = ctypes.CDLL(None, use_errno=True) if LINUX else None


def unshare(flags: int) -> None:
    """Leave the given namespaces; leaving a PID namespace affects only future children."""
    _call("unshare", ctypes.c_int(flags))


def return_to(namespace: int, flags: int) -> None:
    """Enter the namespace of an open file from /proc/*/ns."""
    _call("setns", ctypes.c_int(namespace), ctypes.c_int(flags))


def die_with_parent() -> None:
    """Have the kernel kill this process when the thread that created it ends, however it ends."""
    if LINUX:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parents have ended."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def forbid_new_privileges() -> None:
    """Prevent programs that this process runs from gaining privileges."""
    if LINUX:
        _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def mount_own_proc() -> bool:
    """Mount a private /proc for this PID namespace; return False where that is not allowed."""
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
        raise OSError(f"{name} is available on Linux only")
    if getattr(_LIBC, name)(*arguments) == -1:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
