"""Servers, workers, tenants and the proxy between them, with operations that inject faults."""

import random
import time
from collections.abc import Sequence
from http.client import HTTPException
from pathlib import Path
from types import TracebackType
from typing import Any

from bentham.storage import open_log
from support.chaos.fleet import (
    TENANTS,
    Caller,
    QuickWorker,
    RealWorker,
    Tenants,
    write_prior,
    write_table,
)
from support.chaos.judge import Verdict, judge, pages
from support.chaos.ledger import Ledger
from support.chaos.proxy import Proxy
from support.chaos.server import Command, Instance, Zygote
from support.ports import free_port

UP_SECONDS = 60.0  # long, for a busy machine
END_SECONDS = 90.0
SNAPSHOT_KILLS = 10
WARM = 150


class Arena:
    """One chaos run: a database, its servers, a fleet, and the ledger of responses.

    Learning takes most of the time of a run; without `learned`, the prior is fixed.
    """

    def __init__(
        self,
        zygote: Zygote,
        folder: Path,
        database: str | None,
        seed: int,
        *,
        lease: float = 1.0,
        instances: int = 1,
        learned: bool = True,
    ):
        self.zygote, self.folder, self.database, self.lease = zygote, folder, database, lease
        self.random = random.Random(seed)
        self._prior = None if learned else write_prior(folder / "prior.json")
        self.ledger = Ledger()
        self.instances = [self._instance(number) for number in range(instances)]
        self.proxy = Proxy([each.port for each in self.instances], self.ledger, seed)
        self.quick: list[QuickWorker] = []
        self.real: list[RealWorker] = []
        self.tenants: Tenants | None = None
        self._snapshot: Command | None = None
        self._device_token = ""
        self._admin: Caller | None = None

    def _instance(self, number: int) -> Instance:
        arguments: list[object] = ["--data", self.folder / f"data-{number}"]
        arguments += ["--lease", self.lease, "--heartbeat", self.lease * 0.3]
        if self._prior is not None:
            arguments += ["--prior", self._prior]
        if self.database is not None:
            arguments += ["--database", self.database]
        port = free_port()
        return Instance(self.zygote, arguments, port, self.folder / f"serve-{number}.log")

    def __enter__(self) -> "Arena":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        callers = [*self.quick, *([self.tenants] if self.tenants else [])]
        for caller in callers:
            caller.stop.set()
        self.proxy.close()
        for worker in self.real:
            worker.kill()
        for instance in self.instances:
            instance.end()
        for caller in callers:
            caller.join()
        if self._admin is not None:
            self._admin.close()

    @property
    def server(self) -> Instance:
        """The first server; in most scenarios the only one."""
        return self.instances[0]

    @property
    def kills(self) -> int:
        """How often a server was killed."""
        return sum(instance.kills for instance in self.instances)

    # -- before the faults

    @property
    def admin(self) -> Caller:
        """A caller with the admin token, which also goes through the proxy."""
        if self._admin is None:
            files = [self.folder / f"data-{n}" / "admin.token" for n in range(len(self.instances))]
            token = next(file for file in files if file.exists()).read_text().strip()
            self._admin = Caller(self.proxy.port, token, self.random.getrandbits(32))
        return self._admin

    def open(self, quick: int, real: Sequence[int] = ()) -> None:
        """Start tenants and workers once a server is up; `real` gives devices per process."""
        self._await_ready()
        for tenant in TENANTS:
            assert self.admin.post("/v1/tenants", {"name": tenant})[0] == 201
        status, token = self.admin.post("/v1/tokens", {"role": "device"})
        assert status == 201, token
        self._device_token = token["secret"]
        self.tenants = Tenants(
            self.proxy.port, self.admin.token, self.ledger, self.random.getrandbits(32)
        )
        for number in range(quick):
            seed = self.random.getrandbits(32)
            self.quick.append(
                QuickWorker(f"quick-{number}", self.proxy.port, self._device_token, seed)
            )
        for devices in real:
            self.add_worker(devices)

    def add_worker(self, devices: int, scale: float = 0.05) -> RealWorker:
        """Start one more process of the real worker."""
        token, table = self.folder / "device.token", self.folder / "scores.csv"
        if not token.exists():
            token.touch(mode=0o600)
            token.write_text(self._device_token)
            write_table(table)
        arguments = [
            *("--server", f"http://127.0.0.1:{self.proxy.port}", "--token-file", token),
            *("--table", table, "--scale", scale, "--devices", devices),
        ]
        prefix = f"real-{len(self.real)}"
        worker = RealWorker(self.zygote, arguments, prefix, self.folder / f"{prefix}.log")
        self.real.append(worker)
        return worker

    def _await_ready(self) -> None:
        until = time.monotonic() + UP_SECONDS
        while True:
            caller = Caller(self.proxy.port, "", 0)
            try:
                caller.get("/readyz")
                return
            except (OSError, HTTPException, AssertionError):
                assert time.monotonic() < until, "no server was ready in time"
                time.sleep(0.02)
            finally:
                caller.close()

    # -- faults

    def kill_starting(self, times: int) -> None:
        """Kill a server while it starts: while it creates its tables or reads its log."""
        for _ in range(times):
            self.server.start()
            time.sleep(self.random.uniform(0.0, 0.3))
            self.server.kill()

    def warm_up(self) -> None:
        """Wait until the prior has been learned, and take a snapshot of it.

        At first the prior is fitted again with every score, so every server that reads the log
        repeats all these fits. It would then take longer to start than it lives.
        """
        if self._prior is not None:
            return
        assert self.ledger.await_count("complete", WARM, UP_SECONDS), "too few results"
        self.snapshot()
        self.await_snapshot()

    def kill_serving(self, times: int, max_requests: int = 40) -> None:
        """Kill the server under load, and start it again at once.

        Each kill comes a random few milliseconds after a random request, so that kills hit before,
        during and after commits; some hit the start. From time to time a snapshot is taken.
        """
        for number in range(times):
            if number % SNAPSHOT_KILLS == SNAPSHOT_KILLS // 2:
                self.snapshot()
            if self.random.random() < 0.05:
                time.sleep(self.random.uniform(0.0, 0.3))
            else:
                sent = self.proxy.watch(self.random.randint(4, max_requests))
                assert sent.wait(UP_SECONDS), "the server did not come back"
                time.sleep(self.random.uniform(0.0, 0.004))
            self.server.kill()
            self.server.start()

    def snapshot(self) -> None:
        """Start taking a snapshot in the background, after the previous one is done."""
        self.await_snapshot()
        log = self.folder / "snapshot.log"
        self._snapshot = self.zygote.start(["log", "snapshot", *self._database_options()], log)

    def await_snapshot(self) -> None:
        """Wait for the snapshot in progress, if any."""
        code = 0 if self._snapshot is None else self._snapshot.wait()
        assert code == 0, (self.folder / "snapshot.log").read_text()

    def _database_options(self) -> list[object]:
        options: list[object] = ["--data", self.folder / "data-0"]
        return options if self.database is None else [*options, "--database", self.database]

    # -- after the faults

    def finish(self, seconds: float = END_SECONDS) -> float:
        """Stop creating studies and wait until all work is done; return the time it took."""
        assert self.tenants is not None
        began = time.monotonic()
        self.await_snapshot()
        self.tenants.join()
        self._await_ready()
        while self.admin.get("/v1/studies?state=open&limit=1")["items"]:
            assert time.monotonic() < began + seconds, "studies were still open at the timeout"
            time.sleep(0.05)
        took = time.monotonic() - began
        for worker in self.quick:
            worker.join()
        for real in self.real:
            assert real.drain() == 0, (self.folder / f"{real.prefix}.log").read_text()
        return took

    def trials(self) -> list[dict[str, Any]]:
        """All trials, as the live service shows them."""
        return list(pages(self.admin, "/v1/trials?limit=1000"))

    def judge(self) -> Verdict:
        """Check the log, the ledger and the live service; return the verdict."""
        log = open_log(self.database, self.folder / "data-0", must_exist=True)
        try:
            verdict = judge(log, self.ledger, self.admin)
        finally:
            log.close()
        output = self.folder / "replay.log"
        code = self.zygote.run(["log", "replay", "--json", *self._database_options()], output)
        verdict.demand(code == 0, f"decisions differ: {output.read_text()[-500:]}")
        for instance in self.instances:
            log_text = instance.log.read_text()
            verdict.demand("Traceback" not in log_text, f"a traceback in {instance.log}")
            verdict.demand("internal server error" not in log_text, f"an error in {instance.log}")
        return verdict
