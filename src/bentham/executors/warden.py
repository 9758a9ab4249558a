"""One helper process per device: forks a process per trial, watches it and ends it.

`python -m bentham.executors.warden` is started by the executor and speaks with it in lines of
JSON. It imports what trials need once, so that a trial does not pay for it, stays single-threaded,
so that to fork is safe, and ends with all that it started when the executor's end of the pipe
closes or the executor's process dies.

An order is a trial to run (`channel.Order`), or {"kill": true}. Answers: {"ready": how trials are
held}, then for each trial {"progress": share, "scores": [...]} as often as there is something new,
and {"ended": {"score": ..., "metrics": ..., "scores": ...}}, {"ended": {"reason": ..., "final":
...}} or, where this machine could not run it, {"ended": {"declined": ..., "unable": ...}} once
nothing of it is left.
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
    """Take orders until there are no more."""
    parser = argparse.ArgumentParser(description="Runs trials for the process executor.")
    parser.add_argument("--hold", choices=get_args(Hold), default="namespace")
    parser.add_argument("--preload", action="append", default=[], metavar="MODULE")
    given = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM):  # these are for the worker, which tells us
        signal.signal(number, signal.SIG_IGN)
    channel = _take_channel()
    containment = contained(given.hold)
    if containment.hold != given.hold:
        print(f"trials are held by their {containment.hold}: see bentham.executors.containment",
              file=sys.stderr)  # fmt: skip
    for name in given.preload:
        _preload(name)
    gc.freeze()  # so that children do not copy what they only read
    with suppress(BrokenPipeError):  # then the executor is gone
        channel.send({"ready": containment.hold})
        while (order := channel.take()) is not None:
            if "kill" not in order:  # that was for a trial that has ended
                channel.send({"ended": _run(order, containment, channel)})


def _run(order: Order, containment: Containment, channel: Channel) -> dict[str, Any]:
    try:
        monitor = Monitor(order, containment, channel)
    except OSError as error:  # as a full disk, or no process to be had: no fault of the model's
        print(f"a trial could not be started: {error}", file=sys.stderr)
        return {"declined": f"could not be started: {cause(error)}", "unable": False}
    try:
        return monitor.run()
    except OSError as error:
        return {"reason": f"could not be watched: {cause(error)}", "final": False}


def _preload(name: str) -> None:
    """Import a module, and call a function of it where one is named; what fails is left."""
    module, _, function = name.partition(":")
    try:
        loaded = import_module(module)
        if function:
            getattr(loaded, function)()
    except ModuleNotFoundError:  # an extra that is not installed
        pass
    except Exception as error:  # a trial that needs it will say so, too
        print(f"{name} could not be loaded: {type(error).__name__}: {error}", file=sys.stderr)


def _take_channel() -> Channel:
    """The pipes that are standard input and output, out of reach of whatever prints."""
    orders, answers = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(2, 1)
    os.close(null)
    return Channel(orders, answers)


if __name__ == "__main__":
    main()
