"""`make soak`: run the fault injections of tests/support/chaos; exit code 1 on a violation.

SOAK=sqlite,leaders make soak          run only these
KILLS=100 SEED=7 make soak             fewer server kills per database, another random seed
"""

import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from support.chaos.arena import Arena
from support.chaos.fires import (
    disturb_network,
    kill_and_freeze_workers,
    kill_database,
    kill_leaders,
    kill_servers,
)
from support.chaos.judge import Verdict
from support.chaos.server import Zygote
from support.postgres import PostgresServer

ROUND = 100  # kills between checks; each round uses a new database
LEASE, FROZEN = 30.0, 60.0
TAKEOVER_SECONDS = 10.0


class Soak:
    """Runs fault injections one after the other, and collects their results."""

    def __init__(self, zygote: Zygote, kills: int, seed: int):
        self.zygote, self.kills, self.seed = zygote, kills, seed
        self.verdict = Verdict()
        self.killed = {"servers": 0, "databases": 0}
        self.takeover = 0.0
        self._postgres: PostgresServer | None = None

    @property
    def postgres(self) -> PostgresServer:
        """The PostgreSQL server, started on first use."""
        if self._postgres is None:
            self._postgres = PostgresServer()
            self._postgres.start()
        return self._postgres

    def close(self) -> None:
        """Stop PostgreSQL if it was started."""
        if self._postgres is not None:
            self._postgres.stop()

    def sqlite(self) -> None:
        """Kill the server with kill -9, on SQLite."""
        self._kill_servers(lambda: None)

    def postgresql(self) -> None:
        """Kill the server with kill -9, on PostgreSQL."""
        self._kill_servers(self.postgres.fresh)

    def _kill_servers(self, database: Callable[[], str | None]) -> None:
        for done in range(0, self.kills, ROUND):
            self._run(database(), partial(kill_servers, kills=min(ROUND, self.kills - done)))

    def workers(self) -> None:
        """Kill workers, and freeze them for twice their lease."""
        self._run(None, lambda arena: kill_and_freeze_workers(arena, 2, FROZEN), lease=LEASE)

    def network(self) -> None:
        """Delay, cut and repeat network traffic."""
        self._run(None, lambda arena: disturb_network(arena, 3000))
        self._run(self.postgres.fresh(), lambda arena: disturb_network(arena, 3000))

    def database(self) -> None:
        """Kill PostgreSQL itself."""
        self._run(self.postgres.fresh(), lambda arena: kill_database(arena, self.postgres, 20))
        self.killed["databases"] += 20

    def leaders(self) -> None:
        """Kill or freeze the leader of two instances."""

        def inject(arena: Arena) -> None:
            longest = kill_leaders(arena, 10)
            print(f"  longest takeover: {longest}", flush=True)
            self.takeover = max(self.takeover, *longest.values())

        self._run(self.postgres.fresh(), inject, instances=2)

    def _run(
        self,
        database: str | None,
        inject: Callable[[Arena], object],
        lease: float = 1.0,
        instances: int = 1,
    ) -> None:
        began = time.monotonic()
        self.seed += 1
        with tempfile.TemporaryDirectory(prefix="bentham-soak-") as folder:
            arena = Arena(
                self.zygote, Path(folder), database, self.seed, lease=lease, instances=instances
            )
            try:
                with arena:
                    inject(arena)
                    verdict = arena.judge()
            except AssertionError as error:  # also raised for a response that a worker must not get
                verdict = Verdict([f"seed {self.seed}: {error}"])
            self.killed["servers"] += arena.kills
        self.verdict.add(verdict)
        print(
            f"  {arena.kills} kills, {verdict.acknowledged} acknowledged, "
            f"{verdict.unanswered} committed without response, "
            f"{len(verdict.violations)} violations, {time.monotonic() - began:.0f} s",
            *verdict.violations[:5],
            sep="\n  ! ",
            flush=True,
        )


FAULTS: dict[str, Callable[[Soak], None]] = {
    "sqlite": Soak.sqlite,
    "postgresql": Soak.postgresql,
    "workers": Soak.workers,
    "network": Soak.network,
    "database": Soak.database,
    "leaders": Soak.leaders,
}


def main() -> int:
    """Run the fault injections, and print the result."""
    names = os.environ.get("SOAK") or ",".join(FAULTS)
    unknown = set(names.split(",")) - set(FAULTS)
    if unknown:
        print(f"soak: SOAK is {names}; choose from {', '.join(FAULTS)}", file=sys.stderr)
        return 2
    began = time.monotonic()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that all processes are stopped
    with Zygote() as zygote:
        kills, seed = int(os.environ.get("KILLS", "1000")), int(os.environ.get("SEED", "1000"))
        soak = Soak(zygote, kills, seed)
        try:
            for name in names.split(","):
                print(f"{name}: {FAULTS[name].__doc__}", flush=True)
                FAULTS[name](soak)
        finally:
            soak.close()
    verdict = soak.verdict
    if soak.takeover > TAKEOVER_SECONDS:
        verdict.violations.append(f"a takeover took {soak.takeover:.1f} s")
    summary = {
        "kills": soak.killed["servers"],
        "database_kills": soak.killed["databases"],
        "acknowledged": verdict.acknowledged,
        "lost": verdict.lost,
        "duplicated": verdict.duplicated,
        "committed_unheard": verdict.unanswered,
        "keys_forgotten_after": verdict.repeat_distances,
        "studies": verdict.studies,
        "trials": verdict.trials,
        "events": verdict.events,
        "longest_takeover_seconds": round(soak.takeover, 2),
        "duration_seconds": round(time.monotonic() - began),
        "violations": verdict.violations,
    }
    print(json.dumps(summary))
    return 1 if verdict.violations else 0


if __name__ == "__main__":
    sys.exit(main())
