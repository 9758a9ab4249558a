"""Drives the devices of one worker until it is stopped or there is nothing left to run."""

import random
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from types import FrameType

from bentham.client import Client
from bentham.errors import InvalidInput, NotAllowed
from bentham.executors import Executor
from bentham.worker.calls import BackgroundCalls
from bentham.worker.context import Clock, Link, Log, Stop, WorkerContext, steady_clock
from bentham.worker.device import DeviceLife

WAIT_SECONDS = 20.0  # how long a lease request waits on the server for a trial
SLOTS_SECONDS = 1.0  # between checks of which slots exist


class Worker:
    """Drives devices and the executor that runs their trials.

    The client should have `patience=0`, since devices retry by themselves. The first signal
    (SIGTERM, SIGINT) stops the worker when the running trials have ended; the second releases them;
    the third stops it immediately. With `exit_when_idle`, the worker stops when the server has had
    nothing to run for that many seconds.

    If the executor has slots, each slot is a device and `names` is ignored. Slots may appear and
    disappear: a device whose slot no longer exists releases its trial and leaves.
    """

    def __init__(
        self,
        client: Client,
        executor: Executor,
        names: Sequence[str],
        log: Log,
        *,
        kind: str = "",
        exit_when_idle: float | None = None,
        clock: Clock = steady_clock,
        calls: BackgroundCalls | None = None,
        chance: Callable[[], float] = random.random,
    ):
        # A SimpleQueue, since a signal handler may put into it while this thread waits on it.
        self._wake_ups: SimpleQueue[None] = SimpleQueue()
        self._clock, self._log, self._exit_when_idle = clock, log, exit_when_idle
        self.stop = Stop(clock)
        wait = WAIT_SECONDS if exit_when_idle is None else min(WAIT_SECONDS, exit_when_idle)
        self._kind, self._context = (
            kind,
            WorkerContext(
                client=client,
                executor=executor,
                calls=calls or BackgroundCalls(self._wake),
                log=log,
                clock=clock,
                link=Link(log, clock),
                stop=self.stop,
                wait=wait,
                chance=chance,
            ),
        )
        self._has_slots = executor.slots() is not None
        self.devices = [] if self._has_slots else [self._device(name) for name in names]
        self._failed: set[str] = set()  # slots whose devices failed
        self._slots_at = 0.0
        self._signals = 0

    def run(self) -> None:
        """Run until stopped or idle; raise errors that retries cannot fix (a revoked token)."""
        with self._signal_handlers():
            try:
                while self.step():
                    self._sleep()
            finally:
                for device in self.devices:
                    device.abandon()
                self._context.executor.close()

    def step(self) -> bool:
        """Step every device once; return False when all have left."""
        if self._signals:
            self._handle_signals()
        self._follow_slots()
        try:
            alive = [device for device in self.devices if device.step()]
            failed = [device for device in self.devices if device.failure]
            self._failed.update(device.name for device in failed)
            self.devices = alive
            if failed and not alive:
                raise InvalidInput(failed[0].failure)
        except NotAllowed as error:
            remedy = (
                "an operator can create another: bentham token create --role device"
                if error.status == 401
                else "use a token with the role device"
            )
            text = f"the server does not accept the token ({error}); {remedy}"
            raise NotAllowed(text, error.status, error.problem) from None
        self._end_when_idle()
        return bool(self.devices) or (self._has_slots and not self.stop.draining)

    def signalled(self) -> None:
        """Record a signal; may be called at any time."""
        self._signals += 1
        self._wake()

    def _device(self, name: str) -> DeviceLife:
        return DeviceLife(name, self._kind, self._context)

    def _follow_slots(self) -> None:
        """Add a device for each new slot; retire devices whose slots no longer exist."""
        if not self._has_slots or self.stop.draining or self._clock() < self._slots_at:
            return
        self._slots_at = self._clock() + SLOTS_SECONDS
        slots = dict.fromkeys(self._context.executor.slots() or ())
        known = {device.name for device in self.devices}
        for device in self.devices:
            if device.name not in slots:
                device.retire()
        self._failed &= slots.keys()
        # A slot that is back before its device has left gets a new device after that.
        for name in slots:
            if name not in known and name not in self._failed:
                self.devices.append(self._device(name))

    def _handle_signals(self) -> None:
        if self._signals >= 3:
            raise KeyboardInterrupt
        if not self.stop.draining:
            self._log.info("draining: running trials continue; signal again to release them")
            self.stop.drain()
        if self._signals == 2 and not self.stop.releasing:
            self._log.info("stopping: running trials are released")
            self.stop.release()

    def _end_when_idle(self) -> None:
        if self._exit_when_idle is None or self.stop.draining or not self.devices:
            return
        since = [device.idle_since for device in self.devices]
        latest = self._clock() - self._exit_when_idle
        if all(time is not None and time <= latest for time in since):
            self._log.info("nothing left to run: stopping", idle_seconds=self._exit_when_idle)
            self.stop.drain()

    def _sleep(self) -> None:
        wake = min((device.wake for device in self.devices), default=self._slots_at)
        try:
            self._wake_ups.get(timeout=max(0.0, min(1.0, wake - self._clock())))
            while True:  # one step handles all wake-ups
                self._wake_ups.get_nowait()
        except Empty:
            pass

    def _wake(self) -> None:
        self._wake_ups.put(None)

    @contextmanager
    def _signal_handlers(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def handle(_number: int, _frame: FrameType | None) -> None:
            self.signalled()

        previous = {}
        for number in (signal.SIGTERM, signal.SIGINT):
            # A signal that was ignored when the worker started stays ignored.
            if signal.getsignal(number) is not signal.SIG_IGN:
                previous[number] = signal.signal(number, handle)
        try:
            yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)
