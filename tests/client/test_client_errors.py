"""Errors of the client: the server's message, no library traceback, and never the token."""

import traceback
from collections.abc import Iterator
from itertools import cycle

import httpx2
import pytest
from support.clients import TENANT, TOKEN, Handler, answering, mocked, problem

from bentham.client import Client
from bentham.errors import (
    BenthamError,
    Conflict,
    InvalidInput,
    NotAllowed,
    NotFound,
    Refused,
    ServiceError,
)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, Refused),
        (401, NotAllowed),
        (403, NotAllowed),
        (404, NotFound),
        (409, Conflict),
        (413, Refused),
        (422, Refused),
        (500, ServiceError),
    ],
)
def test_errors_contain_the_servers_message(status: int, kind: type[ServiceError]) -> None:
    body = problem(status, "the score is wrong", "score: not finite")
    with pytest.raises(ServiceError) as raised:
        mocked(answering(status, body)).overview()
    assert type(raised.value) is kind
    assert raised.value.status == status
    assert raised.value.problem is not None
    assert raised.value.problem["errors"] == ["score: not finite"]
    assert str(raised.value) == "the score is wrong: score: not finite"


BAD_BODIES: dict[str, bytes] = {
    "empty": b"",
    "html": b"<html>hello</html>",
    "list": b"[]",
    "wrong shape": b'{"time": "noon"}',
    "not UTF-8": b'{"time": "\xff"}',
    "deep": b"[" * 100_000,
    "huge number": b'{"time": 1e999}',
    "NUL": b"\0",
}


@pytest.mark.parametrize("body", BAD_BODIES.values(), ids=BAD_BODIES)
@pytest.mark.parametrize("status", [200, 404, 422, 500])
def test_malformed_responses(status: int, body: bytes) -> None:
    with pytest.raises(ServiceError) as raised:
        mocked(answering(status, body)).overview()
    assert "there:1" in str(raised.value)
    assert len(str(raised.value)) < 400


def test_an_endless_response_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bentham.client.answers.LARGEST_ANSWER", 1 << 20)

    def endless() -> Iterator[bytes]:
        while True:
            yield b" " * 65536

    with pytest.raises(ServiceError, match="more than 1 MiB"):
        mocked(lambda _: httpx2.Response(200, content=endless())).overview()


def test_a_bad_content_encoding() -> None:
    def handler(_: httpx2.Request) -> httpx2.Response:
        stream = httpx2.ByteStream(b"not gzip")
        return httpx2.Response(200, headers={"Content-Encoding": "gzip"}, stream=stream)

    with pytest.raises(ServiceError, match="cannot be decompressed"):
        mocked(handler).overview()


@pytest.mark.parametrize("cursors", ["x", "xy", "wxyxy"])
def test_repeated_cursors_end_the_pagination(cursors: str) -> None:
    following = cycle(cursors)

    def handler(request: httpx2.Request) -> httpx2.Response:
        return answering(200, {"items": [TENANT], "next": next(following)})(request)

    with pytest.raises(ServiceError, match="twice, so this list would never end"):
        mocked(handler).tenants()


@pytest.mark.parametrize(
    "failing",
    [
        answering(401, problem(401, "the token is unknown")),
        answering(503),
        answering(200, b"<html>"),
        answering(500),
    ],
)
def test_the_token_is_in_no_error(failing: Handler) -> None:
    client = mocked(failing)
    with pytest.raises(BenthamError) as raised:
        client.create_tenant("vision")
    trace = "".join(traceback.format_exception(raised.value))
    texts = [str(raised.value), repr(raised.value), trace, repr(client), repr(vars(raised.value))]
    assert TOKEN not in "".join(texts)
    assert TOKEN not in repr(client._connection)


@pytest.mark.parametrize("token", ["", "two words", "ünder", "line\n", "\x1b[0m"])
def test_invalid_tokens(token: str) -> None:
    with pytest.raises(InvalidInput, match="token") as raised:
        Client("http://there", token)
    assert not token or token not in str(raised.value)


@pytest.mark.parametrize(
    "server",
    ["", "there:1", "ftp://there", "http://", "http://a:b@there", "http://there:port", "http://x?y",
     "http://[", "http://\x00"],
)  # fmt: skip
def test_invalid_addresses(server: str) -> None:
    with pytest.raises(InvalidInput, match=r"as in http://127.0.0.1:8642"):
        Client(server, TOKEN)


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../tokens", "a?b", "ä", "a b", "x" * 300])
def test_names_cannot_change_the_path(name: str) -> None:
    def handler(_: httpx2.Request) -> httpx2.Response:
        raise AssertionError("nothing may be sent")

    client = mocked(handler)
    for call in (client.tenant, client.study, client.leave_device, client.trial):
        with pytest.raises(InvalidInput):
            call(name)


def test_a_name_with_spaces_is_not_an_id() -> None:
    client = mocked(answering(200))
    for call in (client.study, client.dataset):
        with pytest.raises(InvalidInput, match=r"'wine quality' is not an id of a .* find its id"):
            call("wine quality")
    with pytest.raises(InvalidInput, match="not a valid name of a tenant"):
        client.tenant("wine quality")


def test_invalid_bodies_are_not_sent() -> None:
    def handler(_: httpx2.Request) -> httpx2.Response:
        raise AssertionError("nothing may be sent")

    client = mocked(handler)
    with pytest.raises(InvalidInput, match=r"score: .*nothing was sent"):
        client.complete("t_0", 1, float("nan"))
    with pytest.raises(InvalidInput, match="models"):
        client.create_study("empty", {})
    with pytest.raises(InvalidInput, match="role"):
        client.issue_token("king")
    with pytest.raises(InvalidInput, match="wait"):
        client.lease("gpu-0", wait=1e9)
