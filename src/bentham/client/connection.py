"""One server, one token: sends requests, repeats what may pass, and turns answers into models.

What is repeated, for up to `patience` seconds in all: no connection, no answer in time, an answer
that was cut off, and 408, 429, 502, 503 and 504. A POST keeps its Idempotency-Key over its
repeats, so that the server does it once. Everything else is final. The token stands in one header
of requests and nowhere else: no error, repr or log may hold it.
"""

import ipaddress
import random
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar
from urllib.parse import quote, urlsplit

import httpx2
from pydantic import BaseModel, ValidationError

from bentham.client.answers import (
    explained,
    pause_asked,
    read_whole,
    refusal,
    understood,
)
from bentham.errors import InvalidInput, ServiceError, Unavailable
from bentham.wire.base import complaints

Model = TypeVar("Model", bound=BaseModel)
Parameters = Mapping[str, str | int | float | None]

PASSING = frozenset({408, 429, 502, 503, 504})
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
# What stands in addresses: names and identifiers. Anything else could lead somewhere else.
PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")


class Connection:
    """Sends requests to one server. Clock, sleep and chance can be given, for tests."""

    def __init__(
        self,
        server: str,
        token: str,
        timeout: float,
        patience: float,
        transport: httpx2.BaseTransport | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        chance: Callable[[], float] = random.random,
    ):
        self.server, local = _address(server)
        self.timeout, self.patience = timeout, patience
        self.clock, self.sleep, self._chance = clock, sleep, chance
        self._http = httpx2.Client(
            headers={"Authorization": f"Bearer {_secret(token)}"},
            timeout=timeout,
            transport=transport,
            # Many devices wait on leases at one time: no limit of connections of our own.
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=100),
            # A proxy has no business between this machine and itself.
            trust_env=not local,
        )

    def __repr__(self) -> str:
        return f"Connection({self.server!r})"

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def ask(
        self,
        method: str,
        path: str,
        answer: type[Model],
        body: BaseModel | None = None,
        *,
        parameters: Parameters | None = None,
        key: str | None = None,
        timeout: float | None = None,
    ) -> Model:
        """Send JSON, or nothing; get the model that was promised."""
        content = None if body is None else body.model_dump_json(exclude_unset=True).encode()
        reply = self.send(method, path, content, parameters=parameters, key=key, timeout=timeout)
        return understood(self.server, reply, answer)

    def send(
        self,
        method: str,
        path: str,
        content: bytes | None = None,
        *,
        content_type: str = "application/json",
        parameters: Parameters | None = None,
        key: str | None = None,
        timeout: float | None = None,
    ) -> bytes:
        """Send a request until it is answered or patience ends; get the answer's body."""
        headers = {} if content is None else {"Content-Type": content_type}
        if key is not None:
            headers["Idempotency-Key"] = key
        seconds = self.timeout if timeout is None else timeout
        until = self.clock() + self.patience
        tries = 0
        while True:
            tries += 1
            try:
                return self._once(method, path, content, headers, parameters, seconds)
            except Unavailable as error:
                pause = self.pause(tries, error.retry_after)
                if self.clock() + pause >= until:
                    raise
                self.sleep(pause)

    def pause(self, tries: int, asked: float | None) -> float:
        """How long to wait after so many tries: doubling, with chance, or as the server asks."""
        doubled = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(tries - 1, 10))
        # Chance, so that clients which lost the server together do not come back together.
        return max(asked or 0.0, doubled * (0.5 + 0.5 * self._chance()))

    @contextmanager
    def stream(
        self, path: str, headers: Mapping[str, str], timeout: httpx2.Timeout
    ) -> Iterator[httpx2.Response]:
        """An answer that is read while it comes; a refusal is raised as for `send`."""
        with self._heard("GET", path, None, headers, None, timeout) as response:
            yield response

    def _once(
        self,
        method: str,
        path: str,
        content: bytes | None,
        headers: Mapping[str, str],
        parameters: Parameters | None,
        seconds: float,
    ) -> bytes:
        until = self.clock() + 2 * seconds
        limits = httpx2.Timeout(seconds)
        with self._heard(method, path, content, headers, parameters, limits) as response:
            return read_whole(self.server, response, self.clock, until)

    @contextmanager
    def _heard(
        self,
        method: str,
        path: str,
        content: bytes | None,
        headers: Mapping[str, str],
        parameters: Parameters | None,
        timeout: httpx2.Timeout,
    ) -> Iterator[httpx2.Response]:
        given = {name: value for name, value in (parameters or {}).items() if value is not None}
        try:
            with self._http.stream(
                method,
                self.server + path,
                content=content,
                headers=dict(headers),
                params=given or None,
                timeout=timeout,
            ) as response:
                if not response.is_success:
                    until = self.clock() + self.timeout
                    body = read_whole(self.server, response, self.clock, until)
                    raise self._failure(response, body)
                yield response
        except httpx2.DecodingError:
            raise ServiceError(
                f"{self.server} answered what cannot be unpacked; is it a Bentham server?"
            ) from None
        except (httpx2.TimeoutException, httpx2.NetworkError, httpx2.RemoteProtocolError) as error:
            # `from None`: the cause holds the request, and the request the token.
            raise Unavailable(_away(self.server, error)) from None
        except httpx2.HTTPError as error:
            kind = type(error).__name__
            raise ServiceError(
                f"{self.server} cannot be asked ({kind}); check the address"
            ) from None

    def _failure(self, response: httpx2.Response, body: bytes) -> ServiceError:
        problem = explained(body)
        if response.status_code in PASSING:
            said = problem["detail"] if problem else "it said no more"
            return Unavailable(
                f"{self.server} cannot answer now ({response.status_code}): {said}",
                response.status_code,
                problem,
                pause_asked(response.headers.get("Retry-After")),
            )
        return refusal(self.server, response.status_code, problem)


def part(what: str, name: str) -> str:
    """A name as a part of an address."""
    if not PART.fullmatch(name):
        raise InvalidInput(
            f"{name!r} is no name of a {what}: letters, digits, '.', '_' and '-' make one"
        )
    return quote(name, safe="")


def asked(model: type[Model], **fields: object) -> Model:
    """The body of a request, or what is wrong with its fields."""
    try:
        return model(**fields)
    except ValidationError as error:
        wrong = "; ".join(complaints(error.errors(), 3))
        raise InvalidInput(f"{wrong}; nothing was sent") from None


def _away(server: str, error: httpx2.TransportError) -> str:
    if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout):
        return f"no server answers at {server}; is it running, and is the address right?"
    if isinstance(error, httpx2.TimeoutException):
        return f"{server} did not answer in time; it may be busy: try again"
    return f"{server} broke the connection off; try again"


def _address(server: str) -> tuple[str, bool]:
    """The address without its last slash, and whether it is on this machine."""
    example = "write it as in http://127.0.0.1:8642"
    try:
        parts = urlsplit(server)
        host, _ = parts.hostname, parts.port
        httpx2.URL(server)
    except (ValueError, httpx2.InvalidURL):
        raise InvalidInput(f"{server!r} is no address of a server; {example}") from None
    if parts.username is not None or parts.password is not None:
        raise InvalidInput(
            f"the server's address holds a user or password; leave it out: {example}"
        )
    if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment:
        raise InvalidInput(f"{server!r} is no address of a server; {example}")
    return server.rstrip("/"), _on_this_machine(host)


def _on_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _secret(token: str) -> str:
    if not token:
        raise InvalidInput("the token is empty; an operator makes one: bentham token create")
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise InvalidInput("the token holds a character that no token has; is it the right file?")
    return token
