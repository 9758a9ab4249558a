"""Fitted models through the client: it waits, and returns only a file with the right content."""

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import httpx2
import pytest
from support.canned import STUDY
from support.clients import Handler, Time, connected

from bentham.client.studies import StudyCalls
from bentham.errors import ServiceError
from bentham.wire import FittedModel

FILE = b"PK a fitted model"
FITTED: dict[str, Any] = {
    "id": f"{STUDY['id']}/fitted", "study": STUDY["id"], "model": "svm", "state": "ready",
    "reason": "", "requested": 1.0, "trial": "t", "hash": hashlib.sha256(FILE).hexdigest(),
    "bytes": len(FILE), "versions": ["numpy==2.3.0"],
}  # fmt: skip
WAITING = {"state": "waiting", "reason": "no device is alive"}


def server(answers: Sequence[dict[str, Any]], content: bytes = FILE) -> Handler:
    """Answer one request after the other; the last answer is repeated."""
    left = list(answers)

    def handler(request: httpx2.Request) -> httpx2.Response:
        if request.url.path.endswith("/file"):
            return httpx2.Response(200, content=content)
        answer = left.pop(0) if len(left) > 1 else left[0]
        return httpx2.Response(200, content=json.dumps({**FITTED, **answer}))

    return handler


def test_it_waits_for_the_file_and_says_what_for() -> None:
    time, seen = Time(), list[FittedModel]()
    handler = server([WAITING, WAITING, {"state": "running"}, {}])
    found = StudyCalls(connected(handler, time)).fitted_model(STUDY["id"], progress=seen.append)
    assert found == FILE
    assert [(each.state, each.reason) for each in seen] == [
        ("waiting", "no device is alive"), ("waiting", "no device is alive"), ("running", ""),
    ]  # fmt: skip
    assert len(time.slept) == 3
    assert max(time.slept) <= 1.0


@pytest.mark.parametrize(
    ("answers", "content", "words"),
    [
        ([{}], b"something else", "does not match its SHA-256"),
        ([WAITING, {"state": "failed", "reason": "out of memory"}], FILE, "fitted: out of memory"),
        ([WAITING, {"model": "forest"}], FILE, "'forest' of this study was asked for meanwhile"),
    ],
)
def test_a_file_that_is_wrong_or_never_comes(
    answers: list[dict[str, Any]], content: bytes, words: str
) -> None:
    calls = StudyCalls(connected(server(answers, content), Time()))
    with pytest.raises(ServiceError, match=words):
        calls.fitted_model(STUDY["id"])


def test_a_timeout_names_what_it_waited_for() -> None:
    calls = StudyCalls(connected(server([WAITING]), Time()))
    with pytest.raises(TimeoutError, match=r"still waiting \(no device is alive\) after 5 seconds"):
        calls.fitted_model(STUDY["id"], timeout=5.0)
