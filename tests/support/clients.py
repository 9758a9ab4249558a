"""Clients without a server: the test supplies the responses."""

import json
from collections.abc import Callable
from typing import Any

import httpx2

from bentham.client import Client
from bentham.client.connection import Connection

TOKEN = "bth_very-secret-0123456789"
DEVICE: dict[str, Any] = {
    "name": "gpu-0", "kind": "", "state": "idle", "trial": None, "registered": 1.0, "seen": 1.0,
    "busy_seconds": 0.0, "presence": "present", "away_since": None,
}  # fmt: skip
TENANT: dict[str, Any] = {
    "name": "vision", "weight": 1.0, "limits": {}, "created": 1.0, "studies": 0,
    "open_studies": 0, "running_trials": 0, "device_seconds": 0.0, "device_seconds_today": 0.0,
}  # fmt: skip
Handler = Callable[[httpx2.Request], httpx2.Response]


def mocked(handler: Handler, patience: float = 0.0) -> Client:
    transport = httpx2.MockTransport(handler)
    return Client("http://there:1", TOKEN, patience=patience, transport=transport)


def answering(status: int, body: object = None, **headers: str) -> Handler:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return lambda _: httpx2.Response(status, content=content, headers=headers)


def problem(status: int, detail: str, *errors: str) -> dict[str, Any]:
    return {"title": "No", "status": status, "detail": detail, "errors": list(errors)}


class Time:
    """A clock that advances only by sleeping."""

    def __init__(self) -> None:
        self.now, self.slept = 0.0, list[float]()

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def connected(handler: Handler, time: Time, patience: float = 30.0) -> Connection:
    transport = httpx2.MockTransport(handler)
    return Connection(
        "http://there:1", TOKEN, 10.0, patience, transport,
        clock=lambda: time.now, sleep=time.sleep, chance=lambda: 1.0,
    )  # fmt: skip
