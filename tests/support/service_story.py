"""A random sequence of requests to a service that covers everything that can happen to it."""

from typing import Any

import numpy as np

from bentham.service.engine.leases import Leases, Terms
from bentham.service.fold.pool import Pool
from bentham.service.views.entities import (
    candidate_views,
    dataset_view,
    device_view,
    study_view,
    tenant_view,
    token_view,
    trial_view,
)
from support.service_app import Service
from support.service_exchange import Answer

HISTORY = b"study,model,score,cost\nold,m0,0.4,2\nold,m1,0.7,3\nolder,m1,0.2,\nolder,m2,0.3,9\n"
TENANTS = ("red", "green", "blue")


class Story:
    """Acts at random; the same seed gives the same actions, whatever ids the service assigns."""

    def __init__(self, service: Service, seed: int):
        self._service, self._random = service, np.random.default_rng(seed)
        self.tokens = {name: service.tenant(name, weight=1.0 + place)
                       for place, name in enumerate(TENANTS)}  # fmt: skip
        self.runner = service.token("device")
        self.leases: dict[str, Any] = {}
        self.studies: list[tuple[str, str]] = []
        self._count = 0
        self.requests: list[tuple[str, Any, str | None, str, Answer]] = []
        for number in range(4):
            self._post("/v1/devices", {"name": f"device-{number}"}, self.runner)
            self.create()

    def go_on(self, steps: int) -> None:
        actions = [
            self.create, self.register, self.lease, self.lease, self.lease, self.complete,
            self.complete, self.complete, self.fail, self.release, self.expire_leases, self.pause,
            self.resume, self.change_weight, self.limit, self.leave, self.import_history,
            self.close, self.reopen,
        ]  # fmt: skip
        chances = np.array([4, 2, 6, 6, 6, 5, 5, 5, 2, 1, 1, 1, 3, 1, 1, 0.5, 0.3, 0.2, 0.4])
        for _ in range(steps):
            self._service.clock.advance(float(self._random.choice([0.0, 0.5, 1.0, 5.0])))
            actions[self._random.choice(len(actions), p=chances / chances.sum())]()

    def _post(self, path: str, body: Any, token: str) -> Answer:
        self._count += 1
        key = f"story {self._count}"
        answer = self._service.post(path, body, token, key=key)
        assert answer.status < 500, answer
        self.requests.append((path, body, token, key, answer))
        return answer

    def _any(self, choices: Any) -> Any:
        return choices[self._random.integers(len(choices))]

    def create(self) -> None:
        tenant = self._any(TENANTS)
        models = [f"m{model}" for model in range(6) if self._random.random() < 0.6] or ["m0"]
        body: dict[str, Any] = {
            "name": f"study {len(self.studies)}",
            "models": models,
            "dataset": f"data{self._random.integers(3)}",
            "weight": float(self._any([0.5, 1.0, 4.0])),
        }
        if self._random.random() < 0.4:
            body["stop"] = self._any(
                [{"trials": 2}, {"cost": 9.0}, {"expected_gain": 0.02},
                 {"deadline": self._service.clock.now + 40.0}]
            )  # fmt: skip
        answer = self._post("/v1/studies", body, self.tokens[tenant])
        self.studies.append((tenant, answer.ok(201)["id"]))

    def register(self) -> None:
        name = f"device-{self._random.integers(4)}"
        self._post("/v1/devices", {"name": name, "kind": self._any(["", "fast"])}, self.runner)
        self.leases.pop(name, None)

    def lease(self) -> None:
        name = f"device-{self._random.integers(4)}"
        answer = self._post(f"/v1/devices/{name}/lease", {}, self.runner)
        if answer.status == 200:
            self.leases[name] = answer.json

    def _report(self, action: str, **more: Any) -> None:
        if self.leases:
            lease = self.leases.pop(self._any(sorted(self.leases)))
            body = {"fence": lease["fence"], **more}
            self._post(f"/v1/trials/{lease['trial']}/{action}", body, self.runner)

    def complete(self) -> None:
        self._report("complete", score=float(np.round(self._random.random(), 6)))

    def fail(self) -> None:
        self._report("fail", reason="no luck", final=bool(self._random.random() < 0.3))

    def release(self) -> None:
        self._report("release")

    def expire_leases(self) -> None:
        self._service.clock.advance(31.0)
        self._service.get("/v1/devices")

    def _change_state(self, action: str) -> None:
        if self.studies:
            tenant, study = self._any(self.studies)
            self._post(f"/v1/studies/{study}/{action}", None, self.tokens[tenant])

    def pause(self) -> None:
        self._change_state("pause")

    def resume(self) -> None:
        self._change_state("resume")

    def close(self) -> None:
        self._change_state("close")

    def reopen(self) -> None:
        self._change_state("reopen")

    def change_weight(self) -> None:
        self._change({"weight": float(self._any([0.25, 1.0, 3.0]))})

    def limit(self) -> None:
        self._change(self._any([
            {"limits": {"running_trials": 1}}, {"limits": {"device_seconds_per_day": 60.0}},
            {"limits": {}},
        ]))  # fmt: skip

    def _change(self, body: Any) -> None:
        self._service.request("PATCH", f"/v1/tenants/{self._any(TENANTS)}", body).ok()

    def leave(self) -> None:
        name = f"device-{self._random.integers(4)}"
        self._post(f"/v1/devices/{name}/leave", None, self.runner)
        self.leases.pop(name, None)

    def import_history(self) -> None:
        self._service.post("/v1/history", HISTORY).ok()


def picture(pool: Pool) -> dict[str, Any]:
    """The complete state of a pool as plain data: pools with equal pictures behave the same."""
    now, leases = pool.time, Leases(Terms())
    return {
        "sequence": pool.sequence,
        "time": pool.time,
        "tenants": [tenant_view(tenant, now + 1.0) for tenant in pool.tenants.values()],
        "events": [tenant.events for tenant in pool.tenants.values()],
        "tokens": [token_view(token) for token in pool.tokens.values()],
        "hashes": [token.hash for token in pool.tokens.values()],
        "studies": [study_view(pool, study, now) for study in pool.studies.values()],
        "candidates": [candidate_views(pool, study) for study in pool.studies.values()],
        "datasets": [dataset_view(dataset) for dataset in pool.datasets.values()],
        "devices": [device_view(device, leases) for device in pool.devices.values()],
        "departed": [device_view(device, leases) for device in pool.departed.values()],
        "trials": [trial_view(trial, leases) for trial in pool.trials.values()],
        "fences": [(trial.id, trial.number, trial.sequence) for trial in pool.trials.values()],
        "running": list(pool.running),
        "history": pool.history,
        "keys": {actor: list(noted.items()) for actor, noted in pool.keys._noted.items()},
        "barred": pool.barred(now),
        "deadlines": pool.deadlines,
        "ended": [pool.throughput.ended(now, minutes) for minutes in (1, 10, 60)],
        "lost": pool.leases_lost,
        "served": list(pool.scheduler.studies),
        "scheduler": pool.scheduler.devices,
        "patience": pool.scheduler.patience,
    }
