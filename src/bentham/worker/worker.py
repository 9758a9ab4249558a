"""Drives the devices of one machine until it is told to stop, or there is nothing left to do."""

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

ASK_SECONDS = 20.0  # how long the server may take to find something to run
SLOTS_SECONDS = 1.0  # between looks at which slots there are


class Worker:
    """Some devices and the executor that runs their trials.

    The client has `patience=0`, since devices try again by themselves. The first signal
    (SIGTERM, SIGINT) ends it when the running trials have ended; the second gives them back; the
    third ends it at once. With `exit_when_idle` it ends by itself when the server has had nothing
    to run for so many seconds.

    Where the executor has slots that come and go, each is a device, `names` or not: a device whose
    slot is gone gives back what it runs and leaves.
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
        # A SimpleQueue, since a signal's handler may put into it while this thread waits on it.
        self._stirred: SimpleQueue[None] = SimpleQueue()
        self._clock, self._log, self._exit_when_idle = clock, log, exit_when_idle
        self.stop = Stop(clock)
        wait = ASK_SECONDS if exit_when_idle is None else min(ASK_SECONDS, exit_when_idle)
        self._kind, self._context = (
            kind,
            WorkerContext(
                client=client,
                executor=executor,
                calls=calls or BackgroundCalls(self._stir),
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
        self._failed: set[str] = set()  # slots that could not be devices
        self._slots_at = 0.0
        self._signals = 0

    def run(self) -> None:
        """Work until the end. Raises what makes it senseless to go on, as a revoked token."""
        with self._listening():
            try:
                while self.step():
                    self._sleep()
            finally:
                for device in self.devices:
                    device.abandon()
                self._context.executor.close()

    def step(self) -> bool:
        """Step every device once; False when all have left."""
        if self._signals:
            self._heed()
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
                "an operator issues another: bentham token create --role device"
                if error.status == 401
                else "use one of the role device"
            )
            text = f"the server does not accept the token ({error}); {remedy}"
            raise NotAllowed(text, error.status, error.problem) from None
        self._end_when_idle()
        return bool(self.devices) or (self._has_slots and not self.stop.draining)

    def signalled(self) -> None:
        """Take note of a signal; may be called at any time."""
        self._signals += 1
        self._stir()

    def _device(self, name: str) -> DeviceLife:
        return DeviceLife(name, self._kind, self._context)

    def _follow_slots(self) -> None:
        """A device for each slot that there is, and none for one that is gone."""
        if not self._has_slots or self.stop.draining or self._clock() < self._slots_at:
            return
        self._slots_at = self._clock() + SLOTS_SECONDS
        slots = dict.fromkeys(self._context.executor.slots() or ())
        known = {device.name for device in self.devices}
        for device in self.devices:
            if device.name not in slots:
                device.retire()
        self._failed &= slots.keys()
        # One that is back before its device has left is a device again after that.
        for name in slots:
            if name not in known and name not in self._failed:
                self.devices.append(self._device(name))

    def _heed(self) -> None:
        if self._signals >= 3:
            raise KeyboardInterrupt
        if not self.stop.draining:
            self._log.info("draining: running trials go on to their end; again to give them back")
            self.stop.drain()
        if self._signals == 2 and not self.stop.hurried:
            self._log.info("stopping: running trials are given back")
            self.stop.hurry()

    def _end_when_idle(self) -> None:
        if self._exit_when_idle is None or self.stop.draining or not self.devices:
            return
        since = [device.idle_since for device in self.devices]
        latest = self._clock() - self._exit_when_idle
        if all(time is not None and time <= latest for time in since):
            self._log.info("nothing left to run: leaving", idle_seconds=self._exit_when_idle)
            self.stop.drain()

    def _sleep(self) -> None:
        wake = min((device.wake for device in self.devices), default=self._slots_at)
        try:
            self._stirred.get(timeout=max(0.0, min(1.0, wake - self._clock())))
            while True:  # one look serves all that stirred
                self._stirred.get_nowait()
        except Empty:
            pass

    def _stir(self) -> None:
        self._stirred.put(None)

    @contextmanager
    def _listening(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def handle(_number: int, _frame: FrameType | None) -> None:
            self.signalled()

        before = {}
        for number in (signal.SIGTERM, signal.SIGINT):
            # Who started this with an interrupt ignored wants it ignored.
            if signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, handle)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
