"""Simulated devices: they lease and report over HTTP at a steady pace and time the responses.

    python tools/load_devices.py '{"port": 8642, "token": "...", "devices": 64, "pace": 50, ...}'

Runs in its own single-threaded process, so that it measures the server and not the browser or the
measuring script. Prints JSON.
"""

import asyncio
import json
import random
import sys
import time
from typing import Any, NamedTuple

LONGEST_WAIT = 5.0  # seconds that a device waits for work


class Load(NamedTuple):
    """The load to generate; `pace` is leases plus reports per second."""

    port: int
    token: str
    devices: int
    pace: float
    warm_up: float
    seconds: float


class Connection:
    """One keep-alive connection."""

    def __init__(self, load: Load, reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
        self._reader, self._writer = reader, writer
        self._headers = (
            f" HTTP/1.1\r\nHost: 127.0.0.1:{load.port}\r\nAuthorization: Bearer {load.token}\r\n"
            "Content-Type: application/json\r\n"
        )

    @classmethod
    async def open(cls, load: Load) -> "Connection":
        """Connect."""
        return cls(load, *await asyncio.open_connection("127.0.0.1", load.port))

    async def post(self, path: str, body: dict[str, Any]) -> Any:
        """Return the response body, None if empty; an error response ends the program."""
        data = json.dumps(body).encode()
        head = f"POST {path}{self._headers}Content-Length: {len(data)}\r\n\r\n"
        self._writer.write(head.encode() + data)
        lines = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        fields = {
            name.lower(): value for name, _, value in (line.partition(": ") for line in lines)
        }
        answer = await self._reader.readexactly(int(fields.get("content-length", 0)))
        status = int(lines[0].split()[1])
        if status >= 300:
            raise SystemExit(f"load_devices: {path} returned {status}: {answer.decode()}")
        return json.loads(answer) if answer else None

    async def close(self) -> None:
        """Close the connection."""
        self._writer.close()
        await self._writer.wait_closed()


class Fleet:
    """All devices, and the response times of the server."""

    def __init__(self, load: Load):
        self.load = load
        self.leases: list[float] = []
        self.reports: list[float] = []
        self.late = self.idle = 0
        self._begin = time.perf_counter()

    async def run(self) -> dict[str, Any]:
        """Run all devices concurrently; return the measurements."""
        self._begin = time.perf_counter()
        await asyncio.gather(*(self._device(number) for number in range(self.load.devices)))
        return {
            "events": len(self.leases) + len(self.reports),
            "events_per_second": round(
                (len(self.leases) + len(self.reports)) / self.load.seconds, 1
            ),
            "late_cycles": self.late,
            "leases_without_work": self.idle,
            "lease": spread(self.leases),
            "report": spread(self.reports),
        }

    async def _device(self, number: int) -> None:
        """Run cycles on schedule: report the last trial, lease the next."""
        load, draw, name = self.load, random.Random(number), f"load-{number}"
        connection = await Connection.open(load)
        await connection.post("/v1/devices", {"name": name, "kind": "none"})
        period = 2.0 * load.devices / load.pace
        due = period * number / load.devices  # spread evenly over the period
        lease: Any = None
        while due < load.warm_up + load.seconds:
            await self._until(due)
            if lease is not None:
                await self._report(connection, lease, draw, self.reports)
            began = time.perf_counter()
            lease = await connection.post(f"/v1/devices/{name}/lease", {"wait": LONGEST_WAIT})
            if lease is None:
                self.idle += 1
            elif self._counts(began):
                self.leases.append(time.perf_counter() - began)
            due += period
        if lease is not None:  # leave no trial running
            await self._report(connection, lease, draw, [])
        await connection.close()

    async def _report(
        self, connection: Connection, lease: Any, draw: random.Random, taken: list[float]
    ) -> None:
        """Report a score that depends mostly on the model."""
        quality = random.Random(lease["model"]).uniform(0.5, 0.9)
        body = {"fence": lease["fence"], "score": quality + draw.uniform(0.0, 0.1)}
        began = time.perf_counter()
        await connection.post(f"/v1/trials/{lease['trial']}/complete", body)
        if self._counts(began):
            taken.append(time.perf_counter() - began)

    async def _until(self, due: float) -> None:
        left = self._begin + due - time.perf_counter()
        if left > 0.0:
            await asyncio.sleep(left)
        elif left < -1.0:
            self.late += 1

    def _counts(self, moment: float) -> bool:
        return moment >= self._begin + self.load.warm_up


def spread(seconds: list[float]) -> dict[str, float]:
    """Return the median, 99th percentile and maximum in milliseconds."""
    ordered = sorted(seconds) or [0.0]

    def at(share: float) -> float:
        return round(1e3 * ordered[min(len(ordered) - 1, int(share * len(ordered)))], 2)

    return {"median_ms": at(0.5), "p99_ms": at(0.99), "max_ms": at(1.0)}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(Fleet(Load(**json.loads(sys.argv[1]))).run())))
