"""Streamed events, in pieces of any size and over broken connections."""

import httpx2
import pytest
from support.clients import Time, answering, connected, mocked, problem

from bentham.client import StreamedEvent
from bentham.client.events import follow, parse
from bentham.errors import InvalidInput, NotAllowed, ServiceError, Unavailable


def test_events_are_parsed_from_pieces_of_any_size() -> None:
    text = ': hello\n\nid: 1\nevent: started\ndata: {"a":\ndata: 1}\n\nid: 2\r\ndata: {}\r\n\r\n'
    expected = [StreamedEvent("1", "started", {"a": 1}), StreamedEvent("2", "message", {})]
    for size in (1, 2, 3, 7, 1000):
        pieces = (text[at : at + size] for at in range(0, len(text), size))
        events = [event for event in parse("there", pieces) if event is not None]
        assert events == expected


@pytest.mark.parametrize("data", ["x", "[]", "1", "[" * 100_000])
def test_malformed_events(data: str) -> None:
    with pytest.raises(ServiceError, match="not a JSON object"):
        list(parse("there", iter([f"data: {data}\n\n"])))


def test_a_broken_stream_resumes_after_the_last_event() -> None:
    time = Time()
    resume_ids: list[str | None] = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        resume_ids.append(request.headers.get("Last-Event-ID"))
        if len(resume_ids) == 2:
            return httpx2.Response(503, headers={"Retry-After": "3"})
        text = f'id: {len(resume_ids)}\nevent: e\ndata: {{"n": {len(resume_ids)}}}\n\nid: half'
        return httpx2.Response(200, text=text, headers={"Content-Type": "text/event-stream"})

    events = follow(connected(handler, time), None)
    assert [next(events).data["n"] for _ in range(3)] == [1, 3, 4]
    assert resume_ids == [None, "1", "1", "3"]
    assert 3.0 in time.slept


def test_a_stream_that_cannot_be_resumed_raises_an_error() -> None:
    time = Time()
    events = follow(connected(answering(503), time, patience=9.0), "7")
    with pytest.raises(Unavailable):
        next(events)
    assert 9.0 < time.now < 20.0


def test_responses_other_than_a_stream() -> None:
    with pytest.raises(ServiceError, match="sent no event stream"):
        next(mocked(answering(200, {})).events())
    with pytest.raises(NotAllowed):
        next(mocked(answering(401, problem(401, "no"))).events())
    with pytest.raises(InvalidInput):
        mocked(answering(200, {})).events("a\nb")
