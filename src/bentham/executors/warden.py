"""The fork server, and the wardens that it forks: a supervisor process per device.

The executor starts `python -m bentham.executors.warden`, the fork server. It imports what trials
need, once for all devices, and forks a warden for each. A warden forks, monitors and ends a process
per trial, so trials start fast. All stay single-threaded, so that forking is safe. The fork server
does nothing else: what happens to a trial or a warden cannot harm it. It ends when the executor
closes the socket or dies. A warden ends, with everything it started, when the executor's end of its
pipes closes or the fork server dies.

An order is a trial to run (`channel.Order`), or {"kill": true}. The first answer is {"ready":
HOLD}, with the kind of containment. During a trial, {"progress": share, "scores": [...]} is sent
whenever it changes. Once nothing of the trial is left, the last answer is one of
    {"ended": {"score": ..., "metrics": ..., "scores": ...}}, also with a "look" at the model
    {"ended": {"versions": ...}} if it wrote a fitted model to a file
    {"ended": {"reason": ..., "final": ...}}
    {"ended": {"declined": ..., "unable": ...}} if this machine could not run it.
"""

import argparse
import gc
import os
import signal
import socket
import sys
import traceback
from contextlib import suppress
from importlib import import_module
from typing import Any, NoReturn, get_args

from bentham.executors.channel import FORK, KILL, REQUEST, STATUS, Channel, Order
from bentham.executors.containment import Containment, Hold, contained
from bentham.executors.monitor import Monitor
from bentham.executors.outcomes import cause


def main() -> None:
    """Run the fork server until the executor closes its socket."""
    parser = argparse.ArgumentParser(description="Runs trials for the process executor.")
    parser.add_argument("--hold", choices=get_args(Hold), default="namespace")
    parser.add_argument("--preload", action="append", default=[], metavar="MODULE")
    options = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM):  # the worker handles them and closes the pipe
        signal.signal(number, signal.SIG_IGN)
    requests = _take_socket()
    containment = contained(options.hold)
    if containment.hold != options.hold:
        print(f"trials are contained by {containment.hold}: see bentham.executors.containment",
              file=sys.stderr)  # fmt: skip
    for name in options.preload:
        _preload(name)
    gc.freeze()  # so that children do not copy memory that they only read
    with suppress(ConnectionError):  # the executor has ended
        _serve(requests, containment)


def _serve(requests: socket.socket, containment: Containment) -> None:
    """Fork wardens, kill them and report their exit codes until the input ends."""
    pids: dict[int, int] = {}  # by the numbers that the executor gave them
    while True:
        content, files, _, _ = socket.recv_fds(requests, REQUEST.size, 2)
        if not content:
            return
        kind, number = REQUEST.unpack(content)
        if kind == FORK:
            try:
                pid = os.fork()
            except OSError as error:  # the executor sees that its pipes are closed
                print(f"a warden could not be started: {error}", file=sys.stderr)
            else:
                if pid == 0:
                    requests.close()
                    _run_warden(containment, Channel(*files))
                pids[number] = pid
            for file in files:
                os.close(file)
        elif kind == KILL:
            if number in pids:
                os.kill(pids[number], signal.SIGKILL)
        else:
            status = os.waitpid(pids.pop(number), 0)[1] if number in pids else 1 << 8
            requests.sendall(STATUS.pack(os.waitstatus_to_exitcode(status)))


def _run_warden(containment: Containment, channel: Channel) -> NoReturn:
    """Carry out orders until the input ends."""
    try:
        containment.begin()
        with suppress(BrokenPipeError):  # the executor has ended
            channel.send({"ready": containment.hold})
            while (order := channel.take()) is not None:
                if "kill" not in order:  # a kill now is for a trial that has already ended
                    channel.send({"ended": _run(order, containment, channel)})
        os._exit(0)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


def _run(order: Order, containment: Containment, channel: Channel) -> dict[str, Any]:
    try:
        monitor = Monitor(order, containment, channel)
    except OSError as error:  # such as a full disk or no free process: not the model's fault
        print(f"a trial could not be started: {error}", file=sys.stderr)
        return {"declined": f"could not be started: {cause(error)}", "unable": False}
    try:
        return monitor.run()
    except OSError as error:
        return {"reason": f"could not be monitored: {cause(error)}", "final": False}


def _preload(name: str) -> None:
    """Import a module, and call one of its functions if one is named; failures are not fatal."""
    module, _, function = name.partition(":")
    try:
        loaded = import_module(module)
        if function:
            getattr(loaded, function)()
    except ModuleNotFoundError:  # an optional dependency that is not installed
        pass
    except Exception as error:  # a trial that needs it will report the error, too
        print(f"{name} could not be loaded: {type(error).__name__}: {error}", file=sys.stderr)


def _take_socket() -> socket.socket:
    """Move the socket away from standard input; what is printed goes to standard error."""
    requests = socket.socket(fileno=os.dup(0))
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    os.close(null)
    return requests


if __name__ == "__main__":
    main()
