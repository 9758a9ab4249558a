"""Sends requests to one server with one token, retries them, and parses responses into models.

Retried for up to `patience` seconds in total: connection errors, timeouts, truncated responses, and
the statuses 408, 429, 502, 503 and 504. Other errors are final. The retries of a POST have the same
Idempotency-Key, so that the server executes it once. The token is in one request header and nowhere
else: it must not appear in an error, a repr or a log.
"""

import ipaddress
import random
import re
import ssl
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TypeVar
from urllib.parse import quote, urlsplit

import httpx2
from pydantic import BaseModel, ValidationError

from bentham.client.answers import (
    error_of,
    parse_answer,
    parse_problem,
    parse_retry_after,
    read_whole,
)
from bentham.errors import InvalidInput, ServiceError, Unavailable
from bentham.wire.base import complaints

Model = TypeVar("Model", bound=BaseModel)
Result = TypeVar("Result")
Parameters = Mapping[str, str | int | float | Sequence[str] | None]

TRANSIENT = frozenset({408, 429, 502, 503, 504})
# Errors of OpenSSL: the authority that signed a certificate is unknown here.
UNTRUSTED = frozenset({18, 19, 20, 21})
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
# Names and ids in URL paths. Other characters could change the path.
PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
BY_NAME = ("tenant", "device")  # the others are called by an id, and their names may be any text


class Connection:
    """Sends requests to one server. Tests replace `clock`, `sleep` and `chance` (randomness)."""

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
            # Reading the certificates takes 20 ms, and plain HTTP needs none. They are those that
            # SSL_CERT_FILE names, on this machine too.
            verify=self.server.startswith("https:") and _trusted(),
            # Many devices wait for leases at the same time, so connections are not limited.
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=100),
            # Requests to this machine must not go through a proxy.
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
        """Send a request with a JSON body or none; return the parsed response."""
        content = None if body is None else body.model_dump_json(exclude_unset=True).encode()
        reply = self.send(method, path, content, parameters=parameters, key=key, timeout=timeout)
        return parse_answer(self.server, reply, answer)

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
        """Send a request, with retries until `patience` is used up; return the response body."""
        headers = {} if content is None else {"Content-Type": content_type}
        if key is not None:
            headers["Idempotency-Key"] = key
        seconds = self.timeout if timeout is None else timeout
        return self._patiently(
            lambda: self._once(method, path, content, headers, parameters, seconds)
        )

    def _patiently(self, call: Callable[[], Result]) -> Result:
        """Repeat a call while the server is unavailable, until `patience` is used up."""
        until = self.clock() + self.patience
        tries = 0
        while True:
            tries += 1
            try:
                return call()
            except Unavailable as error:
                pause = self.pause(tries, error.retry_after)
                if self.clock() + pause >= until:
                    raise
                self.sleep(pause)

    @contextmanager
    def download(self, path: str, timeout: httpx2.Timeout) -> Iterator[httpx2.Response]:
        """Open a streaming response like `stream`, with retries until it begins."""
        with ExitStack() as opened:
            yield self._patiently(lambda: opened.enter_context(self.stream(path, {}, timeout)))

    def pause(self, tries: int, retry_after: float | None) -> float:
        """Return the seconds to wait before a retry: exponential backoff, at least Retry-After."""
        doubled = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(tries - 1, 10))
        # Random jitter, so that clients that lost the server together do not return together.
        return max(retry_after or 0.0, doubled * (0.5 + 0.5 * self._chance()))

    @contextmanager
    def stream(
        self, path: str, headers: Mapping[str, str], timeout: httpx2.Timeout
    ) -> Iterator[httpx2.Response]:
        """Open a streaming response; errors are raised as in `send`."""
        with self._response("GET", path, None, headers, None, timeout) as response:
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
        with self._response(method, path, content, headers, parameters, limits) as response:
            return read_whole(self.server, response, self.clock, until)

    @contextmanager
    def _response(
        self,
        method: str,
        path: str,
        content: bytes | None,
        headers: Mapping[str, str],
        parameters: Parameters | None,
        timeout: httpx2.Timeout,
    ) -> Iterator[httpx2.Response]:
        query = {name: value for name, value in (parameters or {}).items() if value is not None}
        try:
            with self._http.stream(
                method,
                self.server + path,
                content=content,
                headers=dict(headers),
                params=query or None,
                timeout=timeout,
            ) as response:
                if not response.is_success:
                    until = self.clock() + self.timeout
                    body = read_whole(self.server, response, self.clock, until)
                    raise self._failure(response, body)
                yield response
        except httpx2.DecodingError:
            raise ServiceError(
                f"{self.server} sent a response that cannot be decompressed; check that it is a "
                "Bentham server"
            ) from None
        except httpx2.ConnectError as error:
            if (cause := _tls_error(error)) is None:
                raise Unavailable(_unavailable_reason(self.server, error)) from None
            raise ServiceError(_tls_reason(self.server, cause)) from None
        except (httpx2.TimeoutException, httpx2.NetworkError, httpx2.RemoteProtocolError) as error:
            # `from None`: the cause contains the request, and with it the token.
            raise Unavailable(_unavailable_reason(self.server, error)) from None
        except httpx2.HTTPError as error:
            kind = type(error).__name__
            raise ServiceError(
                f"the request to {self.server} failed ({kind}); check the address"
            ) from None

    def _failure(self, response: httpx2.Response, body: bytes) -> ServiceError:
        problem = parse_problem(body)
        if response.status_code in TRANSIENT:
            reason = problem["detail"] if problem else "no reason given"
            return Unavailable(
                f"{self.server} cannot process the request now ({response.status_code}): {reason}",
                response.status_code,
                problem,
                parse_retry_after(response.headers.get("Retry-After")),
            )
        return error_of(self.server, response.status_code, problem)


def segment(kind: str, name: str) -> str:
    """Return a name or id as a segment of a URL path; raise InvalidInput if it is invalid."""
    if not PART.fullmatch(name):
        if kind not in BY_NAME:
            raise InvalidInput(
                f"{name!r} is not an id of a {kind}; if it is a name, find its id in the list"
            )
        raise InvalidInput(
            f"{name!r} is not a valid name of a {kind}; use letters, digits, '.', '_' and '-', and "
            "start with a letter or digit"
        )
    return quote(name, safe="")


def request_body(model: type[Model], /, **fields: object) -> Model:
    """Build the body of a request; raise InvalidInput if its fields are invalid."""
    try:
        return model(**fields)
    except ValidationError as error:
        problems = "; ".join(complaints(error.errors(), 3))
        raise InvalidInput(f"{problems}; nothing was sent") from None


def _unavailable_reason(server: str, error: httpx2.TransportError) -> str:
    if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout):
        return f"cannot connect to {server}; check the address and that the server is running"
    if isinstance(error, httpx2.TimeoutException):
        return f"{server} did not respond in time; it may be busy: try again"
    return f"{server} closed the connection; try again"


def _trusted() -> ssl.SSLContext:
    try:
        return httpx2.create_ssl_context()
    except OSError as error:
        raise InvalidInput(
            f"the certificates cannot be read ({error.strerror or error}); check the file that "
            "SSL_CERT_FILE names"
        ) from None


def _tls_error(error: BaseException | None) -> ssl.SSLError | None:
    """Return the error of TLS that caused an error; None if another one did."""
    while error is not None and not isinstance(error, ssl.SSLError):
        error = error.__cause__ or error.__context__
    return error


def _tls_reason(server: str, error: ssl.SSLError) -> str:
    if not isinstance(error, ssl.SSLCertVerificationError):
        reason = (error.reason or "unknown error").lower().replace("_", " ")
        return (
            f"no TLS connection to {server} ({reason}); check that the server speaks https there, "
            "or write http"
        )
    reason = error.verify_message.rstrip(".")
    if error.verify_code in UNTRUSTED:
        return (
            f"the certificate of {server} is not trusted here ({reason}); name the file with its "
            "authority's certificate in SSL_CERT_FILE"
        )
    return (
        f"the certificate of {server} is not valid ({reason}); check the address, or ask the "
        "operator for a new certificate"
    )


def _address(server: str) -> tuple[str, bool]:
    """Return the address without trailing slashes, and whether it is on this machine."""
    remedy = "write it as in http://127.0.0.1:8642"
    try:
        parts = urlsplit(server)
        host, _ = parts.hostname, parts.port
        httpx2.URL(server)
    except (ValueError, httpx2.InvalidURL):
        raise InvalidInput(f"{server!r} is not the address of a server; {remedy}") from None
    if parts.username is not None or parts.password is not None:
        raise InvalidInput(f"the server's address contains a user or password; remove it: {remedy}")
    if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment:
        raise InvalidInput(f"{server!r} is not the address of a server; {remedy}")
    return server.rstrip("/"), _on_this_machine(host)


def _on_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _secret(token: str) -> str:
    if not token:
        raise InvalidInput("the token is empty; an operator can create one: bentham token create")
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise InvalidInput(
            "the token contains an invalid character; check that the file is correct"
        )
    return token
