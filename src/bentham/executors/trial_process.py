"""The two processes that the warden forks for a trial: its keeper, and the trial itself.

The keeper is the first process of the trial's PID namespace, where there is one. It reaps orphans
and reports how the trial ended; it does nothing else. The trial is its child, in its own session,
with limits, a clean environment and no open files but its own.
"""

import errno
import json
import math
import os
import resource
import select
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from bentham.executors.channel import Order
from bentham.executors.containment import Hold
from bentham.executors.limits import MIB, TrialLimits
from bentham.executors.linux import LINUX, die_with_parent, forbid_new_privileges, mount_own_proc
from bentham.executors.outcomes import cause
from bentham.executors.processes import own_size

LONGEST_REASON = 1000
MOST_OPEN_FILES = 1024
# Address space reserved for reporting that the limit was reached.
_REPORT_SPACE = 64 * MIB
# Errors of starting a program that does not exist or is not executable.
_NOT_INSTALLED = (errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ENOEXEC)


class Pipes(NamedTuple):
    """The write ends of the pipes: wait status, reports, standard output, standard error."""

    status: int
    reports: int
    out: int
    errors: int


def run_keeper(order: Order, limits: TrialLimits, pipes: Pipes, hold: Hold) -> NoReturn:
    """Run the keeper in a new child: start the trial, reap orphans, report how it ended."""
    try:
        try:
            die_with_parent()
            if _has_no_reader(pipes.status):
                os._exit(1)
            if hold == "namespace":
                mount_own_proc()
            os.setpgid(0, 0)
            keeper = os.getpid()
            trial = os.fork()
        except OSError as error:
            _decline(pipes.reports, f"could not be started: {cause(error)}")
            os._exit(1)
        if trial == 0:
            _run_trial(order, limits, pipes, keeper, new_session=hold != "group")
        os.closerange(0, pipes.status)
        os.closerange(pipes.status + 1, MOST_OPEN_FILES)
        ended, status = os.waitpid(-1, 0)
        while ended != trial:
            ended, status = os.waitpid(-1, 0)
        os.write(pipes.status, str(status).encode())
    finally:
        os._exit(0)


def _has_no_reader(pipe: int) -> bool:
    poller = select.poll()
    poller.register(pipe, 0)
    return bool(poller.poll(0))


def _run_trial(
    order: Order, limits: TrialLimits, pipes: Pipes, keeper: int, new_session: bool
) -> NoReturn:
    """Set up this process as the trial, and run it."""
    try:
        die_with_parent()
        if os.getppid() != keeper:
            os._exit(1)
        if new_session:
            os.setsid()
        forbid_new_privileges()
        _redirect_streams(pipes)
        os.chdir(order["work"])
        os.environ.clear()
        os.environ.update(order["environment"])
        tempfile.tempdir = None  # clear the value cached before the fork
        command = order.get("command")
        _limit(limits, address_space=0 if command else own_size() + limits.memory)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
    except BaseException as error:
        _decline(pipes.reports, f"could not be set up: {cause(error)}")
        os._exit(1)
    if command:
        _execute(command, pipes.reports)
    _call(order["function"], order["job"], pipes.reports)


def _redirect_streams(pipes: Pipes) -> None:
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(pipes.out, 1)
    os.dup2(pipes.errors, 2)
    os.closerange(3, pipes.reports)
    os.closerange(pipes.reports + 1, MOST_OPEN_FILES)


def _limit(limits: TrialLimits, address_space: int) -> None:
    cpu = math.ceil(limits.cpu_seconds) + 1  # the warden should notice first, with a reason
    values_by_limit = {
        resource.RLIMIT_CORE: (0, 0),
        resource.RLIMIT_CPU: (cpu, cpu + 5),
        resource.RLIMIT_NOFILE: (MOST_OPEN_FILES, MOST_OPEN_FILES),
        resource.RLIMIT_FSIZE: (limits.file_bytes, limits.file_bytes),
    }
    # A command may map far more memory than it uses, as GPU programs do, so the warden checks its
    # usage instead. A forked function maps only what it inherited and what it allocates.
    if address_space and LINUX:  # elsewhere a process may map more than that from the start
        values_by_limit[resource.RLIMIT_AS] = (address_space, address_space + _REPORT_SPACE)
    for kind, values in values_by_limit.items():
        _, hard = resource.getrlimit(kind)
        capped = [each if hard == resource.RLIM_INFINITY else min(each, hard) for each in values]
        resource.setrlimit(kind, (capped[0], capped[1]))


def _execute(command: list[str], reports: int) -> NoReturn:
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        reason = f"the command {Path(command[0]).name!r} could not be started: {cause(error)}"
        _decline(reports, reason, unable=error.errno in _NOT_INSTALLED)
    except BaseException as error:  # such as a NUL in an argument
        _send(reports, {"error": f"the command could not be started: {cause(error)}"})
    os._exit(1)


def _call(function: str, job: object, reports: int) -> NoReturn:
    """Call the training function, report its result or error, and exit."""

    def report(share: float, scores: list[float]) -> None:
        _send(reports, {"progress": float(share), "scores": [float(each) for each in scores]})

    result: Any = None
    try:
        sys.stdout.reconfigure(  # type: ignore[union-attr]
            encoding="utf-8", errors="backslashreplace", line_buffering=True
        )
        module, _, name = function.partition(":")
        result = getattr(import_module(module), name)(job, report)
        message = _message(result)
    except BaseException as error:
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        if soft != hard and LINUX:
            resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
        message = {"error": _reason(error), "memory": isinstance(error, MemoryError)}
        traceback.print_exc()
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):  # it may have been closed
            stream.flush()
    _send(reports, message)
    look = getattr(result, "look", None)
    if look is not None and "score" in message:
        _send_look(look, reports)
    os._exit(0)


def _message(result: Any) -> dict[str, Any]:
    """Return the report of what the training function returned."""
    try:
        if hasattr(result, "versions"):  # a fitted model, which is in a file
            return {"versions": [str(each) for each in result.versions]}
        return {
            "score": float(result.score),
            "metrics": {str(name): float(value) for name, value in result.metrics.items()},
            "scores": [float(each) for each in result.scores],
            "more": getattr(result, "look", None) is not None,
        }
    except (AttributeError, ValueError, TypeError) as error:
        raise TypeError(f"the returned value is not a result with a score: {error}") from None


def _send_look(look: Callable[[], dict[str, Any]], reports: int) -> None:
    """Send a look at the model, whose score is reported already; a failure costs only the look."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _send(reports, {"look": look()})
    except BaseException as error:
        with suppress(BaseException):
            print(f"no look at the model: {_reason(error)}", file=sys.stderr, flush=True)


def _decline(pipe: int, reason: str, unable: bool = False) -> None:
    """Report that this machine cannot run the trial, which is not the model's fault."""
    _send(pipe, {"declined": reason, "unable": unable})


def _send(pipe: int, message: dict[str, Any]) -> None:
    line = json.dumps(message).encode() + b"\n"
    while line:
        line = line[os.write(pipe, line) :]


def _reason(error: BaseException) -> str:
    """Return the last line of an error's traceback, without the module of the error's type."""
    try:
        text = str(error)
    except Exception:
        text = ""
    name = type(error).__name__
    return f"{name}: {text}"[:LONGEST_REASON] if text else name
