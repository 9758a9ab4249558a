"""`bentham worker`: invalid options, and training for a server."""

import hashlib
import json
import os
import random
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from subprocess import run
from typing import Any, ClassVar

import pytest
from support.canned import TRIAL
from support.clients import DEVICE, TOKEN
from support.executor_contract import lease
from support.process_trials import training

from bentham.cli.worker import size, variables
from bentham.errors import InvalidInput

CONTENT = "\n".join(
    ["x,kind", *(f"{chance.gauss(kind * 3, 1.0):.3f},{'ab'[kind]}"
                 for chance in [random.Random(1)] for kind in [0, 1] * 30)]
).encode()  # fmt: skip
MODELS: list[dict[str, Any]] = [
    {"algorithm": "gaussian-naive-bayes", "configuration": {"var_smoothing": 1e-9},
     "training": training(CONTENT, target="kind", columns={"x": "number"})},
    {"algorithm": "ours", "configuration": {"lr": 0.5}},
    {"algorithm": "hungry"},
    {"algorithm": "not-here"},
]  # fmt: skip


class Server(BaseHTTPRequestHandler):
    """Leases each model once, and records the requests."""

    pending: ClassVar[list[dict[str, Any]]]
    received: ClassVar[dict[str, list[Any]]]
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self.respond(CONTENT if self.path == "/v1/trials/t_0/data" else None)

    def do_PUT(self) -> None:
        self.record(self.rfile.read(int(self.headers["Content-Length"])))
        self.respond(b"")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"] or 0)) or b"{}")
        if self.path.endswith("/lease"):
            number = len(MODELS) - len(self.pending)
            offered = lease(f"model-{number}", trial=f"t_{number}", **self.pending.pop(0)) if (
                self.pending
            ) else None  # fmt: skip
            self.respond(None if offered is None else offered.model_dump_json().encode(), 204)
            return
        self.record(body)
        renewal = {"trial": "t_0", "lease_seconds": 40.0, "heartbeat_seconds": 10.0}
        bodies = {"devices": DEVICE, "leave": DEVICE, "heartbeat": renewal}
        self.respond(json.dumps(bodies.get(self.path.rpartition("/")[2], TRIAL)).encode())

    def record(self, body: object) -> None:
        self.received.setdefault(self.path.partition("?")[0], []).append(body)

    def respond(self, body: bytes | None, empty_status: int = 404) -> None:
        self.send_response(empty_status if body is None else 200)
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")


@contextmanager
def serving() -> Iterator[tuple[str, dict[str, list[Any]]]]:
    class Handler(Server):
        pending: ClassVar = list(MODELS)
        received: ClassVar = {}

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", Handler.received
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.outside
@pytest.mark.skipif(sys.platform != "linux", reason="containment is for Linux")
def test_a_worker_trains_for_a_server(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import os, sys, json\n"
        "print('learning at', sys.argv[1], 'with', os.environ['OUR_HOME'])\n"
        "print(json.dumps({'score': float(sys.argv[1])}))\n"
        "assert 'BENTHAM_TOKEN' not in os.environ\n"
    )
    (tmp_path / "ours.toml").write_text(
        f"""
        [algorithms.ours]
        title = "Ours"
        command = "{sys.executable} train.py {{lr}}"
        parameters.lr = {{ low = 0.1, high = 0.9 }}
        [algorithms.hungry]
        title = "Hungry"
        command = "{sys.executable} -c 'import time; x = bytearray(10**9); time.sleep(60)'"
        """
    )
    with serving() as (address, received):
        ended = run(
            [sys.executable, "-m", "bentham", "worker", "--server", address, "--memory", "400M",
             "--folder", tmp_path / "worker", "--algorithms", tmp_path / "ours.toml", "--name", "d",
             "--pass-environment", "OUR_HOME", "--exit-when-idle", "0"],
            env={**os.environ, "BENTHAM_TOKEN": TOKEN, "OUR_HOME": "home"},
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    (trained,) = received["/v1/trials/t_0/complete"]
    assert trained["score"] > 0.8
    assert len(trained["scores"]) == 5
    assert trained["metrics"]["accuracy"] == pytest.approx(trained["score"])
    assert received["/v1/trials/t_1/complete"] == [{"fence": 1, "score": 0.5}]
    assert received["/v1/trials/t_1/log"] == [b'learning at 0.5 with home\n{"score": 0.5}\n']
    (failed,) = received["/v1/trials/t_2/fail"]
    assert failed["final"]
    assert "used more than 400 MiB of memory" in failed["reason"]
    reason = "the algorithm 'not-here' is not installed here"
    assert received["/v1/trials/t_3/release"] == [{"fence": 1, "reason": reason, "unable": True}]
    digest = hashlib.sha256(CONTENT).hexdigest()
    assert [path.name for path in (tmp_path / "worker" / "data").iterdir()] == [digest]
    assert list((tmp_path / "worker" / "run").iterdir()) == []
    assert TOKEN not in ended.stderr


@pytest.mark.parametrize(
    ("text", "expected"),
    [("512M", 512 * 2**20), ("2G", 2**31), ("1.5 GiB", 3 * 2**29), ("1tb", 2**40), ("4096", 4096)],
)
def test_sizes(text: str, expected: int) -> None:
    assert size(text) == expected


@pytest.mark.parametrize("text", ["", "much", "-1G", "2GG", "1e9", "٣G", "1" * 40])
def test_invalid_sizes(text: str) -> None:
    with pytest.raises(InvalidInput, match="give a size such as 512M or 2G"):
        size(text)


def test_variables_that_trials_may_see(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUR_HOME", "there")
    monkeypatch.setenv("BENTHAM_TOKEN_FILE", "secret")
    assert variables(["OUR_HOME"]) == {"OUR_HOME": "there"}
    for name in ("NOT_SET", "A=B", ""):
        with pytest.raises(InvalidInput, match="which is not set"):
            variables([name])
    with pytest.raises(InvalidInput, match="must not see the token"):
        variables(["BENTHAM_TOKEN_FILE"])
