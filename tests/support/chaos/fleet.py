"""The clients: quick test workers, the real worker, and tenants that create studies.

Quick workers reconnect at once after an outage, so that a restarted server is under load again
when the next kill comes. Real workers back off, as they should. An arm's score depends only on
its dataset and model, so the correct score is known whichever worker runs it.
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
OWN = 5  # number of models in a study that adds none
DATASETS = 2000
TENANTS = ("vision", "speech")
AHEAD = 40  # arms created ahead of the completed ones, so that no worker is ever idle


def score_of(dataset: str, model: str) -> float:
    """Return a number from 0 to 1 with many digits, so that a mix-up of scores is detected."""
    digest = hashlib.sha256(f"{dataset} {model}".encode()).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


def write_table(path: Path) -> Path:
    """Write the scores as a table for the real worker; each arm costs 1."""
    lines = ["study,model,score,cost"]
    for number in range(DATASETS):
        name = f"data-{number}"
        lines += [f"{name},{model},{score_of(name, model)!r},1" for model in MODELS]
    path.write_text("\n".join(lines) + "\n")
    return path


def write_prior(path: Path) -> Path:
    """Write a fixed prior over the scores, which are uniform and independent."""
    own = [[1.0 / 12.0 if row == column else 0.0 for column in MODELS] for row in MODELS]
    prior = {"layout": "shared", "models": MODELS, "mean": [0.5] * len(MODELS), "covariance": own}
    path.write_text(json.dumps(prior))
    return path


class Caller:
    """Repeats an HTTP request until it is answered, always with the same idempotency key."""

    def __init__(self, port: int, token: str, seed: int):
        self.stop = threading.Event()
        self.failure: BaseException | None = None
        self.random = random.Random(seed)
        self._port, self.token = port, token
        self._connection: http.client.HTTPConnection | None = None

    def post(self, path: str, body: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        """Return the status and body of the response; status 0 if stopped before there was one."""
        key = str(UUID(int=self.random.getrandbits(128)))
        while not self.stop.is_set():
            try:
                status, reply = self._send("POST", path, json.dumps(body or {}), key)
            except (OSError, http.client.HTTPException):
                self._disconnect()
                self.stop.wait(self.random.uniform(0.02, 0.06))
                continue
            if status not in (429, 503):
                return status, json.loads(reply) if reply else {}
            self.stop.wait(self.random.uniform(0.04, 0.08))
        return 0, {}

    def get(self, path: str) -> dict[str, Any]:
        """Return the body of the response; reconnect and retry once if the connection failed."""
        try:
            status, reply = self._send("GET", path, None, "")
        except (OSError, http.client.HTTPException):
            self._disconnect()
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
        response = self._connection.getresponse()
        return response.status, response.read()

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def close(self) -> None:
        """Stop, and close the connection."""
        self.stop.set()
        self._disconnect()


class Person(Caller):
    """A caller that runs in its own thread."""

    def begin(self) -> None:
        """Start a thread that runs `act`."""
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def act(self) -> None:
        """Act until `stop` is set."""
        raise NotImplementedError

    def join(self) -> None:
        """Stop and wait for the thread; raise the error that ended it, if any."""
        self.stop.set()
        self._thread.join()
        self.close()
        if self.failure is not None:
            raise self.failure

    def _run(self) -> None:
        try:
            self.act()
        except BaseException as failure:
            self.failure = failure


class QuickWorker(Person):
    """One device in a thread; most of its trials take milliseconds, a few need heartbeats."""

    def __init__(self, name: str, port: int, token: str, seed: int):
        super().__init__(port, token, seed)
        self._name = name
        self.begin()

    def act(self) -> None:
        """Lease and run trials until `stop` is set."""
        while not self.stop.is_set():
            self._register()
            while self._run_trial():
                pass

    def _register(self) -> None:
        status, reply = self.post("/v1/devices", {"name": self._name, "kind": "cpu"})
        assert status in (0, 201), reply

    def _run_trial(self) -> bool:
        """Run one trial; False if the device must register again or stop."""
        status, lease = self.post(f"/v1/devices/{self._name}/lease", {"wait": 0.5})
        if status != 200:
            assert status in (0, 204, 404, 409), lease
            return status == 204
        path, fence = f"/v1/trials/{lease['trial']}", {"fence": lease["fence"]}
        long = self.random.random() < 0.02
        end = time.monotonic() + self.random.uniform(0.0, 1.0 if long else 0.02)
        while (left := end - time.monotonic()) > 0.0:
            if self.stop.wait(min(left, lease["heartbeat_seconds"])):
                return False
            if end > time.monotonic():
                status, reply = self.post(f"{path}/heartbeat", fence)
                if status == 409:  # the lease expired
                    return True
                assert status in (0, 200), reply
        score = score_of(lease["dataset"], lease["model"])
        status, reply = self.post(f"{path}/complete", {**fence, "score": score})
        assert status in (0, 200, 409), reply
        return not self.stop.is_set()


class Tenants(Person):
    """Creates studies until stopped, slightly faster than they are completed.

    Of every three studies, one has a new dataset, one shares all its arms and adds some, and one
    belongs to another tenant, whose dataset has the same name and shares nothing.
    """

    def __init__(self, port: int, token: str, ledger: Ledger, seed: int):
        super().__init__(port, token, seed)
        self._ledger = ledger
        self.begin()

    def act(self) -> None:
        """Create studies until `stop` is set."""
        arms = 0
        for number in count():
            while not self._ledger.await_count("complete", arms - AHEAD, 0.05):
                if self.stop.is_set():
                    return
            arms += self._create_study(number)
            if self.stop.is_set():
                return

    def _create_study(self, number: int) -> int:
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
        """Start, or start again under the same name."""
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
        """Let it finish its trials; return its exit code."""
        assert self._command is not None
        self.send(signal.SIGTERM)
        return self._command.wait()

    def runs(self, device: str) -> bool:
        """Whether a device belongs to this worker."""
        return device.rpartition("-")[0] == self.prefix
