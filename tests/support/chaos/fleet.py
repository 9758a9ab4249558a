"""Who asks: quick workers of our own, the product's own worker, and tenants that make studies.

The quick ones come back at once after an outage, so that a server that was just killed and started
is killed again with its hands full; the product's own back off, as they should. An arm's score
hangs on its names alone, so that whoever runs it, it is known.
"""

import hashlib
import http.client
import json
import random
import signal
import threading
import time
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

from support.chaos.ledger import Ledger
from support.chaos.server import Command, Zygote

MODELS = tuple(f"model-{number}" for number in range(8))
OWN = 5  # of these in a study that adds none
DATASETS = 2000
TENANTS = ("vision", "speech")
AHEAD = 40  # arms that tenants want beyond those that were run: nobody is ever without work


def score_of(dataset: str, model: str) -> float:
    """A number between 0 and 1 with all its digits, so that a mixed-up one shows."""
    digest = hashlib.sha256(f"{dataset} {model}".encode()).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


def write_table(path: Path) -> Path:
    """The scores as a table for the product's own worker; each arm costs 1."""
    lines = ["study,model,score,cost"]
    for number in range(DATASETS):
        name = f"data-{number}"
        lines += [f"{name},{model},{score_of(name, model)!r},1" for model in MODELS]
    path.write_text("\n".join(lines) + "\n")
    return path


class Caller:
    """Asks over HTTP until there is an answer, with one key however often that takes."""

    def __init__(self, port: int, token: str, seed: int):
        self.stop = threading.Event()
        self.failure: BaseException | None = None
        self.random = random.Random(seed)
        self._port, self.token = port, token
        self._connection: http.client.HTTPConnection | None = None

    def post(self, path: str, body: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        """Status and body of an answer; 0 if it was told to stop before there was one."""
        key = str(UUID(int=self.random.getrandbits(128)))
        while not self.stop.is_set():
            try:
                status, reply = self._send("POST", path, json.dumps(body or {}), key)
            except (OSError, http.client.HTTPException):
                self._hang_up()
                self.stop.wait(self.random.uniform(0.02, 0.06))
                continue
            if status not in (429, 503):
                return status, json.loads(reply) if reply else {}
            self.stop.wait(self.random.uniform(0.04, 0.08))
        return 0, {}

    def get(self, path: str) -> dict[str, Any]:
        """The body of an answer, if need be from a connection that was made anew."""
        try:
            status, reply = self._send("GET", path, None, "")
        except (OSError, http.client.HTTPException):
            self._hang_up()
            status, reply = self._send("GET", path, None, "")
        assert status == 200, (path, status, reply)
        found: dict[str, Any] = json.loads(reply)
        return found

    def _send(self, method: str, path: str, body: str | None, key: str) -> tuple[int, bytes]:
        if self._connection is None:
            self._connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=5.0)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        if key:
            headers["Idempotency-Key"] = key
        self._connection.request(method, path, body, headers)
        reply = self._connection.getresponse()
        return reply.status, reply.read()

    def _hang_up(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def close(self) -> None:
        """Ask no more."""
        self.stop.set()
        self._hang_up()


class Person(Caller):
    """Somebody who asks from a thread of its own."""

    def begin(self) -> None:
        """Begin to `live`."""
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def live(self) -> None:
        """What it does, until it is told to stop."""
        raise NotImplementedError

    def join(self) -> None:
        """Wait until it has stopped; what it stumbled over is raised here."""
        self.stop.set()
        self._thread.join()
        self.close()
        if self.failure is not None:
            raise self.failure

    def _run(self) -> None:
        try:
            self.live()
        except BaseException as failure:
            self.failure = failure


class QuickWorker(Person):
    """One device in a thread; most of its trials take milliseconds, a few need heartbeats."""

    def __init__(self, name: str, port: int, token: str, seed: int):
        super().__init__(port, token, seed)
        self._name = name
        self.begin()

    def live(self) -> None:
        """Ask and report until told to stop."""
        while not self.stop.is_set():
            self._register()
            while self._serve_one():
                pass

    def _register(self) -> None:
        status, reply = self.post("/v1/devices", {"name": self._name, "kind": "cpu"})
        assert status in (0, 201), reply

    def _serve_one(self) -> bool:
        """Run one trial; False when the device has to register again, or to stop."""
        status, lease = self.post(f"/v1/devices/{self._name}/lease", {"wait": 0.5})
        if status != 200:
            assert status in (0, 204, 404, 409), lease
            return status == 204
        path, fence = f"/v1/trials/{lease['trial']}", {"fence": lease["fence"]}
        long = self.random.random() < 0.02
        ends = time.monotonic() + self.random.uniform(0.0, 1.0 if long else 0.02)
        while (left := ends - time.monotonic()) > 0.0:
            if self.stop.wait(min(left, lease["heartbeat_seconds"])):
                return False
            if ends > time.monotonic():
                status, reply = self.post(f"{path}/heartbeat", fence)
                if status == 409:  # lost: ours no longer
                    return True
                assert status in (0, 200), reply
        score = score_of(lease["dataset"], lease["model"])
        status, reply = self.post(f"{path}/complete", {**fence, "score": score})
        assert status in (0, 200, 409), reply
        return not self.stop.is_set()


class Tenants(Person):
    """Make studies for as long as they are asked to, a little faster than these are done.

    Of three studies, one has a dataset of its own, one shares all its arms and adds some, and one
    is of another tenant that calls its dataset the same, and shares nothing.
    """

    def __init__(self, port: int, token: str, ledger: Ledger, seed: int):
        super().__init__(port, token, seed)
        self._ledger = ledger
        self.begin()

    def live(self) -> None:
        """Make studies until told to stop."""
        arms = 0
        for number in count():
            while not self._ledger.await_count("complete", arms - AHEAD, 0.05):
                if self.stop.is_set():
                    return
            arms += self._make(number)
            if self.stop.is_set():
                return

    def _make(self, number: int) -> int:
        group, role = divmod(number, 3)
        models = MODELS[:OWN] if role != 1 else MODELS
        body = {
            "name": f"study-{number}",
            "dataset": f"data-{group % DATASETS}",
            "models": dict.fromkeys(models, 1.0),
            "tenant": TENANTS[role == 2],
        }
        status, reply = self.post("/v1/studies", body)
        assert status in (0, 201), reply
        return len(models) if role != 1 else len(MODELS) - OWN


class RealWorker:
    """One process of `bentham worker`, with some devices."""

    def __init__(self, zygote: Zygote, arguments: Sequence[object], prefix: str, log: Path):
        self._zygote, self.prefix, self._log = zygote, prefix, log
        self._arguments = ["worker", *arguments, "--name", prefix]
        self._command: Command | None = None
        self.start()

    def start(self) -> None:
        """Begin, or begin again under the same name."""
        self._command = self._zygote.start(self._arguments, self._log)

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        assert self._command is not None
        self._command.send(number)

    def kill(self) -> None:
        """kill -9."""
        assert self._command is not None
        self._command.kill()

    def drain(self) -> int:
        """Let it finish; its exit code."""
        assert self._command is not None
        self.send(signal.SIGTERM)
        return self._command.wait()

    def runs(self, device: str) -> bool:
        """Whether a device is one of its own."""
        return device.rpartition("-")[0] == self.prefix
