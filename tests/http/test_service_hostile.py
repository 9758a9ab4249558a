"""No input causes a 5xx or a traceback, or changes the server."""

import contextlib
import socket
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest
from support.hasty_server import SECONDS
from support.paths import TESTS
from support.service_app import Service
from support.service_process import ServiceProcess, read_all, running

NESTED = b"[" * 100_000
# Bodies that a faulty program could send to create a study.
BODIES: list[bytes] = [
    b"", b"{", b"null", b"[]", b"0", b'"text"', NESTED, b'{"a":' * 50_000, b"\xff\xfe\x00",
    b'{"name": "a", "models": ["m"], "floor": NaN}',
    b'{"name": "a", "models": ["m"], "floor": Infinity}',
    b'{"name": "a", "models": ["m"], "floor": -Infinity}',
    b'{"name": "a", "models": ["m"], "floor": 1e999}',
    b'{"name": "a", "models": ["m"], "rows": 99999999999999999999}',
    b'{"name": "a", "models": ["m"], "rows": ' + b"9" * 5000 + b"}",
    b'{"name": "a", "models": ["m"], "weight": ' + b"9" * 5000 + b"}",
    b'{"name": "a", "models": ["m"], "weight": 0}',
    b'{"name": "a", "models": ["m"], "weight": 1e-320}',
    b'{"name": "a", "models": {"m": 0}}', b'{"name": "a", "models": {"m": 1e300}}',
    b'{"name": "a", "models": {"m": NaN}}', b'{"name": "a", "models": []}',
    b'{"name": "a", "models": ["m", "m"]}', b'{"name": "a", "models": {"": 1}}',
    b'{"name": "a\\u0000", "models": ["m"]}', b'{"name": "\\ud800", "models": ["m"]}',
    b'{"name": "a", "models": ["\\udfff"]}', b'{"name": "a", "models": {"\\ud83d": 1}}',
    b'{"name": "", "models": ["m"]}', b'{"name": "' + b"x" * 201 + b'", "models": ["m"]}',
    b'{"name": "a", "models": ["m"], "\\ud800": 1}', b'{"name": "a", "models": ["m"], "x": 1}',
    b'{"name": "a", "models": ["m"], "stop": {"trials": true}}',
    b'{"name": "a", "models": ["m"], "stop": {"deadline": 1e300}}',
    b'{"name": "a\nb", "models": ["m"]}', b'{"name": "a", "name": "b", "models": 3}',
]  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    with running(tmp_path_factory.mktemp("hostile")) as server:
        yield server
        assert_healthy(server)


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    """A server with request timeouts of half a second."""
    script = str(TESTS / "support" / "hasty_server.py")
    with running(tmp_path_factory.mktemp("hasty"), command=[sys.executable, script]) as server:
        yield server
        assert "Traceback" not in server.log()


def assert_healthy(server: ServiceProcess) -> None:
    """Assert that the server works and has logged no error or traceback."""
    assert server.request("GET", "/healthz")[0] == 200
    status, body, _ = server.request("GET", "/v1/tenants", token=server.admin)
    assert (status, body) == (200, {"items": [], "next": None})
    text = server.log()
    lines = [line for line in text.splitlines() if "Traceback" in line]
    assert not lines, lines[0]
    assert '"level": "error"' not in text, [line for line in text.splitlines() if "error" in line]


def status_of(response: bytes) -> int:
    assert response.startswith(b"HTTP/1.1 "), response[:200]
    return int(response[9:12])


def test_invalid_bodies(service: Service) -> None:
    tenant = service.tenant("a")
    head = service.pool.sequence
    for body in BODIES:
        response = service.post(
            "/v1/studies", body, tenant, headers={"content-type": "application/json"}
        )
        assert response.status in (400, 422), (body[:80], response)
        response.refused(response.status)
    paths = ["/v1/tenants", "/v1/tokens", "/v1/devices", "/v1/devices/x/lease",
             "/v1/trials/t_0/heartbeat", "/v1/trials/t_0/complete", "/v1/trials/t_0/fail",
             "/v1/trials/t_0/release"]  # fmt: skip
    for path in paths:
        for body in BODIES:
            response = service.post(path, body, headers={"content-type": "application/json"})
            assert response.status in (400, 404, 413, 422), (path, body[:80], response)
    for score in (b"NaN", b"1e999", b"-Infinity", b"1e51", b"9" * 400, b'"1"', b"null", b"true"):
        body = b'{"fence": 0, "score": ' + score + b"}"
        response = service.post("/v1/trials/t_0/complete", body,
                              headers={"content-type": "application/json"})  # fmt: skip
        assert response.status in (400, 404, 422), score
    for fence in (b"-1", b"9223372036854775808", b"1.5", b"9" * 5000):
        body = b'{"fence": ' + fence + b"}"
        response = service.post("/v1/trials/t_0/heartbeat", body,
                              headers={"content-type": "application/json"})  # fmt: skip
        assert response.status in (400, 422), fence
    assert service.pool.sequence == head


def test_a_misspelt_value_gets_a_suggestion(service: Service) -> None:
    tenant = service.tenant("a")
    types = {"dataset": "d", "target": "y", "types": {"zip": "Categry"}}
    task = {"dataset": "d", "target": "y", "task": "clasification"}
    for method, path, query, body, words in (
        ("GET", "/v1/studies", "state=opne", None,
         "query.state: choose 'open', 'paused' or 'closed'; did you mean 'open'?"),
        ("GET", "/v1/trials", "state=RUNNING", None, "'lost'; did you mean 'running'?"),
        ("POST", "/v1/tokens", "", {"role": "admn"}, "'device'; did you mean 'admin'?"),
        ("POST", "/v1/studies", "", {"name": "x", "data": types}, "did you mean 'category'?"),
        ("POST", "/v1/studies", "", {"name": "x", "data": task}, "did you mean 'classification'?"),
    ):  # fmt: skip
        refused = service.request(method, path, body, token=tenant, query=query).refused(422)
        assert [each for each in refused["errors"] if words in each], refused["errors"]
    for role in ("king", "", 1, None, ["admin"], "x" * 50_000):
        errors = service.post("/v1/tokens", {"role": role}).refused(422)["errors"]
        assert errors == ["body.role: choose 'admin', 'tenant' or 'device'"]


def test_other_content_types(service: Service) -> None:
    for kind in ("text/plain", "application/xml", "multipart/form-data", "x", "", "\x7f/\x7f",
                 "application/json; charset=utf-16"):  # fmt: skip
        response = service.post("/v1/tenants", b'{"name": "a"}', headers={"content-type": kind})
        assert response.status in (201, 400, 409, 415, 422), (kind, response)


def test_addresses_and_methods(service: Service) -> None:
    for path in ("/x", "/v1", "/v2/studies", "/v1/studies/", "//v1/studies", "/v1/studies/%00",
                 "/v1/studies/\udcff", "/v1/studies/" + "x" * 5000, "/v1/tenants/..",
                 "/v1/studies/a\nb", "/v1/trials/\0"):  # fmt: skip
        response = service.request("GET", path.encode("utf-8", "replace").decode())
        response.refused(404)
    for query in ("limit=0", "limit=x", "limit=9999999999999999999999", "state=no", "after=\0",
                  "limit=1e3", "after=" + "x" * 101):  # fmt: skip
        service.request("GET", "/v1/studies", query=query).refused(422)
    service.request("GET", "/v1/studies", query="unknown=1&&&=&%ff=%00").ok()
    for method in ("PUT", "DELETE", "HEAD", "OPTIONS", "TRACE", "PATCH"):
        response = service.request(method, "/v1/studies")
        assert (response.status, response.headers["allow"]) == (405, "GET, POST"), method


@pytest.mark.outside
class TestSockets:
    def raw(self, server: ServiceProcess, *lines: bytes, body: bytes = b"") -> bytes:
        head = b"\r\n".join([*lines, b"Host: x", b"Connection: close", b"", b""])
        return server.raw(head + body)

    def test_strange_bytes(self, server: ServiceProcess) -> None:
        for line in (b"GET /v1/studies/%ff%fe HTTP/1.1",
                     b"GET /v1/studies?limit=%00 HTTP/1.1", b"GET /v1/studies/%ed%a0%80 HTTP/1.1",
                     b"HEAD /v1/studies HTTP/1.1", b"OPTIONS * HTTP/1.1", b"GET / HTTP/9.9",
                     b"GET /v1/studies/\xff HTTP/1.1", b"FOO / HTTP/1.1", b"\0\0\0", b"GET",
                     b"GET http:///x HTTP/1.1", b"CONNECT x:1 HTTP/1.1"):  # fmt: skip
            response = self.raw(server, line, b"Authorization: Bearer " + server.admin.encode())
            assert 400 <= status_of(response) < 500, (line, response[:300])
        ignored = b"GET /v1/studies?%ff=%fe HTTP/1.1"  # like every unknown parameter
        response = self.raw(server, ignored, b"Authorization: Bearer " + server.admin.encode())
        assert status_of(response) == 200

    def test_bad_headers(self, server: ServiceProcess) -> None:
        for header in (b"Authorization: Bearer \xff\xfe", b"Authorization: Bearer", b"X" * 100,
                       b"Content-Length: -1", b"Content-Length: 9" + b"9" * 100,
                       b"Content-Length: x", b"Transfer-Encoding: nonsense",
                       b"Idempotency-Key: \xff", b"X-Request-ID: \xff\x01",
                       b"Authorization: Bearer a\0b"):  # fmt: skip
            response = self.raw(server, b"POST /v1/tenants HTTP/1.1", header, body=b"{}")
            assert 400 <= status_of(response) < 500, (header, response[:300])
        huge = self.raw(server, b"GET / HTTP/1.1", b"X-Huge: " + b"x" * 300_000)
        assert not huge or 400 <= status_of(huge) < 500

    def test_endless_bodies(self, server: ServiceProcess) -> None:
        """Send endless chunks without a length; the response must come anyway."""
        piece = b"10000\r\n" + b"x" * 65536 + b"\r\n"
        for path in (b"/v1/tenants", b"/v1/history", b"/v1/studies", b"/nothing", b"/healthz"):
            with socket.create_connection(("127.0.0.1", server.port), timeout=30.0) as connection:
                connection.sendall(
                    b"POST " + path + b" HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
                    + server.admin.encode() + b"\r\nTransfer-Encoding: chunked\r\n"
                    b"Content-Type: application/json\r\n\r\n"
                )  # fmt: skip
                try:
                    for _ in range(1000):  # 65 MB, more than any limit
                        connection.sendall(piece)
                except OSError:
                    pass
                response = b""
                with contextlib.suppress(ConnectionResetError):
                    response = connection.recv(65536)
                expected = {404, 405} if path in (b"/nothing", b"/healthz") else {413}
                assert not response or status_of(response) in expected, (path, response[:200])

    def test_a_wrong_content_length(self, server: ServiceProcess) -> None:
        too_long = self.raw(
            server,
            b"POST /v1/tenants HTTP/1.1",
            b"Content-Length: 3000000",
            b"Authorization: Bearer " + server.admin.encode(),
            body=b"{}",
        )
        assert status_of(too_long) == 413
        unauthenticated = self.raw(
            server, b"POST /v1/tenants HTTP/1.1", b"Content-Length: 3000000", body=b"{}"
        )
        assert status_of(unauthenticated) == 401
        cut = b"POST /v1/tenants HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{}"
        short = server.raw(cut, leave=True)
        assert not short or 400 <= status_of(short) < 500
        with contextlib.suppress(
            BrokenPipeError, ConnectionResetError
        ):  # the server need not read the rest
            status, body, _ = server.request(
                "POST", "/v1/tenants", b" " * (2**21 + 1), server.admin
            )
            assert (status, body["title"]) == (413, "Content too large")


@pytest.mark.outside
class TestSlowness:
    def drip(self, server: ServiceProcess, head: bytes, each: bytes) -> tuple[float, bytes]:
        """Send a piece at intervals; return how long the server allows it, and its response."""
        with socket.create_connection(("127.0.0.1", server.port), timeout=20.0) as connection:
            connection.sendall(head)
            began = time.monotonic()
            connection.settimeout(SECONDS / 10.0)
            found = b""
            while time.monotonic() < began + 20.0 * SECONDS:
                try:
                    chunk = connection.recv(65536)
                    if not chunk:
                        break
                    found += chunk
                except TimeoutError:
                    pass
                except OSError:
                    break
                try:
                    connection.sendall(each)
                except OSError:
                    break
            return time.monotonic() - began, found

    @pytest.mark.parametrize(
        ("head", "each"),
        [
            (b"", b"G"),
            (b"GET / HTTP/1.1\r\n", b"X: y\r\n"),
            (b"POST /v1/tenants HTTP/1.1\r\nHost: x\r\nContent-Length: 9999\r\n\r\n", b" "),
            (b"POST /nothing HTTP/1.1\r\nHost: x\r\nContent-Length: 9999\r\n\r\n", b" "),
            (b"GET /healthz HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
             b"1\r\nx\r\n"),
        ],
    )  # fmt: skip
    def test_slow_requests_are_cut_off(
        self, impatient: ServiceProcess, head: bytes, each: bytes
    ) -> None:
        seconds, _ = self.drip(impatient, head, each)
        assert seconds < 10.0 * SECONDS

    def test_endless_headers_are_cut_off(self, server: ServiceProcess) -> None:
        with socket.create_connection(("127.0.0.1", server.port), timeout=20.0) as connection:
            began, sent = time.monotonic(), 0
            try:
                connection.sendall(b"GET / HTTP/1.1\r\n")
                while sent < 10_000_000:
                    connection.sendall(b"X-More: " + b"y" * 8000 + b"\r\n")
                    sent += 8000
            except OSError:
                pass
            read_all(connection)
        assert sent < 10_000_000
        assert time.monotonic() - began < 10.0


@pytest.mark.outside
def test_the_server_still_responds_normally(server: ServiceProcess) -> None:
    """Runs after all tests above, in the order of this file."""
    response: tuple[int, Any, Any] = server.request("GET", "/v1/nothing", token=server.admin)
    assert response[0] == 404
    assert response[1]["title"] == "Not found"
    assert_healthy(server)
