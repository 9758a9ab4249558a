"""A real server, real workers and the command line, over real sockets."""

import json
import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from support.commands import Bentham, assert_refused
from support.sites import Site, wait_for

from bentham.client import Client
from bentham.errors import Unavailable

pytestmark = pytest.mark.outside


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One server for all tests, with a tenant and a device token."""
    started = Site(tmp_path_factory.mktemp("site"))
    try:
        with started.client() as client:
            client.create_tenant("lab")
            token = client.issue_token("device")
        (started.folder / "device.token").write_text(token.secret)
        (started.folder / "device.token").chmod(0o600)
        yield started
    finally:
        started.close()


@pytest.fixture
def command_line(site: Site, bentham: Bentham, monkeypatch: pytest.MonkeyPatch) -> Bentham:
    """Return the command line, run in the site's folder."""
    monkeypatch.chdir(site.folder)
    monkeypatch.setenv("BENTHAM_SERVER", site.address)
    for name in ("BENTHAM_TOKEN", "BENTHAM_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    return bentham


def test_from_a_study_to_its_best_model(site: Site, command_line: Bentham) -> None:
    def result_of(*arguments: object) -> Any:
        done = command_line(*arguments, "--json")
        assert done.code == 0, done.err
        return json.loads(done.out)

    models = ["--models", "svm=1,forest=1,boosting"]
    study = result_of("study", "create", "wine", *models, "--tenant", "lab", "--max-trials", 9)
    assert result_of("study", "pause", "wine")["state"] == "paused"
    assert result_of("study", "resume", study["id"])["state"] == "open"
    worker = site.worker("--devices", 2, "--name", "first", "--exit-when-idle", 0.2)
    assert worker.ended() == 0
    events = worker.events()
    assert events.count("trial complete") == 3
    assert events[-1] == "worker stopped"
    found = result_of("study", "show", "wine")
    assert found["state"] == "closed"
    best = found["incumbent"]
    assert (best["model"], best["score"]) == ("boosting", 0.95)
    trials = result_of("trial", "list", "--study", "wine")
    assert {trial["device"] for trial in trials} <= {"first-0", "first-1"}
    assert result_of("explain", trials[0]["id"])["model"] == trials[0]["model"]
    assert result_of("device", "list") == []
    assert result_of("status")["decisions"] == 3
    assert "lab/wine,boosting,0.95" in command_line("history", "export").out
    commands: list[list[object]] = [
        ["study", "show", "wine"], ["trial", "list"], ["trial", "show", trials[0]["id"]],
        ["explain", trials[0]["id"]], ["status"], ["tenant", "list"], ["token", "list"],
    ]  # fmt: skip
    for command in commands:
        done = command_line(*command)
        assert done.code == 0
        assert max(map(len, done.out.splitlines())) <= 80
    assert_refused(command_line, "study", "resume", "wine", contains=["closed"])
    assert_refused(command_line, "device", "show", "first-0", contains=["first-0"])


def test_a_tenant_sees_only_its_own_studies(site: Site, command_line: Bentham) -> None:
    assert command_line("tenant", "create", "other").code == 0
    command = ["token", "create", "--role", "tenant", "--tenant", "other", "--out", "other.token"]
    assert command_line(*command).code == 0
    as_other = ["--token-file", "other.token"]
    created = json.loads(
        command_line("study", "create", "mine", "--models", "x", *as_other, "--json").out
    )
    assert created["tenant"] == "other"
    assert [
        s["name"] for s in json.loads(command_line("study", "list", "--json", *as_other).out)
    ] == ["mine"]
    assert_refused(
        command_line, "study", "show", "wine", *as_other, contains=["there is no study 'wine'"]
    )
    assert_refused(command_line, "token", "list", *as_other, contains=["admin"])
    assert command_line("study", "close", "mine", *as_other).code == 0
    assert site.server.popen.poll() is None


def test_history_import(site: Site, command_line: Bentham) -> None:
    done = command_line("history", "import", site.table)
    assert done.code == 0
    assert "5 runs of 3 models in 3 studies" in done.out


@pytest.mark.parametrize("signals", [1, 2])
def test_signals(site: Site, signals: int) -> None:
    with site.client() as client:
        study = client.create_study("slow" if signals == 1 else "slower", ["svm"], tenant="lab")
        worker = site.worker("--name", f"signalled-{signals}")
        # Wait for the worker's log: a signal before it receives its lease makes it drop the lease.
        wait_for(worker.has_started)
        (trial,) = client.trials(study=study.id)
        worker.popen.send_signal(signal.SIGTERM)
        if signals == 2:
            wait_for(lambda: "draining" in worker.log())
            worker.popen.send_signal(signal.SIGTERM)
        assert worker.ended() == 0
        events = worker.events()
        assert client.devices() == []
        assert client.trial(trial.id).state == ("complete" if signals == 1 else "lost")
        assert ("trial complete" if signals == 1 else "trial released") in events
        if signals == 2:
            client.close_study(study.id)


def test_a_server_that_is_killed_and_restarts(site: Site) -> None:
    with site.client() as client:
        client.create_tenant("patient")
        study = client.create_study("slow", ["svm"], dataset="slow", tenant="patient")
        kinds: list[str] = []

        def listen() -> None:
            for event in client.events():
                kinds.append(event.kind)
                if event.kind in ("trial-completed", "reset"):
                    return

        threading.Thread(target=listen, daemon=True).start()
        worker = site.worker("--name", "patient", "--exit-when-idle", 0.2)
        wait_for(worker.has_started)
        (trial,) = client.trials(study=study.id)
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
        assert events.count("server unavailable") == events.count("server available again")
        # The stream resumed, or reported that it missed events.
        wait_for(lambda: {"trial-completed", "reset"} & set(kinds))


def test_a_revoked_token_ends_a_worker(site: Site, command_line: Bentham) -> None:
    with site.client() as client:
        worker = site.worker("--name", "revoked")
        wait_for(client.devices)
        (token,) = [token for token in client.tokens() if token.role == "device"]
        assert command_line("token", "revoke", token.id, "--yes").code == 0
    assert worker.ended() == 2
    last = worker.log().splitlines()[-1]
    assert last.startswith("bentham: the server does not accept the token")
    assert "bentham token create" in last
