"""The client: retries, errors, calls and responses."""

import json
import socket
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest
from support.canned import TRIAL
from support.clients import DEVICE, TENANT, TOKEN, Time, answering, connected, mocked, problem
from support.servers import PROBLEM, Scripted, reply, scripted

import bentham
from bentham.client import Client
from bentham.client.datasets import DataCalls
from bentham.errors import (
    InvalidInput,
    NotFound,
    Refused,
    ServiceError,
    Unavailable,
)
from bentham.wire import Limits, StopRules

GOOD = reply(201, json.dumps(DEVICE).encode())


# -- retries ------------------------------------------------------------------------------------


def check_retries(server: Scripted, tries: int) -> None:
    with Client(server.address, TOKEN, timeout=2.0, patience=20.0) as client:
        assert client.register_device("gpu-0").name == "gpu-0"
    assert len(server.requests) == tries
    assert len(set(server.keys())) == 1
    assert len(server.keys()) == tries
    assert len({text.rpartition("\r\n")[2] for text in server.requests}) == 1


@pytest.mark.parametrize(
    "bad",
    [
        b"",
        b"HTTP/1.1 201 Created\r\nContent-Le",
        GOOD[:-5],
        reply(503, PROBLEM),
        reply(502, b"<html>", kind="text/html"),
        reply(429, PROBLEM, "Retry-After: 0"),
        b"\x00\x01 no HTTP at all\r\n\r\n",
    ],
    ids=["no response", "cut in the head", "cut in the body", "503", "502", "429", "garbage"],
)
def test_a_retry_has_the_same_key_and_body(bad: bytes) -> None:
    with scripted(bad, bad, GOOD) as server:
        check_retries(server, 3)


def test_a_second_call_has_another_key() -> None:
    with scripted(GOOD, GOOD) as server, Client(server.address, TOKEN) as client:
        client.register_device("gpu-0")
        client.register_device("gpu-0")
        assert len(set(server.keys())) == 2


def test_a_duplicate_response_is_ignored() -> None:
    with scripted(GOOD + GOOD, GOOD) as server, Client(server.address, TOKEN) as client:
        assert client.register_device("gpu-0").name == "gpu-0"
        assert client.register_device("gpu-0").name == "gpu-0"


def test_a_silent_server_causes_a_timeout() -> None:
    silent = socket.create_server(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{silent.getsockname()[1]}"
    try:
        client = Client(address, TOKEN, timeout=0.02, patience=0.0)
        with client, pytest.raises(Unavailable, match="did not respond in time"):
            client.overview()
    finally:
        silent.close()
    client = Client(address, TOKEN, patience=0.0)
    with (
        client,
        pytest.raises(Unavailable, match=r"cannot connect to .*that the server is running"),
    ):
        client.overview()


@pytest.mark.parametrize(("code", "remedy"), [(18, "SSL_CERT_FILE"), (10, "check the address")])
def test_a_certificate_that_is_refused(code: int, remedy: str) -> None:
    refusal = ssl.SSLCertVerificationError(1, "certificate verify failed")
    refusal.verify_code, refusal.verify_message = code, "the cause"

    def handler(_: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("failed") from refusal

    time = Time()
    with pytest.raises(ServiceError, match=rf"certificate of .*\(the cause\); .*{remedy}"):
        connected(handler, time).send("GET", "/v1/x")
    assert time.slept == []  # a retry would not help


def test_certificates_are_read_for_this_machine_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
    with pytest.raises(InvalidInput, match="SSL_CERT_FILE"):
        Client("https://localhost:1", TOKEN)


def test_pauses_double_and_end_with_patience() -> None:
    time = Time()
    connection = connected(answering(503, problem(503, "the storage is away")), time)
    with pytest.raises(Unavailable, match="the storage is away") as raised:
        connection.send("GET", "/v1/overview")
    assert raised.value.status == 503
    assert time.slept[:7] == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0]
    assert time.now < 30.0


def test_retry_after_is_honoured() -> None:
    time = Time()
    requests: list[float] = []

    def handler(_: httpx2.Request) -> httpx2.Response:
        requests.append(time.now)
        if len(requests) < 3:
            return httpx2.Response(429, headers={"Retry-After": "7"})
        return httpx2.Response(200, content=b"{}")

    assert connected(handler, time).send("GET", "/v1/x") == b"{}"
    assert requests == [0.0, 7.0, 14.0]


def test_a_download_is_repeated_until_it_begins() -> None:
    time, replies = Time(), [503, 503, 200]

    def handler(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(replies.pop(0), content=b"a,b", headers={"Retry-After": "1"})

    calls = DataCalls(connected(handler, time))
    assert b"".join(calls.dataset_content("ds_0")) == b"a,b"
    assert time.slept == [1.0, 1.0]


def test_a_pause_longer_than_patience_is_not_begun() -> None:
    time = Time()
    with pytest.raises(Unavailable) as raised:
        connected(answering(503, None, **{"Retry-After": "40"}), time).send("GET", "/v1/x")
    assert raised.value.retry_after == 40.0
    assert time.slept == []


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("Fri, 31 Dec 9999 23:59:59 GMT", 3600.0),
        ("-5", None),
        ("nan", None),
        ("soon", None),
        ("1e999", 3600.0),
        ("", None),
    ],
)
def test_unusual_retry_after_headers(header: str, seconds: float | None) -> None:
    with pytest.raises(Unavailable) as raised:
        mocked(answering(503, None, **{"Retry-After": header})).overview()
    assert raised.value.retry_after == seconds


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 413, 422, 500, 301])
def test_final_errors_are_not_retried(status: int) -> None:
    requests: list[str] = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        requests.append(str(request.url))
        return httpx2.Response(status, headers={"Location": "http://elsewhere/"})

    with pytest.raises(ServiceError):
        mocked(handler, patience=30.0).overview()
    assert len(requests) == 1


# -- calls --------------------------------------------------------------------------------------


def test_content_of_requests() -> None:
    received: list[httpx2.Request] = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        received.append(request)
        return httpx2.Response(200, content=json.dumps(TENANT))

    client = mocked(handler)
    client.create_tenant("vision", 2.0, Limits(running_trials=4))
    client.change_tenant("vision", weight=3.0)
    assert [request.method for request in received] == ["POST", "PATCH"]
    assert received[0].headers["Authorization"] == f"Bearer {TOKEN}"
    assert json.loads(received[0].content) == {
        "name": "vision",
        "weight": 2.0,
        "limits": {"running_trials": 4},
    }
    assert json.loads(received[1].content) == {
        "weight": 3.0
    }  # fields that are not sent keep their values
    assert "Idempotency-Key" not in received[1].headers


def test_models_without_a_cost_are_sent_with_null() -> None:
    received: list[Any] = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        received.append(json.loads(request.content))
        return httpx2.Response(422, content=json.dumps(problem(422, "no")))

    for models in ({"svm": 30.0, "boosting": None}, ["svm"]):
        with pytest.raises(Refused):
            mocked(handler).create_study("wine", models, stop=StopRules(trials=4))
    assert received[0]["models"] == {"svm": 30.0, "boosting": None}
    assert received[0]["stop"] == {"trials": 4}
    assert received[1]["models"] == {"svm": None}


def test_pages_are_followed() -> None:
    def handler(request: httpx2.Request) -> httpx2.Response:
        pages = {None: ("a", "the end of a"), "the end of a": ("b", None)}
        name, following = pages[request.url.params.get("after")]
        body = {"items": [{**TENANT, "name": name}], "next": following}
        return httpx2.Response(200, content=json.dumps(body))

    assert [tenant.name for tenant in mocked(handler).tenants()] == ["a", "b"]


def test_nothing_to_run_is_none() -> None:
    keys: list[str] = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        keys.append(request.headers["Idempotency-Key"])
        assert request.extensions["timeout"]["read"] == 30.0  # the timeout plus the wait
        return httpx2.Response(204)

    assert mocked(handler).lease("gpu-0", wait=20.0, key="mine") is None
    assert keys == ["mine"]


def test_history_is_sent_as_csv(tmp_path: Path) -> None:
    received: list[httpx2.Request] = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        received.append(request)
        body = b'{"studies": 1, "models": 1, "runs": 1}' if request.method == "POST" else b"a,b\n"
        return httpx2.Response(200, content=body)

    client = mocked(handler)
    path = tmp_path / "history.csv"
    path.write_text("study,model,score\na,x,1\n")
    assert client.import_history(path).runs == 1
    assert received[0].headers["Content-Type"].startswith("text/csv")
    assert received[0].content == path.read_bytes()
    assert client.export_history() == "a,b\n"


def test_reports_of_trials() -> None:
    received: list[httpx2.Request] = []
    renewal = {"trial": "t_1", "lease_seconds": 30.0, "heartbeat_seconds": 10.0}

    def handler(request: httpx2.Request) -> httpx2.Response:
        received.append(request)
        if request.method == "PUT":
            return httpx2.Response(204)
        body = renewal if request.url.path.endswith("heartbeat") else TRIAL
        return httpx2.Response(200, content=json.dumps(body))

    client = mocked(handler)
    client.heartbeat("t_1", 3)
    client.heartbeat("t_1", 3, progress=0.0, scores=(0.5, 0.75))
    client.complete("t_1", 3, 0.5)
    client.complete("t_1", 3, 0.5, metrics={"f1": 0.25}, scores=[0.5])
    client.send_log("t_1", 3, b"epoch 1\n\xff", timeout=2.0)
    assert [json.loads(request.content) for request in received[:4]] == [
        {"fence": 3},  # without fields that an older server does not know
        {"fence": 3, "progress": 0.0, "scores": [0.5, 0.75]},
        {"fence": 3, "score": 0.5},
        {"fence": 3, "score": 0.5, "metrics": {"f1": 0.25}, "scores": [0.5]},
    ]
    log = received[4]
    assert (log.method, log.url.path, log.url.query) == ("PUT", "/v1/trials/t_1/log", b"fence=3")
    assert log.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert log.content == b"epoch 1\n\xff"
    assert log.extensions["timeout"]["read"] == 2.0


def test_data_arrives_in_pieces() -> None:
    body = bytes(range(256)) * 4000
    with scripted(reply(200, body, kind="text/csv")) as server:
        with Client(server.address, TOKEN) as client:
            pieces = list(client.trial_data("t_1"))
        assert b"".join(pieces) == body
        assert len(pieces) > 1
        assert server.requests[0].startswith("GET /v1/trials/t_1/data ")


def test_data_that_is_cut_off_or_refused_is_an_error() -> None:
    complete = reply(200, b"a,b\n" * 1000, kind="text/csv")
    with (
        scripted(complete[:-7], reply(404, PROBLEM)) as server,
        Client(server.address, TOKEN, patience=0.0) as client,
    ):
        with pytest.raises(Unavailable, match="closed the connection"):
            list(client.trial_data("t_1"))
        with pytest.raises(NotFound):
            list(client.trial_data("t_1"))


# -- import -------------------------------------------------------------------------------------


@pytest.mark.outside
def test_the_client_is_loaded_on_first_use() -> None:
    code = (
        "import sys, bentham\n"
        "assert not {'httpx2', 'pydantic', 'bentham.client'} & set(sys.modules)\n"
        "from bentham import Client\n"
        "assert 'httpx2' in sys.modules and Client is bentham.Client"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError):
        bentham.nothing  # noqa: B018
