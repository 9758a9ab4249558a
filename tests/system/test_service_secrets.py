"""No secret appears in what the server logs, stores, exports or returns."""

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.service_process import running

pytestmark = pytest.mark.outside

CANARY = "c4narY5ong"


def test_secrets_stay_secret(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with running(folder) as server:
        admin = server.admin
        server.request("POST", "/v1/tenants", {"name": "a"}, admin)
        issued = server.request("POST", "/v1/tokens", {"role": "tenant", "tenant": "a"}, admin)[1]
        tenant = issued["secret"]
        foreign = f"bth_{'ab' * 6}_{'cd' * 32}"
        secrets = [token.split("_")[2] for token in (admin, tenant, foreign)]
        for token in (admin, tenant, foreign):
            server.request("GET", "/v1/studies", token=token)
            server.request("GET", f"/v1/studies/{token}", token=admin)
            server.request("GET", f"/v1/{token}", token=admin)
            server.request("GET", f"/{'x' * 150}/{token}", token=admin)
            server.request("GET", f"/v1/studies?after={token}&token={token}", token=admin)
            server.request("POST", "/v1/devices", {"name": token, "kind": 1}, admin)
            server.request("POST", "/v1/studies", {token: token, "name": token}, tenant)
            table = f"study,model,score\n{token},{token},x\n".encode()
            server.request("POST", "/v1/history", table, admin)
            server.request("POST", "/v1/studies", b'{"name": "' + token.encode(), tenant)
            study = {"name": f"s {secrets.index(token.split('_')[2])}", "models": ["m"]}
            server.request("POST", "/v1/studies", study, tenant, Idempotency_Key=token)
            server.request("POST", "/v1/studies", study, tenant, X_Request_ID=token)
            server.request("GET", "/v1/studies", token=token + "x")
            server.request("GET", "/v1/studies", Authorization=f"Basic {token}")
            server.request("GET", "/v1/studies", Cookie=f"token={token}")
            server.raw(f"GET /{token} HTTP/9.9\r\n{token}\r\n\r\n".encode())
            server.raw(f"{token} / HTTP/1.1\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
        metrics = server.request("GET", "/metrics", token=admin)[1]
        log = server.request("GET", "/v1/log?limit=1000", token=admin)[1]
        server.request("DELETE", f"/v1/tokens/{issued['id']}", token=admin)
        assert server.stop() == 0
        logged = server.log()
    exported = subprocess.run(
        [sys.executable, "-m", "bentham", "log", "export", "--data", str(folder)],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert len(exported.splitlines()) > 8
    assert '"path"' in logged
    stored = b"".join(f.read_bytes() for f in folder.glob("bentham.db*")).decode("latin-1")
    for secret in secrets:
        for source, text in (("log", logged), ("file", stored), ("export", exported),
                            ("metrics", metrics.decode()), ("api", str(log))):  # fmt: skip
            assert secret not in text, source
    assert (folder / "admin.token").stat().st_mode & 0o777 == 0o600


def test_the_database_password_is_not_shown(tmp_path: Path) -> None:
    for url in (f"postgresql://user:{CANARY}@127.0.0.1:1/none",
                f"postgresql://user:{CANARY}@127.0.0.1:notaport/none"):  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-m", "bentham", "serve", "--data", str(tmp_path), "--port", "0",
             "--log-level", "debug"],
            env={**os.environ, "BENTHAM_DATABASE": url}, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert done.returncode == 2, done
        assert CANARY not in done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        with contextlib.suppress(FileNotFoundError):
            assert CANARY not in (tmp_path / "bentham.db").read_text(errors="replace")
