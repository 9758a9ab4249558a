"""Monitors one trial from start to end, for the warden.

The trial's reports, its output and its exit status arrive through pipes. Its processes are checked
ten times a second, and killed if they exceed a limit.
"""

import json
import os
import select
import signal
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from bentham.executors.capped_log import CappedLog
from bentham.executors.channel import Channel, Order
from bentham.executors.containment import Containment
from bentham.executors.limits import MIB, TrialLimits
from bentham.executors.processes import descendants, usage
from bentham.executors.trial_process import Pipes, run_keeper
from bentham.training.reports import read_report
from bentham.wire.devices import MOST_METRICS, MOST_SCORES

CHECK_SECONDS = 0.1
LOOK_SECONDS = 60.0  # maximum time for a look at the model, after its score
PROGRESS_SECONDS = 0.25  # minimum time between two progress messages
LONGEST_LINE = 2**18
CHUNK = 2**16
# Signals that a process causes by its own fault: a retry would end the same way.
_OWN_FAULT = {
    signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSYS,
    signal.SIGTRAP, signal.SIGPIPE,
}  # fmt: skip


class Monitor:
    """One trial. Starts it, and raises OSError if that fails; `run` monitors it to its end."""

    def __init__(self, order: Order, containment: Containment, channel: Channel):
        self._order, self._containment, self._channel = order, containment, channel
        self._limits = TrialLimits(**order["limits"])
        self._log = CappedLog(Path(order["log"]))
        self._verdict: dict[str, Any] | None = None
        self._scored: dict[str, Any] | None = None  # a score that a look at the model may follow
        self._look_until = 0.0
        self._status: int | None = None  # wait status of the trial's own process
        self._share: float | None = None
        self._scores: list[float] = []
        self._score: float | None = None  # the last score that a command printed
        self._metrics: dict[str, float] = {}
        self._sent: object = (None, [])
        self._send_at = 0.0
        self._pipes: dict[int, Callable[[bytes], None]] = {}
        self._last_error = b""
        self._keeper = self._fork()

    def run(self) -> dict[str, Any]:
        """Return the outcome once no process of the trial is left."""
        started = check_at = time.monotonic()
        try:
            self._handle_orders()  # orders that arrived together with this one
            while self._verdict is None and self._status is None:
                now = time.monotonic()
                if now >= check_at:
                    self._check_limits(now - started)
                    check_at = now + CHECK_SECONDS
                    continue
                self._send_progress(now)
                readable = [self._channel.orders, *self._pipes]
                for pipe in select.select(readable, [], [], check_at - now)[0]:
                    if pipe == self._channel.orders:
                        self._receive_orders()
                    elif pipe in self._pipes:
                        self._read(pipe)
        finally:
            self._containment.end(self._keeper)
            while self._pipes:  # the processes that held the other ends have ended
                self._read(next(iter(self._pipes)))
        # Whatever happened after the score, such as a limit that was reached, it stays.
        verdict = self._scored or self._verdict or self._verdict_of_exit()
        if reason := verdict.get("reason") or verdict.get("declined"):
            self._log.write(f"\n[bentham: {reason}]\n".encode())
        self._log.close()
        return verdict

    def _fork(self) -> int:
        ends: list[tuple[int, int]] = []
        try:
            ends.extend(os.pipe() for _ in range(4))
            return self._start_keeper(ends)
        except OSError:
            for end in (end for pair in ends for end in pair):
                os.close(end)
            self._log.close()
            raise

    def _start_keeper(self, ends: list[tuple[int, int]]) -> int:
        reports, lines = _by_line(self._handle_report), _by_line(self._handle_line)
        handlers: list[Callable[[bytes], None]]
        handlers = [
            self._handle_status,
            reports,
            partial(self._handle_output, lines),
            self._handle_errors,
        ]
        for (reader, _), handler in zip(ends, handlers, strict=True):
            os.set_blocking(reader, False)
            self._pipes[reader] = handler
        writers = Pipes(*(writer for _, writer in ends))
        if "command" not in self._order:  # one pipe for both outputs, to preserve their order
            os.dup2(writers.errors, writers.out, inheritable=False)
        child = self._containment.fork()
        if child == 0:
            run_keeper(self._order, self._limits, writers, self._containment.hold)
        for writer in writers:
            os.close(writer)
        return child

    def _read(self, pipe: int) -> None:
        try:
            content = os.read(pipe, CHUNK)
        except BlockingIOError:  # a process that escaped may still hold the other end
            content = b""
        self._pipes[pipe](content)
        if not content:
            del self._pipes[pipe]
            os.close(pipe)

    def _receive_orders(self) -> None:
        if not self._channel.receive():
            self._end("the worker ended", final=False)
        self._handle_orders()

    def _handle_orders(self) -> None:
        """Handle waiting orders; while a trial runs, they can only concern this trial."""
        while self._channel.waiting:
            if "kill" in self._channel.waiting.popleft():
                self._end("killed", final=False)

    def _end(self, reason: str, final: bool = True) -> None:
        if self._verdict is None:
            self._verdict = {"reason": reason, "final": final}

    # -- limits ---------------------------------------------------------------------------------

    def _check_limits(self, elapsed: float) -> None:
        limits = self._limits
        if self._scored is not None and time.monotonic() > self._look_until:
            self._end("the look at the model took too long")
            return
        if elapsed > limits.wall_seconds:
            self._end(
                f"ran for more than {limits.wall_seconds:,g} seconds, the limit of a trial here"
            )
            return
        pids = descendants()
        if len(pids) - 1 > limits.processes:  # without the keeper
            self._end(f"ran more than {limits.processes} processes, the limit of a trial here")
            return
        used = usage(pids, limits.memory)
        if used.memory > limits.memory:
            self._end(self._too_much_memory())
        elif used.cpu_seconds > limits.cpu_seconds:
            self._end(self._too_much_cpu())

    def _too_much_memory(self) -> str:
        return (
            f"used more than {self._limits.memory // MIB:,} MiB of memory, the limit of a trial "
            "here; try less data or a smaller model"
        )

    def _too_much_cpu(self) -> str:
        seconds = self._limits.cpu_seconds
        return f"used more than {seconds:,g} seconds of CPU time, the limit of a trial here"

    # -- input from the pipes -------------------------------------------------------------------

    def _handle_status(self, content: bytes) -> None:
        if self._status is None:
            # No status means that the keeper was killed, and everything else with it.
            self._status = int(content) if content else int(signal.SIGKILL)

    def _handle_output(self, lines: Callable[[bytes], None], content: bytes) -> None:
        self._log.write(content)
        lines(content)

    def _handle_errors(self, content: bytes) -> None:
        self._log.write(content)
        self._last_error = (self._last_error + content)[-2000:]

    def _handle_report(self, line: bytes) -> None:
        """Handle a line from our own code in the trial, or from training code that wrote there."""
        try:
            report = json.loads(line)
            if "declined" in report:
                verdict = {"declined": str(report["declined"]), "unable": bool(report["unable"])}
                self._verdict = self._verdict or verdict
            elif "error" in report:
                text = str(report["error"])
                if report.get("memory"):
                    text = f"{text}; {self._too_much_memory()}"
                self._end(text)
            elif "progress" in report:
                self._share = float(report["progress"])
                self._scores = [float(each) for each in report["scores"]][:MOST_SCORES]
            elif "versions" in report:
                self._verdict = self._verdict or {"versions": report["versions"]}
            elif "look" in report:
                if self._scored is not None and isinstance(report["look"], dict):
                    self._scored["look"] = report["look"]
            elif self._verdict is None and self._scored is None:
                scored = {name: report[name] for name in ("score", "metrics", "scores")}
                if report.get("more"):
                    self._scored, self._look_until = scored, time.monotonic() + LOOK_SECONDS
                else:
                    self._verdict = scored
        except (ValueError, TypeError, KeyError, RecursionError):
            self._end("sent a report that cannot be read")

    def _handle_line(self, line: bytes) -> None:
        """Handle a line that a command printed."""
        report = read_report(line) if "command" in self._order else None
        if report is None:
            return
        self._score = self._score if report.score is None else report.score
        self._metrics = dict([*(self._metrics | report.metrics).items()][-MOST_METRICS:])
        if report.progress is not None:
            self._share = report.progress
            if report.score is not None:
                self._scores = [*self._scores, report.score][-MOST_SCORES:]

    def _send_progress(self, now: float) -> None:
        progress = (self._share, self._scores)
        if progress == self._sent or now < self._send_at:
            return
        # A suspended worker reads nothing, and must not block this process.
        if select.select([], [self._channel.answers], [], 0.0)[1]:
            self._sent, self._send_at = progress, now + PROGRESS_SECONDS
            try:
                self._channel.send({"progress": self._share, "scores": self._scores})
            except OSError:
                self._end("the worker ended", final=False)

    # -- the outcome ----------------------------------------------------------------------------

    def _verdict_of_exit(self) -> dict[str, Any]:
        """Return the outcome of a trial that exited without a result from our own code."""
        code = os.waitstatus_to_exitcode(self._status or 0)
        if code < 0:
            return self._verdict_of_signal(-code)
        last = self._last_error.decode(errors="replace").strip().rpartition("\n")[2][:500]
        detail = f": {last}" if last else ""
        if code > 0:
            return {"reason": f"ended with exit status {code}{detail}", "final": True}
        if self._score is None:
            hint = '; the command must print a line such as {"score": 0.91}'
            advice = hint if "command" in self._order else ""
            return {"reason": f"ended without a score{advice}", "final": True}
        return {"score": self._score, "metrics": self._metrics, "scores": self._scores}

    def _verdict_of_signal(self, number: int) -> dict[str, Any]:
        try:
            name = signal.Signals(number).name
        except ValueError:
            name = f"signal {number}"
        if number == signal.SIGXCPU:
            return {"reason": self._too_much_cpu(), "final": True}
        if number == signal.SIGXFSZ:
            size = self._limits.file_bytes // MIB
            reason = f"wrote a file of more than {size:,} MiB, the limit of a trial here"
            return {"reason": reason, "final": True}
        if number in _OWN_FAULT:
            return {"reason": f"crashed ({name})", "final": True}
        hint = ", perhaps by the system for lack of memory" if number == signal.SIGKILL else ""
        return {"reason": f"killed from outside ({name}){hint}", "final": False}


def _by_line(handle: Callable[[bytes], None]) -> Callable[[bytes], None]:
    """Return a function that splits input into lines for `handle`; too long lines are dropped."""
    buffer, skipping = b"", False

    def feed(content: bytes) -> None:
        nonlocal buffer, skipping
        *lines, buffer = (buffer + (content or b"\n")).split(b"\n")
        for line in lines:
            if line and not skipping:
                handle(line)
            skipping = False
        if len(buffer) > LONGEST_LINE:
            buffer, skipping = b"", True

    return feed
