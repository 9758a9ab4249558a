"""The base class of all groups of calls: how requests are sent."""

from collections.abc import Iterator
from typing import Any, TypeVar
from uuid import uuid4

import httpx2
from pydantic import BaseModel

from bentham.client.answers import AnswerPage
from bentham.client.connection import Connection, Parameters, segment
from bentham.errors import ServiceError

Model = TypeVar("Model", bound=BaseModel)
LONG = 120.0  # timeout in seconds for large files


class Calls:
    """Sends calls over one connection: one server, one token."""

    def __init__(self, connection: Connection):
        self._connection = connection

    @property
    def server(self) -> str:
        """The server's address."""
        return self._connection.server

    def _get(self, path: str, answer: type[Model]) -> Model:
        return self._connection.ask("GET", path, answer)

    def _post(self, path: str, answer: type[Model], body: BaseModel | None = None) -> Model:
        return self._connection.ask("POST", path, answer, body, key=str(uuid4()))

    def _report(
        self,
        trial_id: str,
        verb: str,
        answer: type[Model],
        body: BaseModel,
        timeout: float | None,
        key: str | None = None,
    ) -> Model:
        path = f"/v1/trials/{segment('trial', trial_id)}/{verb}"
        key = key or str(uuid4())
        return self._connection.ask("POST", path, answer, body, key=key, timeout=timeout)

    def _items(
        self, path: str, item: type[Model], parameters: Parameters | None = None
    ) -> Iterator[Model]:
        query: dict[str, Any] = dict(parameters or {})
        page: type[AnswerPage[Any]] = AnswerPage[item]  # type: ignore[valid-type]
        cursors = {query.get("after")}
        while True:
            answer = self._connection.ask("GET", path, page, parameters=query)
            yield from answer.items
            if answer.next is None:
                return
            if answer.next in cursors:  # pages would follow each other without end
                raise ServiceError(
                    f"{self.server} returned the cursor {str(answer.next)[:60]!r} twice, so this "
                    "list would never end; check that it is a Bentham server"
                )
            cursors.add(answer.next)
            query["after"] = answer.next

    def _text(self, path: str, parameters: Parameters | None = None) -> str:
        timeout = max(LONG, self._connection.timeout)
        reply = self._connection.send("GET", path, parameters=parameters, timeout=timeout)
        try:
            return reply.decode()
        except UnicodeDecodeError:
            raise ServiceError(
                f"{self.server} sent text that is not UTF-8; check that it is a Bentham server"
            ) from None

    def _stream(self, path: str, timeout: float | None) -> Iterator[bytes]:
        seconds = self._connection.timeout if timeout is None else timeout
        with self._connection.download(path, httpx2.Timeout(seconds)) as response:
            yield from response.iter_bytes()
