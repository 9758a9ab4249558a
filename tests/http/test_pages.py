"""The files of the dashboard: content, headers, caching, and nothing else is served."""

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


def test_every_file_is_served_with_its_headers(service: Service) -> None:
    for address in ADDRESSES:
        name = address.removeprefix("/assets/").removeprefix("/") or "index.html"
        response = service.request("GET", address, token=None)
        assert (response.status, response.body) == (200, assets()[name]), address
        headers = response.headers
        assert headers["content-type"] == TYPES[name.rpartition(".")[2]]
        assert headers["content-security-policy"] == POLICY
        assert headers["cache-control"] == "no-cache"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-opener-policy"] == "same-origin"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "camera=()" in headers["permissions-policy"]
        assert "clipboard-write=(self)" in headers["permissions-policy"]
        head = service.request("HEAD", address, token=None)
        assert (head.status, head.body) == (200, b"")
        differing = {"x-request-id"}
        assert {key: value for key, value in head.headers.items() if key not in differing} == {
            key: value for key, value in headers.items() if key not in differing
        }


def test_unmodified_files_are_not_sent_again(service: Service) -> None:
    for address in ADDRESSES:
        first = service.request("GET", address, token=None).headers
        tag = first["etag"]
        assert re.fullmatch(r'"[0-9a-f]{32}"', tag)
        for known in (tag, f'"x", {tag}', f"W/{tag}", "*"):
            second = service.request("GET", address, token=None, headers={"if-none-match": known})
            assert (second.status, second.body) == (304, b""), known
            for name in ("etag", "cache-control", "content-security-policy"):
                assert second.headers[name] == first[name]
        for known in ('"x"', "", tag[:-2] + '"', tag.strip('"'), "\x00", '"' * 1000):
            second = service.request("GET", address, token=None, headers={"if-none-match": known})
            assert second.status == 200, known


def test_no_other_paths_are_served(service: Service) -> None:
    for path in (
        "/assets", "/assets/", "/assets/x.js", "/assets/../__init__.py", "/assets/..%2f__init__.py",
        "/assets/%2e%2e/%2e%2e/cli/serve.py", "/assets//etc/passwd", "/assets/./app.js",
        "/assets//app.js", "/assets/app.js/", "/assets/APP.JS", "/assets/app.js\0", "/assets/..\\x",
        "/assets/app.js%00.png", "/index.html", "/app.js", "/assets/" + "../" * 20 + "etc/passwd",
    ):  # fmt: skip
        response = service.request("GET", path, token=None)
        response.refused(404, "there is no such path")
        assert response.headers["cache-control"] == "no-store"


def test_other_methods_and_queries(service: Service) -> None:
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        response = service.request(method, "/", token=None)
        response.refused(405)
        assert set(response.headers["allow"].split(", ")) == {"GET", "HEAD"}
    assert service.request("GET", "/", token="nonsense", query="a=<script>").status == 200


def test_files_of_unknown_types_are_not_served(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"index.html": b"i", "notes.txt": b"n", "deep/er/x.js": b"x", "y": b"y"}
    monkeypatch.setattr(pages, "assets", lambda: files)
    service.restart()
    found = [name for name in files
             if service.request("GET", f"/assets/{name}", token=None).status == 200]  # fmt: skip
    assert found == ["index.html", "deep/er/x.js"]


def test_api_responses_cannot_act_as_pages(service: Service) -> None:
    token, device = service.tenant("a"), service.device()
    study = service.study(token)
    lease = service.lease(device)
    log = f"/v1/trials/{lease['trial']}/log"
    query = f"fence={lease['fence']}"
    service.request("PUT", log, b"<script>alert(1)</script>", token=device, query=query).ok(204)
    service.report(device, lease, score=0.5).ok()
    for path in (log, f"/v1/studies/{study}/script", "/v1/studies", "/v1/nothing", "/nothing",
                 "/v1/history", "/healthz"):  # fmt: skip
        headers = service.request("GET", path, token=token).headers
        assert headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert headers["cache-control"] == "no-store"
        assert "html" not in headers["content-type"]


def test_the_page_uses_no_other_host() -> None:
    """Files contain no address of another host, no inline script and no inline style."""
    for name, content in assets().items():
        if name.endswith((".html", ".js", ".css", ".svg")):
            text = content.decode().replace("http://www.w3.org/", "")
            assert not re.search(r"https?://|(src|href)=\"//|url\((?!\"/assets/)", text), name
        if name.endswith(".html"):
            assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", text), name


def test_the_wheel_contains_the_page() -> None:
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
def test_printed_addresses(host: str, expected: tuple[str, str]) -> None:
    assert addresses(host, 1) == expected
