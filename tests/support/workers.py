"""A worker with an in-memory server and a clock that only the test advances."""

import io
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from bentham.client import Client
from bentham.errors import Conflict, NotAllowed, NotFound, Unavailable
from bentham.executors import Broken, Executor, Outcome, Progress, Scored
from bentham.wire import DeviceView, Lease, Renewal, TrialView
from bentham.worker import Worker
from bentham.worker.calls import BackgroundCalls, ServerCall
from bentham.worker.logs import make_log
from support.clients import DEVICE, Time
from support.executor_contract import lease as make_lease

Result = TypeVar("Result")
LEASE_SECONDS = 40.0


class Server(Client):
    """Stores all calls; can be unavailable, forget devices and revoke the token."""

    def __init__(self, time: Time):
        self.time = time
        self.received: list[
            tuple[float, str, str, object]
        ] = []  # time, verb, device or trial, value
        self.models: list[str] = []  # still to be leased
        self.devices_known: dict[str, float] = {}  # when each was registered
        self.running: dict[str, str] = {}  # trial -> device
        self.unavailable = self.revoked = False
        self.failing: dict[str, list[Exception]] = {}
        self.responses_to_lose = 0
        self.keys: dict[str, Any] = {}
        self.trials_begun = 0

    def verbs(self, *wanted: str) -> list[str]:
        return [verb for _, verb, _, _ in self.received if not wanted or verb in wanted]

    def close(self) -> None:
        pass

    def register_device(self, name: str, kind: str = "") -> DeviceView:
        self._receive("register", name, kind)
        self.devices_known[name] = self.time.now
        self.running = {trial: of for trial, of in self.running.items() if of != name}
        return self.device(name)

    def device(self, name: str) -> DeviceView:
        self._check_device(name)
        registered = self.devices_known[name]
        return DeviceView.model_validate({**DEVICE, "name": name, "registered": registered})

    def leave_device(self, name: str) -> DeviceView:
        self._receive("leave", name)
        self._check_device(name)
        del self.devices_known[name]
        return DeviceView.model_validate({**DEVICE, "name": name})

    def lease(self, device: str, wait: float = 0.0, key: str | None = None) -> Lease | None:
        self._receive("lease", device, wait)
        assert key is not None
        if key not in self.keys:
            self._check_device(device)
            if device in self.running.values():
                raise Conflict("the device runs a trial", 409)
            self.keys[key] = None
            if self.models:
                self.trials_begun += 1
                trial = f"t_{self.trials_begun:016}"
                self.running[trial] = device
                self.keys[key] = make_lease(
                    self.models.pop(0),
                    trial=trial,
                    device=device,
                    fence=self.trials_begun,
                    lease_seconds=LEASE_SECONDS,
                )
        self._answer()
        lease: Lease | None = self.keys[key]
        return lease

    def heartbeat(
        self,
        trial_id: str,
        fence: int,
        timeout: float | None = None,
        *,
        progress: float | None = None,
        scores: Sequence[float] = (),
    ) -> Renewal:
        self._check(trial_id, fence, timeout)
        self._receive("heartbeat", trial_id, (progress, tuple(scores)))
        self._check_running(trial_id)
        return Renewal(
            trial=trial_id, lease_seconds=LEASE_SECONDS, heartbeat_seconds=LEASE_SECONDS / 4.0
        )

    def complete(
        self,
        trial_id: str,
        fence: int,
        score: float,
        key: str | None = None,
        timeout: float | None = None,
        *,
        metrics: Mapping[str, float] | None = None,
        scores: Sequence[float] = (),
        look: Mapping[str, Any] | None = None,
    ) -> TrialView:
        value = (score, dict(metrics or {}), list(scores))
        if look is not None:
            self._receive("look", trial_id, dict(look))
        return self._end("complete", trial_id, fence, value, key, timeout)

    def send_model(
        self,
        trial_id: str,
        fence: int,
        content: bytes,
        versions: Sequence[str] = (),
        timeout: float | None = None,
    ) -> TrialView:
        key = f"model {trial_id}"  # a repeat changes nothing
        value = content, list(versions)
        return self._end("model", trial_id, fence, value, key, timeout or LEASE_SECONDS / 8.0)

    def send_log(
        self, trial_id: str, fence: int, content: bytes, timeout: float | None = None
    ) -> None:
        self._check(trial_id, fence, timeout)
        self._receive("log", trial_id, content)
        self._check_running(trial_id)

    def fail(
        self,
        trial_id: str,
        fence: int,
        reason: str = "",
        final: bool = False,
        key: str | None = None,
        timeout: float | None = None,
    ) -> TrialView:
        return self._end("fail", trial_id, fence, (reason, final), key, timeout)

    def release(
        self,
        trial_id: str,
        fence: int,
        key: str | None = None,
        timeout: float | None = None,
        *,
        reason: str = "",
        unable: bool = False,
    ) -> TrialView:
        return self._end("release", trial_id, fence, (reason, unable), key, timeout)

    def lose(self) -> None:
        """Let all leases expire."""
        self.running.clear()

    def _end(
        self,
        verb: str,
        trial: str,
        fence: int,
        value: object,
        key: str | None,
        timeout: float | None,
    ) -> TrialView:
        self._receive(verb, trial, value)
        assert key is not None
        self._check(trial, fence, timeout)
        if key not in self.keys:
            self._check_running(trial)
            del self.running[trial]
            self.keys[key] = TrialView(
                id=trial, tenant="lab", study="s", dataset="wine", model="svm", device="d",
                kind="", state="complete", attempt=1, cost=1.0, started=1.0, ended=2.0,
                score=None, reason="",
            )  # fmt: skip
        self._answer()
        ended: TrialView = self.keys[key]
        return ended

    def _check(self, trial: str, fence: int, timeout: float | None) -> None:
        assert fence == int(trial.removeprefix("t_"))
        assert timeout is not None
        assert timeout <= LEASE_SECONDS / 8.0  # connect and response together: one heartbeat

    def _receive(self, verb: str, subject: str, value: object = None) -> None:
        if self.failing.get(verb):
            raise self.failing[verb].pop()
        if self.unavailable:
            raise Unavailable("no server answers")
        if self.revoked:
            raise NotAllowed("the token was revoked", 401)
        self.received.append((self.time.now, verb, subject, value))

    def _answer(self) -> None:
        if self.responses_to_lose:
            self.responses_to_lose -= 1
            raise Unavailable("the response was lost")

    def _check_device(self, device: str) -> None:
        if device not in self.devices_known:
            raise NotFound("there is no such device", 404)

    def _check_running(self, trial: str) -> None:
        if trial not in self.running:
            raise Conflict("the trial has ended", 409)


class Inline(BackgroundCalls):
    """Makes calls at once, except those that the test holds back in `held`."""

    def __init__(self) -> None:
        self.hold = False
        self.held: list[ServerCall[Any]] = []

    def start(self, function: Callable[[], Result]) -> ServerCall[Result]:
        call = ServerCall(function)
        if self.hold:
            self.held.append(call)
        else:
            call.run()
        return call


class Timed:
    """An executor whose trials take as many seconds as the model's name says.

    The models `nan`, `bad`, `faulty` and `crash` fail in different ways.
    """

    def __init__(self, time: Time):
        self.time = time
        self.started: list[str] = []
        self.killed: list[tuple[float, str]] = []
        self.progress = Progress()  # of every trial
        self.score = 0.5
        self.printed = b""
        self.slot_names: list[str] | None = None
        self.closed = False

    def start(self, lease: Lease) -> "TimedTrial":
        if lease.model == "crash":
            raise OSError("no such device")
        self.started.append(lease.model)
        return TimedTrial(self, lease.model, self.time.now)

    def slots(self) -> Sequence[str] | None:
        return self.slot_names

    def close(self) -> None:
        self.closed = True


class TimedTrial:
    def __init__(self, executor: Timed, model: str, start: float):
        self.executor, self.model, self.start_time = executor, model, start
        self.ended: Outcome | None = None

    def poll(self) -> Outcome | None:
        if self.ended is None:
            if self.model == "nan":
                self.ended = Scored(float("nan"))
            elif self.model == "bad":
                self.ended = Broken("no memory")
            elif self.model == "faulty":
                raise RuntimeError("poll")
            elif self.executor.time.now >= self.start_time + float(self.model):
                self.ended = Scored(self.executor.score)
        return self.ended

    def kill(self) -> None:
        if self.ended is None:
            self.ended = Broken("killed")
            self.executor.killed.append((self.executor.time.now, self.model))

    def progress(self) -> Progress:
        return self.executor.progress

    def log(self) -> bytes:
        return self.executor.printed


class World:
    """A worker, its server and their clock."""

    def __init__(
        self,
        *models: str,
        devices: int = 1,
        exit_when_idle: float | None = None,
        slots: list[str] | None = None,
    ):
        self.time = Time()
        self.server = Server(self.time)
        self.server.models = list(models)
        self.executor = Timed(self.time)
        self.executor.slot_names = slots
        self.calls = Inline()
        self.out = io.StringIO()
        executor: Executor = self.executor
        self.worker = Worker(
            self.server, executor, [f"d-{place}" for place in range(devices)], make_log(self.out),
            kind="cpu", exit_when_idle=exit_when_idle, clock=lambda: self.time.now,
            calls=self.calls, chance=lambda: 1.0,
        )  # fmt: skip
        self.steps = 0

    def pass_time(self, seconds: float) -> bool:
        """Let the worker run for some time; False if it has ended."""
        until = self.time.now + seconds
        while True:
            self.steps += 1
            if not self.worker.step():
                return False
            wakes = [device.wake for device in self.worker.devices]
            wake = min(wakes, default=self.time.now + 1.0)
            if min(wake, self.time.now + 1.0) > until:
                self.time.now = until
                return True
            self.time.now = max(self.time.now + 1e-3, min(wake, self.time.now + 1.0))

    def logged(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.getvalue().splitlines()]

    def events(self, *words: str) -> list[str]:
        """The logged events that contain one of the words."""
        events = [str(line["event"]) for line in self.logged()]
        return [text for text in events if any(word in text for word in words)]
