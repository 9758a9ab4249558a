"""docs/deployment.md: the restore is run; the nginx site and the containers are checked."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from support.commands import Bentham
from support.paths import DOCS, PYTHONPATH, ROOT
from support.ports import free_port
from support.postgres import programs
from support.service_app import Service, api_routes
from support.sites import wait_for
from support.tutorials import blocks, run_page

from bentham.cli import app
from bentham.client import Client
from bentham.http.middleware import RequestLimits
from bentham.http.routes.stream import ALIVE_SECONDS
from bentham.http.server import GRACE_SECONDS, KEEP_ALIVE_SECONDS
from bentham.wire.devices import LONGEST_WAIT

PAGE = DOCS / "deployment.md"
PATH = os.environ["PATH"]
# Open to the operator's own networks only; the page says so.
NOT_PASSED_ON = {"/healthz", "/metrics"}


def file_of(name: str, page: Path = PAGE) -> str:
    """A file that the page shows."""
    (text,) = [text for words, text in blocks(page) if words.partition(" ")[2] == name]
    return text


def restore_section(name: str) -> str:
    return PAGE.read_text().partition(f"\n### {name}\n")[2].partition("\n### ")[0]


@pytest.mark.outside
@pytest.mark.parametrize("kind", ["SQLite", "PostgreSQL"])
def test_a_backup_is_restored(tmp_path: Path, request: pytest.FixtureRequest, kind: str) -> None:
    """What was there at the backup is there again; what came later is gone."""
    if kind == "SQLite" and shutil.which("sqlite3") is None:
        pytest.skip("needs the program sqlite3")
    url = request.getfixturevalue("postgres_url") if kind == "PostgreSQL" else ""
    data, port = tmp_path / "data", free_port()
    address = f"http://127.0.0.1:{port}"
    environment = {
        "PYTHONPATH": PYTHONPATH,
        "PATH": os.pathsep.join([*map(str, (programs(), Path(sys.executable).parent)), PATH]),
        **({"BENTHAM_DATABASE": url} if url else {}),
    }

    def start() -> subprocess.Popen[bytes]:
        with (tmp_path / "server.log").open("ab") as log:
            command = [sys.executable, "-m", "bentham", "serve", "--data", data, "--port", port]
            return subprocess.Popen(
                [str(word) for word in command], stderr=log, env={**os.environ, **environment}
            )

    def run(commands: str) -> str:
        folder = tmp_path / f"run-{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        (folder / "page.md").write_text(commands)
        here = {
            "/var/lib/bentham": str(data),
            "bentham-copy.db": str(tmp_path / "bentham-copy.db"),
            "bentham.dump": str(tmp_path / "bentham.dump"),
            "sudo install -o bentham -g bentham": "install",
            "sudo -u bentham /opt/bentham/bin/": "",
            "sudo ": "",
            "systemctl": ":",  # the test starts and stops the server
            "postgresql://bentham:***@127.0.0.1:5432/bentham": re.sub(r":[^:@/]+@", ":***@", url),
        }
        return run_page(folder / "page.md", folder, environment, here)

    backup, _, restore = restore_section(kind).partition("$ sudo systemctl stop bentham")
    server = start()
    try:
        token = data / "admin.token"
        wait_for(lambda: token.exists() and token.stat().st_size > 0)
        with Client(address, token.read_text().strip()) as client:
            client.create_tenant("a")
            client.create_study("before", {"quick": 1.0, "slow": 9.0}, tenant="a")
            device = client.register_device("gpu").name
            lease = client.lease(device)
            assert lease is not None
            client.complete(lease.trial, lease.fence, 0.5)
            run(backup)
            client.create_study("after", {"quick": 1.0}, tenant="a")
        server.terminate()
        assert server.wait(60) == 0
        printed = run(f"```console\n$ sudo systemctl stop bentham{restore}")
        assert "ok" in printed
        assert "recomputed 1 decision from" in printed
        assert "identical" in printed
        server = start()
        with Client(address, token.read_text().strip(), patience=60.0) as client:
            (study,) = client.studies()
            assert study.name == "before"
            assert study.incumbent is not None
            assert study.incumbent.score == 0.5
            assert (following := client.lease(device)) is not None
            assert following.model != lease.model
    finally:
        server.kill()
        server.wait()


def locations() -> dict[str, str]:
    """The location blocks of the site, and what is in them."""
    return dict(
        re.findall(r"^    location (.+?) \{\n(.*?)^    \}", file_of("bentham.conf"), re.M | re.S)
    )


def location_of(path: str) -> str:
    """The location that nginx picks: an exact match, else the longest prefix."""
    found = locations()
    prefixes = [name for name in found if not name.startswith("=") and path.startswith(name)]
    return f"= {path}" if f"= {path}" in found else max(prefixes, key=len)


def seconds(setting: str, text: str) -> float:
    (value,) = re.findall(rf"\b{setting} (\w+);", text)
    return float(value[:-1]) * {"s": 1, "m": 60, "h": 3600}[value[-1]]


def test_the_nginx_site_passes_on_every_route(service: Service) -> None:
    paths = {path for _, path in api_routes(service.app)} | {"/v1/openapi.json"}
    paths |= {route.path for route in service.app.routes if hasattr(route, "path")}  # pages, probes
    assert {"/", "/assets/{name:path}", "/readyz", "/v1/events", *NOT_PASSED_ON} <= paths
    found = locations()
    for path in paths:
        passed = (
            "proxy_pass http://bentham;" in found[location_of(path.replace("{name:path}", "a"))]
        )
        assert passed == (path not in NOT_PASSED_ON), path


def test_the_nginx_site_allows_what_the_server_allows() -> None:
    site, limits = file_of("bentham.conf"), RequestLimits()
    unit = file_of("bentham.service", DOCS / "first-cluster.md")
    (most,) = re.findall(r"--max-upload (\d+)", unit)
    (size,) = re.findall(r"client_max_body_size (\d+)m;", site)
    assert int(size) > int(most)
    assert f"--max-upload {most}" in site
    assert "--secure-cookies" in unit
    assert "proxy_set_header Host $http_host;" in site
    server = site.partition("location")[0]
    assert seconds("proxy_read_timeout", server) > LONGEST_WAIT
    assert seconds("keepalive_timeout", server) < KEEP_ALIVE_SECONDS
    found = locations()
    assert seconds("proxy_read_timeout", found["/v1/"]) >= limits.dataset_seconds
    stream = found["= /v1/events"]
    assert "proxy_buffering off;" in stream
    assert seconds("proxy_read_timeout", stream) > 10 * ALIVE_SECONDS


@pytest.mark.outside
@pytest.mark.skipif(shutil.which("nginx") is None, reason="needs nginx")
def test_nginx_accepts_the_site(tmp_path: Path) -> None:
    """Without its certificates, which do not exist here."""
    site = file_of("bentham.conf").replace("listen 443 ssl;", "listen 443;")
    site = re.sub(r"^ *ssl_certificate.*\n", "", site, flags=re.M)
    (tmp_path / "bentham.conf").write_text(site)
    main = tmp_path / "nginx.conf"
    main.write_text(
        f"pid {tmp_path}/pid; error_log {tmp_path}/log; events {{}}\n"
        f"http {{ access_log off; include {tmp_path}/bentham.conf; }}\n"
    )
    done = subprocess.run(["nginx", "-t", "-c", main], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def container_commands() -> list[list[str]]:
    """The commands of the container files and of the text, without the program's name."""
    services = yaml.safe_load(file_of("compose.yaml"))["services"]
    found = [each["command"] for each in services.values()]
    lines = file_of("Containerfile").splitlines()
    found += [json.loads(line.removeprefix("CMD ")) for line in lines if line.startswith("CMD ")]
    assert 'ENTRYPOINT ["bentham"]' in lines
    found += [
        shlex.split(line)[5:]
        for words, text in blocks(PAGE)
        if words == "text"
        for line in text.splitlines()
        if line.startswith("docker compose exec server bentham ")
    ]
    return found


def parse(arguments: list[str]) -> None:
    """Parse a command line as `bentham` does, without running it; raise an error if it is wrong."""
    from typer.main import get_command

    command: Any = get_command(app)
    context = None
    while arguments and hasattr(command, "resolve_command"):
        context = command.make_context(None, arguments, parent=context, resilient_parsing=True)
        _, command, arguments = command.resolve_command(context, arguments)
    command.make_context(None, arguments, parent=context)


@pytest.mark.parametrize("arguments", container_commands(), ids=" ".join)
def test_the_commands_of_the_containers_are_valid(arguments: list[str]) -> None:
    parse(arguments)
    with pytest.raises(Exception, match="No such option"):
        parse([*arguments, "--no-such-option"])


def test_the_container_files_fit_the_project(bentham: Bentham) -> None:
    image, services = file_of("Containerfile"), yaml.safe_load(file_of("compose.yaml"))["services"]
    (copied,) = re.findall(r"^COPY (.+) /tmp/$", image, re.M)
    wheel, lock = copied.split()
    assert wheel == "dist/bentham-*.whl"  # made by the command of the page
    assert "pip wheel --no-deps --wheel-dir dist" in PAGE.read_text()
    version = bentham("--version").out.split()[1]
    assert f"bentham-{version}-py3-none-any.whl" in PAGE.read_text()
    assert (ROOT / lock).exists()
    (user,) = re.findall(r"^USER (\d+):\1$", image, re.M)
    assert f"useradd -u {user} " in image
    assert f"chown {user} device.token" in PAGE.read_text()
    server, worker = services["server"], services["worker"]
    assert float(server["stop_grace_period"][:-1]) > 2 * GRACE_SECONDS
    assert worker["stop_grace_period"].endswith("m")
    assert "/healthz" in server["healthcheck"]["test"][-1]
    compile(server["healthcheck"]["test"][-1], "healthcheck", "exec")
    devices, memory = (
        worker["command"][worker["command"].index(option) + 1]
        for option in ("--devices", "--memory")
    )
    assert int(worker["mem_limit"][:-1]) > int(devices) * int(memory[:-1])
