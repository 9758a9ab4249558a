"""What-if forecasts of a server: for operators only, one at a time, in a separate process."""

import asyncio
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import aclosing
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from support.commands import Bentham
from support.forecasters import Held
from support.service_app import Service, serving
from support.service_process import DEADLINE, ServiceProcess, running

from bentham.client import Client
from bentham.errors import ForecastFailed
from bentham.forecast.process import ForecastProcess, _line
from bentham.service import Question, recover
from bentham.service.jobs.whatifs import MOST_KEPT, MOST_WAITING
from bentham.storage import open_log
from bentham.wire import WhatIf

WAITING = ("waiting", "running")
QUESTION = Question(regret=0.1, devices=2, draws=16, sequence=0, time=0.0)


def ended(service: Service, name: str) -> Any:
    """Wait for the forecast to end; a server in memory runs only during requests."""
    while (found := service.get(f"/v1/whatif/{name}"))["state"] in WAITING:
        pass
    return found


def test_an_operator_asks_and_gets_an_answer(service: Service) -> None:
    tenant = service.tenant("a")
    service.study(tenant)
    service.device("gpu-0")
    first = service.post("/v1/whatif", {"devices": 2, "draws": 2}).ok(202)
    assert (first["state"], first["progress"], first["answers"]) == ("waiting", 0.0, [])
    found = ended(service, first["id"])
    assert (found["state"], found["progress"], found["simulated"]) == ("complete", 1.0, 2)
    assert (found["now"], found["devices"], found["studies"]) == (1, 2, 1)
    assert found["sequence"] == service.pool.sequence  # it is not in the log
    assert found["estimate"] == service.get("/v1/overview")["regret_estimate"] > 0.0
    assert found["regret"] == found["estimate"] / 2
    rows = {(answer["devices"], answer["policy"]) for answer in found["answers"]}
    assert {(1, "bentham"), (64, "round-robin")} <= rows
    second = service.post("/v1/whatif", {"regret": 0.01, "draws": 1}).ok(202)
    assert ended(service, second["id"])["regret"] == 0.01
    WhatIf.model_validate(found)
    listed = service.get("/v1/whatif")["items"]
    assert [each["id"] for each in listed] == [second["id"], first["id"]]
    assert listed[1] == {**found, "curves": []}  # curves are left out of the list
    assert len(found["curves"]) == 4
    for method, path in (("GET", ""), ("POST", ""), ("GET", f"/{first['id']}")):
        body: Any = {} if method == "POST" else None
        service.request(method, f"/v1/whatif{path}", body, token=tenant).refused(403, "")


def test_the_answer_is_about_the_moment_of_the_question(slow: Service, held: Held) -> None:
    """Scores that arrive while a question waits change neither its level nor its answer."""
    tenant, device = slow.tenant("a"), slow.device()
    study = slow.study(tenant, models=4)
    before = slow.get("/v1/overview")["regret_estimate"]
    sequence = slow.pool.sequence
    name = slow.post("/v1/whatif", {"devices": 2}).ok(202)["id"]
    slow.report(device, slow.lease(device), score=0.9).ok()
    assert slow.get("/v1/overview")["regret_estimate"] < before
    held.opened = True
    found = ended(slow, name)
    assert (found["estimate"], found["regret"]) == (before, before / 2)
    assert (found["sequence"], held.asked[0].sequence) == (sequence, sequence)
    pool = recover(slow.engine.log, until=sequence)
    assert (pool.sequence, pool.studies[study].counts["running"]) == (sequence, 0)
    # A gauge, the overview and the start of a forecast are one number.
    page = slow.request("GET", "/metrics").body.decode()
    gauge = re.search(r"^bentham_regret_estimate (\S+)$", page, re.MULTILINE)
    assert gauge is not None
    assert float(gauge[1]) == slow.get("/v1/overview")["regret_estimate"]
    asked = slow.post("/v1/whatif", {"devices": 2}).ok(202)
    assert asked["estimate"] == float(gauge[1])


@pytest.mark.parametrize(
    "body",
    [
        {"regret": 0.0}, {"regret": -1.0}, {"regret": "low"}, {"devices": 0}, {"devices": 65},
        {"devices": 1.5}, {"draws": 0}, {"draws": 257}, {"draws": True}, {"seed": 1},
    ],
)  # fmt: skip
def test_invalid_questions(service: Service, body: Any) -> None:
    service.post("/v1/whatif", body).refused(422, "")
    assert service.get("/v1/whatif")["items"] == []


@pytest.fixture
def held() -> Held:
    return Held()


@pytest.fixture
def slow(held: Held) -> Iterator[Service]:
    """A service whose forecasts wait until the test allows them."""
    with serving(forecaster=held) as service:
        yield service


def test_one_runs_four_wait_and_any_can_be_cancelled(slow: Service, held: Held) -> None:
    names = [slow.post("/v1/whatif", {}).ok(202)["id"] for _ in range(1 + MOST_WAITING)]
    slow.post("/v1/whatif", {}).refused(409, "4 what-ifs are already waiting")
    slow.until(lambda: True)
    states = [slow.get(f"/v1/whatif/{name}")["state"] for name in names]
    assert states == ["running", *["waiting"] * MOST_WAITING]
    shown = slow.get(f"/v1/whatif/{names[0]}")
    assert (shown["progress"], shown["simulated"]) == (0.5, 1)
    assert "secret" not in shown
    for name in (names[0], names[2], names[0]):  # the running one, a waiting one, and again
        cancelled = slow.request("DELETE", f"/v1/whatif/{name}").ok()
        assert (cancelled["state"], cancelled["reason"]) == ("cancelled", "cancelled")
    while slow.get(f"/v1/whatif/{names[1]}")["state"] == "waiting":
        pass
    states = [slow.get(f"/v1/whatif/{name}")["state"] for name in names]
    assert states == ["cancelled", "running", "cancelled", "waiting", "waiting"]
    held.opened = True
    assert ended(slow, names[4])["state"] == "complete"
    assert slow.request("DELETE", f"/v1/whatif/{names[4]}").ok()["state"] == "complete"
    slow.request("DELETE", "/v1/whatif/w_0").refused(404, "there is no what-if 'w_0'")


def test_failures_are_reported_and_the_next_one_runs(slow: Service, held: Held) -> None:
    held.opened = True
    names = [slow.post("/v1/whatif", {"draws": draws}).ok(202)["id"] for draws in (3, 4, 5)]
    results = [ended(slow, name) for name in names]
    assert [each["state"] for each in results] == ["failed", "failed", "complete"]
    assert results[0]["reason"] == "no forecast is possible"
    assert "the server's log" in results[1]["reason"]
    for _ in range(MOST_KEPT):
        last = slow.post("/v1/whatif", {}).ok(202)["id"]
        ended(slow, last)
    listed = [each["id"] for each in slow.get("/v1/whatif")["items"]]
    assert (len(listed), listed[0], names[0] in listed) == (MOST_KEPT, last, False)


def test_a_retry_with_the_same_key_is_the_same_question(slow: Service) -> None:
    first = slow.post("/v1/whatif", {"draws": 2}, key="k").ok(202)
    again = slow.post("/v1/whatif", {"draws": 2}, key="k").ok(202)
    assert first["id"] == again["id"]
    slow.post("/v1/whatif", {"draws": 5}, key="k").refused(422, "another request")
    assert slow.post("/v1/whatif", {"draws": 2}, key="l").ok(202)["id"] != first["id"]


def test_stopping_the_server_cancels_forecasts(slow: Service) -> None:
    name = slow.post("/v1/whatif", {}).ok(202)["id"]
    slow.until(lambda: True)
    slow.stop()  # without waiting for the forecast
    left = slow.app.state.context.service.whatifs.find(name)
    assert (left["state"], left["reason"]) == ("cancelled", "the server stopped")


PRINTING = "import sys, time, os; sys.stdin.readline(); print({!r}, flush=True); {}"


@pytest.mark.outside
@pytest.mark.parametrize(
    ("line", "then", "reason"),
    [
        ("no JSON", "", "sent unexpected output"),
        ("[1]", "", "sent unexpected output"),
        ('{"failed": "no log"}', "", "no log"),
        ('{"progress": 0.1}', "sys.exit(3)", "ended with code 3"),
        ('{"progress": 0.1}', "time.sleep(99)", "took too long"),
        ('{"progress": 0.1}', "print('x' * 5_000_000)", "a line that is too long"),
    ],
)
def test_a_failing_process_raises_an_error(line: str, then: str, reason: str) -> None:
    command = (sys.executable, "-c", PRINTING.format(line, then))
    process = ForecastProcess(Path(), None, command, seconds=1.0 if "sleep" in then else DEADLINE)

    async def read() -> None:
        async with aclosing(process(QUESTION)) as pieces:
            async for _ in pieces:
                pass

    with pytest.raises(ForecastFailed, match=reason):
        asyncio.run(read())


@pytest.mark.parametrize("turns", range(6))
def test_a_line_that_arrives_during_cancellation_does_not_undo_it(turns: int) -> None:
    async def read() -> None:
        stream = asyncio.StreamReader()
        reading = asyncio.create_task(_line(stream, DEADLINE))
        await asyncio.sleep(0)
        stream.feed_data(b"{}\n")
        for _ in range(turns):
            await asyncio.sleep(0)
        if reading.cancel():  # otherwise it had ended
            with pytest.raises(asyncio.CancelledError):
                await reading

    asyncio.run(read())


@pytest.mark.outside
def test_closing_ends_the_process() -> None:
    then = "print('{\"progress\": %d}' % os.getpid(), flush=True); time.sleep(99)"
    command = (sys.executable, "-c", PRINTING.format('{"progress": 0}', then))

    async def read() -> int:
        async with aclosing(ForecastProcess(Path(), None, command)(QUESTION)) as pieces:
            async for piece in pieces:
                if piece["progress"]:
                    break
            return int(piece["progress"])

    pid = asyncio.run(read())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.outside
def test_a_real_server_answers_and_leaves_no_process(
    tmp_path: Path, bentham: Bentham, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "data"
    monkeypatch.setenv("COLUMNS", "80")
    with running(folder) as server:
        address = f"http://127.0.0.1:{server.port}"
        with Client(address, server.admin) as client:
            client.create_tenant("a")
            for study in range(3):
                models = {f"m{model}": 30.0 * (model + 1) for model in range(4)}
                client.create_study(f"s{study}", models, tenant="a")
            client.register_device("gpu-0")
            options = ["--server", address, "--token-file", folder / "admin.token", "--draws", 2]
            done = bentham("whatif", "--devices", 4, *options)
            assert (done.code, done.err) == (0, "")
            lines = done.out.splitlines()
            assert max(map(len, lines)) <= 80
            text = " ".join(done.out.split())
            assert text.startswith("With 4 devices instead of 1, mean regret is expected to fall")
            assert "; under round robin with 4: in " in text
            assert "instead of in " in text
            found = json.loads(bentham("whatif", "--regret", 0.4, *options, "--json").out)
            assert (found["state"], found["regret"]) == ("complete", 0.4)
            assert len(client.what_ifs()) == 2
            # A long forecast, whose process ends when it is cancelled or the server stops.
            long_run = client.ask_what_if(draws=256)
            while not (found := client.what_if(long_run.id)).answers:
                assert found.state in WAITING, found
                time.sleep(0.05)
            children = _children(server)
            assert client.cancel_what_if(long_run.id).state == "cancelled"
            began = time.monotonic()
            while any(_runs(pid) for pid in children):
                assert time.monotonic() < began + DEADLINE
                time.sleep(0.05)
            client.ask_what_if(draws=256)
            while not (children := _children(server)):
                time.sleep(0.05)
        assert server.stop() == 0
        assert not any(_runs(pid) for pid in children)


def _children(server: ServiceProcess) -> list[int]:
    """Return the processes of the server that compute forecasts."""
    pid = server.process.pid
    pids = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    names = {int(one): Path(f"/proc/{one}/cmdline").read_bytes() for one in pids}
    return [one for one, name in names.items() if b"bentham.forecast" in name]


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.outside
def test_the_process_ends_with_its_input(tmp_path: Path) -> None:
    with serving(lambda: open_log(folder=tmp_path / "data")) as service:
        service.study(service.tenant("a"), models=30)
        head = service.pool.sequence
    question = Question(regret=0.1, devices=2, draws=256, sequence=head, time=0.0)
    request = {"data": str(tmp_path / "data"), "database": None, "question": asdict(question)}
    with subprocess.Popen(
        [sys.executable, "-m", "bentham.forecast"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline()) == {"notes": []}
        process.stdin.close()
        assert process.wait(DEADLINE) == 1
