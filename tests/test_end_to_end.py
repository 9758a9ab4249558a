"""A real server, real workers and the commands that people type, over real sockets."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from commands import Bentham, one_line

from bentham.client import Client
from bentham.errors import Unavailable
from bentham.wire import Trial

TABLE = """study,model,score,cost
wine,svm,0.8,0.1
wine,forest,0.9,0.2
wine,boosting,0.95,0.3
slow,svm,0.8,2
slower,svm,0.8,1000
"""
PATIENCE = 60.0


class Process(NamedTuple):
    """A process, and the file that its log goes to."""

    popen: subprocess.Popen[bytes]
    path: Path

    def log(self) -> str:
        return self.path.read_text()

    def ended(self) -> int:
        """Wait for the end; the exit code."""
        code = self.popen.wait(timeout=PATIENCE)
        assert "bth_" not in self.log()
        return code

    def events(self) -> list[str]:
        """What a worker wrote into its log."""
        lines = [line for line in self.log().splitlines() if line.startswith("{")]
        return [str(json.loads(line)["event"]) for line in lines]


class Site:
    """A folder with a server in it, and workers beside it."""

    def __init__(self, folder: Path):
        self.folder = folder
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        self.table = folder / "table.csv"
        self.table.write_text(TABLE)
        self.processes: list[subprocess.Popen[bytes]] = []
        self.server = self.serve()

    def serve(self) -> Process:
        """Start the server, on the data that is there."""
        return self._start("serve", "--port", self.port, "--data", self.folder / "bentham-data")

    def worker(self, *options: object) -> Process:
        """Start a worker."""
        fixed = ["--server", self.address, "--table", self.table, "--scale", 1.0]
        return self._start("worker", *fixed, "--token-file", self.folder / "device.token", *options)

    def client(self, token: str = "bentham-data/admin.token") -> Client:
        """A client that waits until the server is there."""
        path = self.folder / token
        wait_for(lambda: path.exists() and path.stat().st_size > 0)
        return Client(self.address, path.read_text().strip(), patience=PATIENCE)

    def close(self) -> None:
        """End whatever still runs."""
        for process in self.processes:
            process.kill()
            process.wait()

    def _start(self, *arguments: object) -> Process:
        command = [sys.executable, "-m", "bentham", *map(str, arguments)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        # Into a file: a pipe that nobody reads would fill, and stop who writes.
        path = self.folder / f"{len(self.processes)}.log"
        with path.open("wb") as file:
            process = subprocess.Popen(command, cwd=self.folder, env=environment, stderr=file)
        self.processes.append(process)
        return Process(process, path)


def wait_for(true: Callable[[], object]) -> None:
    """Look until it is true."""
    until = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.02)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One server for all, with a tenant and a device's token."""
    made = Site(tmp_path_factory.mktemp("site"))
    try:
        with made.client() as client:
            client.create_tenant("lab")
            token = client.issue_token("device")
        (made.folder / "device.token").write_text(token.secret)
        (made.folder / "device.token").chmod(0o600)
        yield made
    finally:
        made.close()


@pytest.fixture
def typed(site: Site, bentham: Bentham, monkeypatch: pytest.MonkeyPatch) -> Bentham:
    """The command line, in the site's folder."""
    monkeypatch.chdir(site.folder)
    monkeypatch.setenv("BENTHAM_SERVER", site.address)
    for name in ("BENTHAM_TOKEN", "BENTHAM_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    return bentham


def running(client: Client) -> list[Trial]:
    return list(client.trials(state="running"))


def test_from_a_study_to_its_best_model(site: Site, typed: Bentham) -> None:
    def said(*arguments: object) -> Any:
        done = typed(*arguments, "--json")
        assert done.code == 0, done.err
        return json.loads(done.out)

    models = ["--models", "svm=1,forest=1,boosting"]
    study = said("study", "create", "wine", *models, "--tenant", "lab", "--max-trials", 9)
    assert said("study", "pause", "wine")["state"] == "paused"
    assert said("study", "resume", study["id"])["state"] == "open"
    worker = site.worker("--devices", 2, "--name", "first", "--exit-when-idle", 0.2)
    assert worker.ended() == 0
    events = worker.events()
    assert events.count("trial complete") == 3
    assert events[-1] == "worker ended"
    found = said("study", "show", "wine")
    assert found["state"] == "closed"
    assert found["incumbent"] == {"model": "boosting", "score": 0.95}
    trials = said("trial", "list", "--study", "wine")
    assert {trial["device"] for trial in trials} <= {"first-0", "first-1"}
    assert said("explain", trials[0]["id"])["model"] == trials[0]["model"]
    assert said("device", "list") == []
    assert said("status")["decisions"] == 3
    assert "lab/wine,boosting,0.95" in typed("history", "export").out
    commands: list[list[object]] = [
        ["study", "show", "wine"], ["trial", "list"], ["trial", "show", trials[0]["id"]],
        ["explain", trials[0]["id"]], ["status"], ["tenant", "list"], ["token", "list"],
    ]  # fmt: skip
    for command in commands:
        done = typed(*command)
        assert done.code == 0
        assert max(map(len, done.out.splitlines())) <= 80
    one_line(typed, "study", "resume", "wine", contains=["closed"])
    one_line(typed, "device", "show", "first-0", contains=["first-0"])


def test_a_tenant_sees_its_own(site: Site, typed: Bentham) -> None:
    assert typed("tenant", "create", "other").code == 0
    command = ["token", "create", "--role", "tenant", "--tenant", "other", "--out", "other.token"]
    assert typed(*command).code == 0
    own = ["--token-file", "other.token"]
    made = json.loads(typed("study", "create", "mine", "--models", "x", *own, "--json").out)
    assert made["tenant"] == "other"
    assert [s["name"] for s in json.loads(typed("study", "list", "--json", *own).out)] == ["mine"]
    one_line(typed, "study", "show", "wine", *own, contains=["there is no study 'wine'"])
    one_line(typed, "token", "list", *own, contains=["admin"])
    assert typed("study", "close", "mine", "--yes", *own).code == 0
    assert site.server.popen.poll() is None


def test_history_goes_in(site: Site, typed: Bentham) -> None:
    done = typed("history", "import", site.table)
    assert done.code == 0
    assert "5 runs of 3 models in 3 studies" in done.out


@pytest.mark.parametrize("signals", [1, 2])
def test_signals(site: Site, signals: int) -> None:
    with site.client() as client:
        study = client.create_study("slow" if signals == 1 else "slower", ["svm"], tenant="lab")
        worker = site.worker("--name", f"signalled-{signals}")
        wait_for(lambda: running(client))
        (trial,) = running(client)
        worker.popen.send_signal(signal.SIGTERM)
        if signals == 2:
            wait_for(lambda: "draining" in worker.log())
            worker.popen.send_signal(signal.SIGINT)
        assert worker.ended() == 0
        events = worker.events()
        assert client.devices() == []
        assert client.trial(trial.id).state == ("complete" if signals == 1 else "lost")
        assert ("trial complete" if signals == 1 else "trial given back") in events
        if signals == 2:
            client.close_study(study.id)


def test_a_server_that_is_killed_and_comes_back(site: Site) -> None:
    with site.client() as client:
        client.create_study("slow", ["svm"], dataset="slow", tenant="other")
        kinds: list[str] = []

        def listen() -> None:
            for event in client.events():
                kinds.append(event.kind)
                if event.kind in ("trial-completed", "reset"):
                    return

        threading.Thread(target=listen, daemon=True).start()
        worker = site.worker("--name", "patient", "--exit-when-idle", 0.2)
        wait_for(lambda: running(client))
        (trial,) = running(client)
        site.server.popen.kill()
        site.server.popen.wait()
        with Client(site.address, "x", patience=0.0) as nobody, pytest.raises(Unavailable):
            nobody.overview()
        site.server = site.serve()
        assert worker.ended() == 0
        events = worker.events()
        assert client.trial(trial.id).state == "complete"
        assert client.trial(trial.id).score == 0.8
        assert events.count("trial started") == 1
        assert events.count("server away") == events.count("server back")
        # The stream was taken up again, or said that it had missed something.
        wait_for(lambda: {"trial-completed", "reset"} & set(kinds))


def test_a_revoked_token_ends_a_worker(site: Site, typed: Bentham) -> None:
    with site.client() as client:
        worker = site.worker("--name", "revoked")
        wait_for(client.devices)
        (token,) = [token for token in client.tokens() if token.role == "device"]
        assert typed("token", "revoke", token.id, "--yes").code == 0
    assert worker.ended() == 2
    last = worker.log().splitlines()[-1]
    assert last.startswith("bentham: the server does not accept the token")
    assert "bentham token create" in last
