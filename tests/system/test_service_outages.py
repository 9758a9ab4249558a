"""Full disk or dead database while serving: 503, then automatic recovery without loss."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.commands import Bentham
from support.postgres import PostgresServer
from support.service_process import ServiceProcess, running

pytestmark = pytest.mark.outside


class Acknowledged:
    """Creates tenants, and records which creations were acknowledged."""

    def __init__(self, server: ServiceProcess):
        self._server, self.names = server, list[str]()
        self.count = 0

    def create(self) -> tuple[int, Any, Any]:
        self.count += 1
        return self.retry(self.count)

    def retry(self, number: int) -> tuple[int, Any, Any]:
        name = f"tenant-{number}"
        response = self._server.request(
            "POST", "/v1/tenants", {"name": name}, self._server.admin,
            Idempotency_Key=f"key-{number}",
        )  # fmt: skip
        if response[0] == 201 and name not in self.names:
            self.names.append(name)
        return response

    def until_refused(self) -> None:
        for _ in range(500):
            status, problem, response = self.create()
            if status != 201:
                assert (status, problem["status"]) == (503, 503)
                assert response.headers["content-type"] == "application/problem+json"
                assert int(response.headers["retry-after"]) >= 1
                return
        raise AssertionError("the storage never failed")

    def assert_complete(self) -> None:
        """Assert that every acknowledged tenant exists exactly once."""
        items = self._server.request("GET", "/v1/tenants", token=self._server.admin)[1]["items"]
        assert [each["name"] for each in items] == self.names


def outage(server: ServiceProcess, fail: Any, repair: Any) -> None:
    tenants = Acknowledged(server)
    assert tenants.create()[0] == 201
    fail()
    tenants.until_refused()
    lost = tenants.count
    for _ in range(3):
        assert tenants.retry(lost)[0] == 503
    status, body, _ = server.request("GET", "/readyz")
    assert (status, body["status"]) == (503, "unavailable")
    status, _, _ = server.request("GET", "/v1/tenants", token=server.admin)
    assert status == 503  # uncommitted state is not shown
    assert server.request("GET", "/healthz")[0] == 200
    repair()
    server.until_ready()
    first = tenants.retry(lost)
    again = tenants.retry(lost)
    assert first[0] == again[0] == 201
    assert first[1] == again[1]
    assert tenants.create()[0] == 201
    tenants.assert_complete()
    assert server.stop() == 0
    assert "Traceback" not in server.log()


def assert_replay(bentham: Bentham, *options: str) -> None:
    done = bentham("log", "replay", "--json", *options)
    assert done.code == 0
    assert json.loads(done.out)["differences"] == []


def test_a_full_disk(tmp_path: Path, bentham: Bentham) -> None:
    folder = tmp_path / "data"
    with running(folder) as server:
        size = max(file.stat().st_size for file in folder.iterdir())
        outage(server, lambda: server.limit_files(size + 100_000), lambda: server.limit_files(-1))
    assert_replay(bentham, "--data", str(folder))


def test_a_database_that_dies_and_restarts(
    tmp_path: Path, bentham: Bentham, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgres.fresh()
    monkeypatch.setenv("BENTHAM_DATABASE", url)
    with running(tmp_path / "data") as server:
        outage(server, postgres.kill, postgres.start)
    assert_replay(bentham)
