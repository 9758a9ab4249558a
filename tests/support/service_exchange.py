"""One ASGI request to an app, and its response."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def ok(self, status: int = 200) -> Any:
        """Assert the status; return the body."""
        assert self.status == status, (self.status, self.body)
        return self.json if self.body else None

    def refused(self, status: int, *words: str) -> Any:
        """Assert the status of a problem and these words in its detail; return its body."""
        assert self.status == status, (self.status, self.body)
        assert self.headers["content-type"] == "application/problem+json"
        problem = self.json
        assert problem["status"] == status
        for each in words:
            assert each in problem["detail"], problem["detail"]
        return problem


class Exchange:
    """One ASGI request. A stream can be read from `chunks` while the request runs."""

    def __init__(self, scope: dict[str, Any], body: bytes, more: bool = False):
        self.scope, self.chunks = scope, list[bytes]()
        self.status, self.headers = 0, dict[str, str]()
        self._body: bytes | None = body
        self._more = more  # whether the rest of the body never arrives
        self._disconnected = asyncio.Event()
        self.task: asyncio.Task[None] | None = None

    async def receive(self) -> dict[str, Any]:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": self._more}
        await self._disconnected.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            assert self.status == 0, "a second response to one request"
            self.status = message["status"]
            self.headers = {
                name.decode().lower(): value.decode() for name, value in message["headers"]
            }
        else:
            self.chunks.append(message.get("body", b""))

    def hang_up(self) -> None:
        self._disconnected.set()

    @property
    def answer(self) -> Answer:
        return Answer(self.status, self.headers, b"".join(self.chunks))
