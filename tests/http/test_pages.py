"""The dashboard's files: what is there, how it is told to a browser, and that nothing else is."""

import re

import pytest
from hatchling.builders.wheel import WheelBuilder
from support.paths import ROOT
from support.service_app import Service

from bentham.dashboard import assets
from bentham.http import pages
from bentham.http.server import addresses

TYPES = {
    "html": "text/html; charset=utf-8", "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8", "svg": "image/svg+xml", "png": "image/png",
}  # fmt: skip
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
ADDRESSES = ["/", *(f"/assets/{name}" for name in assets())]


def test_every_file_is_served_as_it_is_with_its_headers(service: Service) -> None:
    for address in ADDRESSES:
        name = address.removeprefix("/assets/").removeprefix("/") or "index.html"
        answer = service.request("GET", address, token=None)
        assert (answer.status, answer.body) == (200, assets()[name]), address
        told = answer.headers
        assert told["content-type"] == TYPES[name.rpartition(".")[2]]
        assert told["content-security-policy"] == POLICY
        assert told["cache-control"] == "no-cache"
        assert told["x-content-type-options"] == "nosniff"
        assert told["referrer-policy"] == "no-referrer"
        assert told["cross-origin-opener-policy"] == "same-origin"
        assert told["cross-origin-resource-policy"] == "same-origin"
        assert "camera=()" in told["permissions-policy"]
        assert "clipboard-write=(self)" in told["permissions-policy"]
        head = service.request("HEAD", address, token=None)
        assert (head.status, head.body) == (200, b"")
        differing = {"x-request-id"}
        assert {key: value for key, value in head.headers.items() if key not in differing} == {
            key: value for key, value in told.items() if key not in differing
        }


def test_a_browser_that_has_it_is_told_so(service: Service) -> None:
    for address in ADDRESSES:
        first = service.request("GET", address, token=None).headers
        tag = first["etag"]
        assert re.fullmatch(r'"[0-9a-f]{32}"', tag)
        for known in (tag, f'"x", {tag}', f"W/{tag}", "*"):
            again = service.request("GET", address, token=None, headers={"if-none-match": known})
            assert (again.status, again.body) == (304, b""), known
            for name in ("etag", "cache-control", "content-security-policy"):
                assert again.headers[name] == first[name]
        for known in ('"x"', "", tag[:-2] + '"', tag.strip('"'), "\x00", '"' * 1000):
            again = service.request("GET", address, token=None, headers={"if-none-match": known})
            assert again.status == 200, known


def test_nothing_else_can_be_had(service: Service) -> None:
    for path in (
        "/assets", "/assets/", "/assets/x.js", "/assets/../__init__.py", "/assets/..%2f__init__.py",
        "/assets/%2e%2e/%2e%2e/cli/serve.py", "/assets//etc/passwd", "/assets/./app.js",
        "/assets//app.js", "/assets/app.js/", "/assets/APP.JS", "/assets/app.js\0", "/assets/..\\x",
        "/assets/app.js%00.png", "/index.html", "/app.js", "/assets/" + "../" * 20 + "etc/passwd",
    ):  # fmt: skip
        answer = service.request("GET", path, token=None)
        answer.refused(404, "there is no such path")
        assert answer.headers["cache-control"] == "no-store"


def test_other_methods_and_queries(service: Service) -> None:
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        answer = service.request(method, "/", token=None)
        answer.refused(405)
        assert set(answer.headers["allow"].split(", ")) == {"GET", "HEAD"}
    assert service.request("GET", "/", token="nonsense", query="a=<script>").status == 200


def test_what_has_no_known_ending_is_not_served(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"index.html": b"i", "notes.txt": b"n", "deep/er/x.js": b"x", "y": b"y"}
    monkeypatch.setattr(pages, "assets", lambda: files)
    service.restart()
    found = [name for name in files
             if service.request("GET", f"/assets/{name}", token=None).status == 200]  # fmt: skip
    assert found == ["index.html", "deep/er/x.js"]


def test_answers_of_the_api_cannot_act_as_pages(service: Service) -> None:
    token, device = service.tenant("a"), service.device()
    study = service.study(token)
    lease = service.lease(device)
    log = f"/v1/trials/{lease['trial']}/log"
    query = f"fence={lease['fence']}"
    service.request("PUT", log, b"<script>alert(1)</script>", token=device, query=query).ok(204)
    service.report(device, lease, score=0.5).ok()
    for path in (log, f"/v1/studies/{study}/script", "/v1/studies", "/v1/nothing", "/nothing",
                 "/v1/history", "/healthz"):  # fmt: skip
        told = service.request("GET", path, token=token).headers
        assert told["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
        assert told["x-content-type-options"] == "nosniff"
        assert told["cross-origin-resource-policy"] == "same-origin"
        assert told["cache-control"] == "no-store"
        assert "html" not in told["content-type"]


def test_the_page_asks_nobody_else() -> None:
    """All of it is in the package: no address of elsewhere, no script or style within a page."""
    for name, content in assets().items():
        if name.endswith((".html", ".js", ".css", ".svg")):
            text = content.decode().replace("http://www.w3.org/", "")
            assert not re.search(r"https?://|(src|href)=\"//|url\((?!\"/assets/)", text), name
        if name.endswith(".html"):
            assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", text), name


def test_the_wheel_has_the_page() -> None:
    packed = {each.distribution_path for each in WheelBuilder(str(ROOT)).recurse_included_files()}
    assert packed >= {f"bentham/dashboard/assets/{name}" for name in assets()}
    assert "bentham/dashboard/__init__.py" in packed


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.0.0.1", ("http://127.0.0.1:1", "http://127.0.0.1:1/")),
     ("0.0.0.0", ("http://0.0.0.0:1", "http://127.0.0.1:1/")),
     ("::", ("http://[::]:1", "http://[::1]:1/")),
     ("10.0.0.7", ("http://10.0.0.7:1", "http://10.0.0.7:1/"))],
)  # fmt: skip
def test_where_it_is_said_to_be(host: str, expected: tuple[str, str]) -> None:
    assert addresses(host, 1) == expected
