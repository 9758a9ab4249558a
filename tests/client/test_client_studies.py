"""Studies of the client: over uploaded datasets and files, and waiting for their end."""

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest
from support.canned import STUDY
from support.clients import Handler, Time, connected, mocked

from bentham.client.studies import StudyCalls
from bentham.errors import InvalidInput, Unavailable
from bentham.wire import DataAsked, DatasetView

DATASET: dict[str, Any] = {
    "id": "d_0000000000000001", "tenant": "vision", "name": "wine.csv", "hash": "00",
    "format": "csv", "delimiter": ",", "bytes": 8, "rows": 2, "width": 2, "notes": [],
    "created": 1.0,
    "columns": [
        {"name": name, "type": "number", "missing": 0, "distinct": 2, "rarest": 1}
        for name in ("acid", "target")
    ],
}  # fmt: skip
WINE = DatasetView(**DATASET)


def server(received: list[httpx2.Request]) -> Handler:
    def handler(request: httpx2.Request) -> httpx2.Response:
        received.append(request)
        body = DATASET if request.url.path == "/v1/datasets" else STUDY
        return httpx2.Response(200, content=json.dumps(body))

    return handler


@pytest.mark.parametrize("dataset", [WINE, WINE.id], ids=["as uploaded", "by its id"])
def test_a_study_over_a_dataset(dataset: str | DatasetView) -> None:
    received: list[httpx2.Request] = []
    client = mocked(server(received))
    client.create_study(
        "wine", dataset=dataset, target="target", types={"acid": "category"}, split={"folds": 3}
    )
    data = DataAsked(dataset=WINE.id, target="target")
    client.create_study("wine", data=data, metric="accuracy", candidates=4)
    first, second = (json.loads(request.content) for request in received)
    assert first["data"] == {
        "dataset": WINE.id,
        "target": "target",
        "types": {"acid": "category"},
        "split": {"folds": 3},
    }
    assert "dataset" not in first
    assert second["data"] == {"dataset": WINE.id, "target": "target"}
    assert (second["metric"], second["candidates"]) == ("accuracy", 4)


@pytest.mark.parametrize(
    ("file", "kind"),
    [("wine.csv", "text/csv"), ("wine.PARQUET", "application/vnd.apache.parquet")],
)
def test_a_path_is_uploaded_first(tmp_path: Path, file: str, kind: str) -> None:
    received: list[httpx2.Request] = []
    path = tmp_path / file
    path.write_bytes(b"acid,target\n1,2\n" if kind == "text/csv" else b"PAR1")
    mocked(server(received)).create_study("wine", dataset=path, target="target", tenant="vision")
    upload, create = received
    assert upload.content == path.read_bytes()
    assert upload.headers["Content-Type"] == kind
    assert dict(upload.url.params) == {"name": file, "tenant": "vision"}
    assert json.loads(create.content)["data"] == {"dataset": WINE.id, "target": "target"}


BAD_FILES = {
    "empty.csv": (b" \n", "'.*empty.csv' is empty"),
    "rows.csv": (b'[\n  {"a": 1},\n', "JSON; convert it.*read_json.*FILE.csv"),
    "lines.csv": (b'{"a": 1}\n{"a": 2}\n', "JSON; .*lines=True"),
    "book.csv": (b"PK\x03\x04..[Content_Types].xml", "Excel workbook .*save it as CSV"),
    "old.csv": (b"\xd0\xcf\x11\xe0", "old Excel workbook"),
    "page.csv": (b"<!DOCTYPE html>\n", "HTML page"),
    "packed.csv": (b"\x1f\x8b\x08", "compressed with gzip; unpack it"),
    "rows.parquet": (b"a,b\n1,2\n", "not a Parquet file"),
    "large.csv": (b"a,b\n" * 2**19, "has 2,097,152 bytes, more than the 1,500,000 .*--max-upload"),
}


@pytest.mark.parametrize("file", [*BAD_FILES, "missing.csv", "folder"])
def test_a_file_that_would_be_refused_is_not_sent(tmp_path: Path, file: str) -> None:
    def handler(request: httpx2.Request) -> httpx2.Response:
        assert request.url.path == "/v1/session"  # the only question that is asked
        session = {"id": "a", "role": "tenant", "tenant": "a", "csrf": None, "version": "1"}
        return httpx2.Response(200, json={**session, "largest_upload": 1_500_000})

    content, message = BAD_FILES.get(file, (b"", "no such file|is a directory; name a file"))
    path = tmp_path / file
    if file in BAD_FILES:
        path.write_bytes(content)
    elif file == "folder":
        path.mkdir()
    with pytest.raises(InvalidInput, match=message):
        mocked(handler).add_dataset(file, path)


def test_a_large_file_within_the_limit_is_sent() -> None:
    received: list[httpx2.Request] = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        if request.url.path == "/v1/session":
            session = {"id": "a", "role": "tenant", "tenant": "a", "csrf": None, "version": "1"}
            return httpx2.Response(200, json={**session, "largest_upload": 2**21})
        return server(received)(request)

    mocked(handler).add_dataset("large.csv", b"a,b\n" * 2**19)
    assert [request.url.path for request in received] == ["/v1/datasets"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dataset": WINE}, "name the column to predict.*the columns are 'acid', 'target'"),
        ({"dataset": Path("wine.csv")}, "name the column to predict"),
        ({"dataset": "wine", "models": ["svm"], "types": {"a": "number"}}, "column to predict"),
        (
            {"target": "y", "data": DataAsked(dataset="wine", target="y")},
            "data already contains the target; pass data or target, not both",
        ),
        ({"dataset": Path("wine.csv"), "target": "y", "task": "guessing"}, "task: "),
        ({"dataset": WINE, "target": "y", "models": ["svm"]}, "give either models, or data or"),
        ({"target": "y"}, "dataset: "),
    ],
)
def test_conflicting_options_are_not_sent(options: dict[str, Any], message: str) -> None:
    received: list[httpx2.Request] = []
    with pytest.raises(InvalidInput, match=message):
        mocked(server(received)).create_study("wine", **options)
    assert received == []


def test_without_a_target_a_dataset_is_only_a_name() -> None:
    received: list[httpx2.Request] = []
    mocked(server(received)).create_study("wine", ["svm"], dataset="wine")
    sent = json.loads(received[0].content)
    assert sent["dataset"] == "wine"
    assert "data" not in sent


def in_states(*states: str) -> tuple[Handler, list[str]]:
    pending, paths = list(states), list[str]()

    def handler(request: httpx2.Request) -> httpx2.Response:
        paths.append(request.url.path)
        state = pending.pop(0) if len(pending) > 1 else pending[0]
        return httpx2.Response(200, content=json.dumps({**STUDY, "state": state}))

    return handler, paths


def test_wait_returns_when_the_study_is_closed() -> None:
    handler, paths = in_states("open", "paused", "open", "closed", "open")
    time = Time()
    found = StudyCalls(connected(handler, time)).wait(STUDY["id"])
    assert found.state == "closed"
    assert paths == [f"/v1/studies/{STUDY['id']}"] * 4
    assert time.slept == [0.1, 0.2, 0.4]


def test_wait_survives_a_restart_but_not_a_server_that_is_gone() -> None:
    time = Time()
    away = (10.0, 250.0)

    def handler(request: httpx2.Request) -> httpx2.Response:
        if away[0] <= time.now <= away[1]:
            raise httpx2.ConnectError("refused", request=request)
        state = "open" if time.now < away[0] else "closed"
        return httpx2.Response(200, json={**STUDY, "state": state})

    calls = StudyCalls(connected(handler, time))
    assert [study.state for study in calls.watch(STUDY["id"])][-2:] == ["open", "closed"]
    assert 250.0 < time.now < 300.0
    time.now, away = 0.0, (10.0, 1e9)
    with pytest.raises(Unavailable):
        calls.wait(STUDY["id"])
    assert 300.0 < time.now < 400.0


def test_wait_raises_after_its_timeout() -> None:
    handler, paths = in_states("open")
    time = Time()
    calls = StudyCalls(connected(handler, time))
    study = calls.study(STUDY["id"])
    with pytest.raises(TimeoutError, match="'wine' is still open after 1 seconds"):
        calls.wait(study, timeout=1.0)
    assert time.now == pytest.approx(1.0)
    assert time.slept == pytest.approx([0.1, 0.2, 0.4, 0.3])
    assert len(paths) == 6  # the last request is at the timeout
