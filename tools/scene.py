"""Three hours of a busy pool, for screenshots: a real server with a simulated clock.

Six tenants, forty studies over real datasets and eight devices. The decisions are the service's
own; scores and durations are those of the bundled table `oboe`, with times scaled to minutes. The
first study of each tenant is on an uploaded file, with candidates of the catalogue; one of these
studies is trained for real, so that it has a look at its best model.
Studies arrive one after the other, some trials fail and some devices are lost. At the end the clock
switches to real time, so that the screenshots show the present.
"""

import heapq
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from support.boards import Board

from bentham.service.engine.leases import Terms
from bentham.tables import load_table
from bentham.training.training_plan import TrainingPlan
from bentham.training.trial import Job, train

HOURS, DEVICES, STUDIES = 3.0, 8, 40
SECONDS = 60.0  # simulated seconds per second of the table
SHORTEST, LONGEST = 25.0, 1500.0
TENANTS: dict[str, dict[str, Any]] = {
    "vision": {}, "speech": {}, "fraud": {"weight": 2.0}, "ads": {}, "robotics": {},
    "interns": {"limits": {"running_trials": 2}},
}  # fmt: skip
TRAINED = "fraud"  # the tenant whose file is trained on
FAILURES, LOSSES = 0.03, 0.01
# The file that each tenant uploads, and the column to predict.
FILES = {
    "vision": ("defects.csv", "defect"), "speech": ("calls.csv", "escalated"),
    "fraud": ("payments.csv", "disputed"), "ads": ("visits.csv", "bought"),
    "robotics": ("grips.csv", "slipped"), "interns": ("flats.csv", "rented"),
}  # fmt: skip
# The scores of `oboe`, as another metric for the files, and the score of a constant prediction.
METRIC, METRIC_OF_FILES, BASELINE = "balanced-accuracy", "roc-auc", 0.5


def table(target: str, rows: int = 1200) -> bytes:
    """Return a CSV file with ordinary columns, some of which the target depends on."""
    chance = np.random.default_rng(3)
    lines = [f"id,since,amount,region,items,rating,{target}"]
    for row in range(rows):
        amount, region, rating = 900 + 37 * row % 4100, row % 3, (row // 3) % 4
        likely = 0.9 * (amount > 3000) + 0.6 * (region == 2) + 0.5 * (rating == 3)
        positive = likely + 0.3 * chance.normal() > 1.2
        lines.append(
            f"{10_000 + row},{row % 28 + 1}.{row % 12 + 1}.2024,"
            f'"${amount:,}.50",{("north", "south", "west")[region]},'
            f"{1 + row * 7 % 9},{('4.5', '3', '2', '')[rating]},{('no', 'yes')[int(positive)]}"
        )
    return "\n".join(lines).encode() + b"\n"


class SceneClock:
    """A clock that shows the time it was set to, and real time after `set(None)`."""

    def __init__(self, now: float):
        self._now: float | None = now
        self._instant, self._since = now, time.monotonic()

    def time(self) -> float:
        """Return seconds since 1970."""
        return time.time() if self._now is None else self._now

    def instant(self) -> float:
        """Return a monotonic time, used for leases and decision times; it never stands still."""
        return self._instant + time.monotonic() - self._since

    def set(self, now: float | None) -> None:
        """Set the time of day; None switches to real time."""
        self._instant, self._since = max(self.instant(), now or time.time()), time.monotonic()
        self._now = now


class Scene:
    """The three hours, from the start to now."""

    def __init__(self) -> None:
        self._end = time.time()
        self._began = self._end - 3600.0 * HOURS
        self.clock = SceneClock(self._began)
        self.board = Board(self.clock, Terms(1e6, 1e5, 1e6, 1e6))
        self._chance = np.random.default_rng(7)
        table = load_table("oboe")
        complete = np.flatnonzero(~np.isnan(table.scores).any(axis=1))
        self._rows = self._chance.permutation(complete)[:STUDIES]
        self._columns = list(range(0, len(table.models), 9))
        self._table = table
        self._row_of: dict[str, int] = {}  # the table row of each study
        self._column_of: dict[str, int] = {}  # the table column of each model
        self.tokens: dict[str, str] = {}

    def play(self) -> None:
        """Run the three hours."""
        board, now = self.board, self._began
        for name, settings in TENANTS.items():
            self.tokens[name] = board.tenant(name, **settings)
        self._device = board.token("device")
        for number in range(DEVICES):
            board.device(f"gpu-{number}", self._device, "a100" if number < 4 else "t4")
        arrivals = [(self._began + max(0, each - 15) * 240.0, each) for each in range(STUDIES)]
        running: list[tuple[float, int, str, Any]] = []
        idle = [f"gpu-{number}" for number in range(DEVICES)]
        order = 0
        while now < self._end:
            while arrivals and arrivals[0][0] <= now:
                self._study(arrivals.pop(0)[1])
            for device in list(idle):
                lease = board.lease(self._device, device)
                if lease is not None:
                    idle.remove(device)
                    order += 1
                    heapq.heappush(running, (now + self._duration(lease), order, device, lease))
            upcoming = [running[0][0]] if running else []
            upcoming += [arrivals[0][0]] if arrivals else []
            now = min([*upcoming, self._end])
            self.clock.set(now)
            while running and running[0][0] <= now < self._end:
                _, _, device, lease = heapq.heappop(running)
                self._end_trial(device, lease)
                idle.append(device)
        self.clock.set(None)
        for *_, lease in running:
            body = {"fence": lease["fence"]}
            board.post(f"/v1/trials/{lease['trial']}/heartbeat", body, self._device).ok()

    def _study(self, number: int) -> None:
        tenant = list(TENANTS)[number % len(TENANTS)]
        row = int(self._rows[number])
        if number < len(TENANTS):
            study = self._data_study(tenant)
        else:
            models = [self._table.models[column] for column in self._columns]
            self._column_of.update(zip(models, self._columns, strict=True))
            name = self._table.studies[row].replace("openml-", "dataset ")
            study = self.board.study(
                self.tokens[tenant], name, models, dataset=name, rows=1000, metric=METRIC,
                floor=BASELINE,
            )  # fmt: skip
        self._row_of[study] = row

    def _data_study(self, tenant: str) -> str:
        board, token, (name, target) = self.board, self.tokens[tenant], FILES[tenant]
        dataset = board.dataset(token, name, table(target))
        body = {
            "name": f"{name.removesuffix('.csv')}: {target}",
            "data": {"dataset": dataset["id"], "target": target},
            "metric": METRIC_OF_FILES,
            "candidates": len(self._columns),
        }
        study: str = board.post("/v1/studies", body, token).ok(201)["id"]
        listed = board.get(f"/v1/studies/{study}/candidates", token)["items"]
        for each, column in zip(listed, self._columns, strict=True):
            self._column_of[each["model"]] = column
        return study

    def _duration(self, lease: Any) -> float:
        cost = self._table.costs[self._row_of[lease["study"]], self._column(lease)]
        return float(np.clip(SECONDS * cost, SHORTEST, LONGEST))

    def _column(self, lease: Any) -> int:
        return self._column_of[lease["model"]]

    def _end_trial(self, device: str, lease: Any) -> None:
        chance = self._chance.random()
        if chance < LOSSES:
            self.board.post(f"/v1/devices/{device}/leave", {}, self._device).ok()
            kind = "a100" if int(device[4:]) < 4 else "t4"
            self.board.device(device, self._device, kind)
        elif chance < LOSSES + FAILURES:
            self.board.report(self._device, lease, "fail", reason="out of memory: 2.1 of 2.0 GiB")
        else:
            if lease["tenant"] == TRAINED and lease["training"] is not None:
                report = _trained(lease)
            else:
                row = self._row_of[lease["study"]]
                report = {"score": float(self._table.scores[row, self._column(lease)])}
            self.board.report(self._device, lease, **report).ok()


def _trained(lease: Any) -> dict[str, Any]:
    """Train the model of a lease, and return what its device would report."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.csv"
        path.write_bytes(table(FILES[TRAINED][1]))
        job = Job(
            training=TrainingPlan(**lease["training"]),
            model=lease["model"],
            algorithm=lease["algorithm"],
            configuration=lease["configuration"],
            path=str(path),
            look_above=lease["look_above"],
        )
        found = train(job, lambda *_: None)
        look = {} if found.look is None else {"look": found.look()}
    return {"score": found.score, "metrics": found.metrics, "scores": found.scores, **look}
