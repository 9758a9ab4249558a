"""The warden: a supervisor process per device that forks, monitors and ends a process per trial.

The executor starts `python -m bentham.executors.warden` and exchanges lines of JSON with it. The
warden imports what trials need only once, so that trials start fast. It stays single-threaded, so
that forking is safe. When the executor's end of the pipe closes or the executor's process dies, it
ends, with everything it started.

An order is a trial to run (`channel.Order`), or {"kill": true}. The first answer is {"ready":
HOLD}, with the kind of containment. During a trial, {"progress": share, "scores": [...]} is sent
whenever it changes. Once nothing of the trial is left, the last answer is one of
    {"ended": {"score": ..., "metrics": ..., "scores": ...}}
    {"ended": {"reason": ..., "final": ...}}
    {"ended": {"declined": ..., "unable": ...}} if this machine could not run it.
"""

import argparse
import gc
import os
import signal
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any, get_args

from bentham.executors.channel import Channel, Order
from bentham.executors.containment import Containment, Hold, contained
from bentham.executors.monitor import Monitor
from bentham.executors.outcomes import cause


def main() -> None:
    """Carry out orders until the input ends."""
    parser = argparse.ArgumentParser(description="Runs trials for the process executor.")
    parser.add_argument("--hold", choices=get_args(Hold), default="namespace")
    parser.add_argument("--preload", action="append", default=[], metavar="MODULE")
    options = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM):  # the worker handles them and closes the pipe
        signal.signal(number, signal.SIG_IGN)
    channel = _take_channel()
    containment = contained(options.hold)
    if containment.hold != options.hold:
        print(f"trials are contained by {containment.hold}: see bentham.executors.containment",
              file=sys.stderr)  # fmt: skip
    for name in options.preload:
        _preload(name)
    gc.freeze()  # so that children do not copy memory that they only read
    with suppress(BrokenPipeError):  # the executor has ended
        channel.send({"ready": containment.hold})
        while (order := channel.take()) is not None:
            if "kill" not in order:  # a kill now is for a trial that has already ended
                channel.send({"ended": _run(order, containment, channel)})


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


def _take_channel() -> Channel:
    """Move the pipes away from standard input and output, so that prints do not reach them."""
    orders, answers = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(2, 1)
    os.close(null)
    return Channel(orders, answers)


if __name__ == "__main__":
    main()
