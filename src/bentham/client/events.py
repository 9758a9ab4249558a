"""The event stream (text/event-stream), resumed when the connection breaks."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx2

from bentham.client.connection import Connection
from bentham.errors import ServiceError, Unavailable

# The server sends regular comments; a longer silence means that the connection is dead.
LONGEST_SILENCE = 60.0
LARGEST_EVENT = 4 * 2**20


@dataclass(frozen=True, slots=True)
class StreamedEvent:
    """An event; to resume a stream after it, pass its `id` as `last_id`."""

    id: str
    kind: str
    data: dict[str, Any]


def follow(connection: Connection, last_id: str | None) -> Iterator[StreamedEvent]:
    """Iterate over events without end; a broken stream is resumed after the last event."""
    tries = 0
    received = connection.clock()
    limits = httpx2.Timeout(connection.timeout, read=LONGEST_SILENCE)
    while True:
        headers = {"Accept": "text/event-stream", "Cache-Control": "no-store"}
        if last_id:
            headers["Last-Event-ID"] = last_id
        retry_after = None
        try:
            with connection.stream("/v1/events", headers, limits) as response:
                kind = response.headers.get("Content-Type", "")
                if not kind.startswith("text/event-stream"):
                    raise ServiceError(
                        f"{connection.server} sent no event stream ({kind or 'no content type'}); "
                        "check that it is a Bentham server"
                    )
                for event in parse(connection.server, response.iter_text()):
                    if event is not None:
                        last_id = event.id or last_id
                        yield event
                    tries, received = 0, connection.clock()
        except Unavailable as error:
            if connection.clock() - received > connection.patience:
                raise
            retry_after = error.retry_after
        tries += 1
        connection.sleep(connection.pause(tries, retry_after))


def parse(server: str, texts: Iterator[str]) -> Iterator[StreamedEvent | None]:
    """Parse a stream of text: yield each event, and None for each comment."""
    fields: dict[str, str] = {}
    data: list[str] = []
    for line in _lines(server, texts):
        if not line:
            if data:
                yield _event(server, fields, "\n".join(data))
            fields.pop("event", None)
            data = []
        elif line.startswith(":"):
            yield None
        else:
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if name == "data":
                data.append(value)
            else:
                fields[name] = value


def _lines(server: str, texts: Iterator[str]) -> Iterator[str]:
    rest = ""
    for text in texts:
        rest = (rest + text).replace("\r\n", "\n")
        *lines, rest = rest.split("\n")
        yield from lines
        if len(rest) > LARGEST_EVENT:
            raise ServiceError(
                f"{server} sent an event line of more than {LARGEST_EVENT:,} characters; check "
                "that it is a Bentham server"
            )


def _event(server: str, fields: dict[str, str], text: str) -> StreamedEvent:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        raise ServiceError(
            f"{server} sent an event that is not a JSON object; "
            "check that it is a Bentham server of the same version"
        )
    return StreamedEvent(fields.get("id", ""), fields.get("event", "message"), data)
