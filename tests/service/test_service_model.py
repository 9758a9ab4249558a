"""The HTTP API against a simple model: random requests in random order, with restarts.

The model is a few dicts, independent of the service. It cannot predict which arm is picked, but it
knows which arms are allowed, the content of every response, and the final state.
"""

from dataclasses import dataclass, field
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)
from support.service_app import Places, Service
from support.service_exchange import Answer

from bentham.service.fold.pool import Pool
from bentham.service.views.audit import verify

ATTEMPTS, LEASE = 3, 30.0
MODELS = ("m0", "m1", "m2")
TENANTS = ("red", "blue")
DEVICES = ("d0", "d1", "d2")


@dataclass
class ModelStudy:
    tenant: str
    dataset: str
    models: tuple[str, ...]
    limit: int | None
    state: str = "open"
    by_request: bool = False  # whether it was closed by request
    counts: dict[str, int] = field(
        default_factory=lambda: {"running": 0, "complete": 0, "failed": 0, "lost": 0}
    )
    best: float | None = None

    @property
    def full(self) -> bool:
        return self.limit is not None and (
            self.counts["running"] + self.counts["complete"] + self.counts["failed"] >= self.limit
        )


@dataclass
class ModelTrial:
    lease: Any
    deadline: float
    state: str = "running"
    score: float | None = None


class Machine(RuleBasedStateMachine):
    """Drives the service and its model side by side."""

    def __init__(self, places: Places):
        super().__init__()
        self.service = Service(places.new())
        self.clock = self.service.clock
        self.studies: dict[str, ModelStudy] = {}
        self.arms: dict[tuple[str, str, str], tuple[str, int, float | None]] = {}
        self.devices: dict[str, str | None] = {}
        self.trials: dict[str, ModelTrial] = {}
        self.limits: dict[str, int | None] = dict.fromkeys(TENANTS)
        self.requests: list[tuple[str, Any, str, str, Answer]] = []
        self.fences = 0

    @initialize()
    def begin(self) -> None:
        self.tokens = {name: self.service.tenant(name) for name in TENANTS}
        self.runner = self.service.token("device")
        for name in DEVICES:
            self.register(name)
        self.create(TENANTS[0], "x", list(MODELS), None)

    def teardown(self) -> None:
        self.service.stop()
        log = self.service._make_log()
        records, pool = list(log.read()), Pool()
        log.close()
        self.service.close()
        assert [found for found in verify(records, pool) if found is not None] == []
        states = {name: trial.state for name, trial in pool.trials.items()}
        assert states == {name: trial.state for name, trial in self.trials.items()}

    # -- the model

    def post(self, path: str, body: Any, token: str) -> Answer:
        key = f"key {len(self.requests)}"
        response = self.service.post(path, body, token, key=key)
        self.requests.append((path, body, token, key, response))
        return response

    def listed(self, tenant: str, dataset: str) -> list[ModelStudy]:
        return [s for s in self.studies.values() if (s.tenant, s.dataset) == (tenant, dataset)]

    def end(self, name: str, state: str, arm: str, score: float | None = None) -> None:
        trial = self.trials[name]
        study, model = self.studies[trial.lease["study"]], trial.lease["model"]
        trial.state, trial.score = state, score
        study.counts["running"] -= 1
        study.counts[state] += 1
        self.devices[trial.lease["device"]] = None
        arm_key = (study.tenant, study.dataset, model)
        losses = self.arms[arm_key][1] + (arm == "attempt")
        if arm == "attempt":
            arm = "failed" if losses >= ATTEMPTS else "untried"
        self.arms[arm_key] = (arm, losses, score)
        for other in self.listed(study.tenant, study.dataset):
            counts = other.state != "closed" or other is study
            if score is not None and model in other.models and counts:
                other.best = score if other.best is None else max(score, other.best)
        for other in self.listed(study.tenant, study.dataset):
            self.close_if_done(other)

    def close_if_done(self, study: ModelStudy) -> None:
        done = study.counts["complete"] + study.counts["failed"]
        states = [self.arm(study, model)[0] for model in study.models]
        over = (study.limit is not None and done >= study.limit) or all(
            state in ("observed", "failed") for state in states
        )
        if over and study.state != "closed":
            study.state, study.by_request = "closed", False

    def arm(self, study: ModelStudy, model: str) -> tuple[str, int, float | None]:
        return self.arms.get((study.tenant, study.dataset, model), ("untried", 0, None))

    def candidates(self) -> set[tuple[str, str, str]]:
        """Return the arms that may run now."""
        running = dict.fromkeys(TENANTS, 0)
        for study in self.studies.values():
            running[study.tenant] += study.counts["running"]
        return {
            (study.tenant, study.dataset, model)
            for study in self.studies.values()
            if study.state == "open" and not study.full
            for limit in (self.limits[study.tenant],)
            if limit is None or running[study.tenant] < limit
            for model in study.models
            if self.arm(study, model)[0] == "untried"
        }

    def pass_time(self) -> None:
        expired = [n for n, t in self.trials.items()
                   if t.state == "running" and t.deadline <= self.clock.now]  # fmt: skip
        for name in sorted(expired, key=lambda name: self.trials[name].deadline):
            self.end(name, "lost", "attempt")

    # -- the requests

    @rule(
        tenant=st.sampled_from(TENANTS), dataset=st.sampled_from("xy"),
        models=st.lists(st.sampled_from(MODELS), min_size=1, unique=True),
        limit=st.sampled_from([None, 1, 2]),
    )  # fmt: skip
    def create(self, tenant: str, dataset: str, models: list[str], limit: int | None) -> None:
        name = f"study {len(self.studies)}"
        body = {"name": name, "models": models, "dataset": dataset, "stop": {"trials": limit}}
        shown = self.post("/v1/studies", body, self.tokens[tenant]).ok(201)
        study = self.studies[shown["id"]] = ModelStudy(tenant, dataset, tuple(models), limit)
        known = [self.arm(study, model)[2] for model in models]
        study.best = max((score for score in known if score is not None), default=None)
        self.close_if_done(study)
        self.check_study(shown)

    @rule(device=st.sampled_from(DEVICES))
    def register(self, device: str) -> None:
        running = self.devices.get(device)
        shown = self.post("/v1/devices", {"name": device}, self.runner).ok(201)
        if running is not None:
            self.end(running, "lost", "attempt")
        self.devices[device] = None
        assert (shown["state"], shown["trial"]) == ("idle", None)

    @rule(device=st.sampled_from(DEVICES))
    def leave(self, device: str) -> None:
        response = self.post(f"/v1/devices/{device}/leave", None, self.runner)
        if device not in self.devices:
            response.refused(404)
            return
        running = self.devices.pop(device)
        if running is not None:
            self.end(running, "lost", "attempt")
            self.devices.pop(device)
        response.ok()

    @rule(device=st.sampled_from(DEVICES))
    def lease(self, device: str) -> None:
        allowed = self.candidates()
        response = self.post(f"/v1/devices/{device}/lease", {}, self.runner)
        if device not in self.devices:
            response.refused(404)
        elif self.devices[device] is not None:
            response.refused(409)
        elif not allowed:
            assert (response.status, response.body) == (204, b"")
        else:
            lease = response.ok()
            arm_key = (lease["tenant"], lease["dataset"], lease["model"])
            assert arm_key in allowed
            _, losses, score = self.arms.get(arm_key, ("untried", 0, None))
            assert (lease["fence"], lease["attempt"]) == (self.fences, losses + 1)
            self.fences += 1
            self.arms[arm_key] = ("running", losses, score)
            self.studies[lease["study"]].counts["running"] += 1
            self.devices[device] = lease["trial"]
            self.trials[lease["trial"]] = ModelTrial(lease, self.clock.now + LEASE)

    @precondition(lambda self: self.trials)
    @rule(
        data=st.data(),
        action=st.sampled_from(["complete", "complete", "fail", "release", "heartbeat"]),
        score=st.integers(0, 8), wrong=st.sampled_from([0, 0, 0, 0, 1]), final=st.booleans(),
    )  # fmt: skip
    def report(self, data: Any, action: str, score: int, wrong: int, final: bool) -> None:
        name = data.draw(st.sampled_from(sorted(self.trials)[-4:]))
        trial = self.trials[name]
        body: dict[str, Any] = {"fence": trial.lease["fence"] + wrong}
        if action == "complete":
            body["score"] = score / 8.0
        elif action == "fail":
            body["final"] = final
        response = self.post(f"/v1/trials/{name}/{action}", body, self.runner)
        again = action == "complete" and trial.state == "complete" and trial.score == score / 8.0
        if wrong or (trial.state != "running" and not again):
            response.refused(409)
            return
        shown = response.ok()
        if again:
            return
        if action == "heartbeat":
            trial.deadline = self.clock.now + LEASE
            return
        if action == "complete":
            self.end(name, "complete", "observed", score / 8.0)
        elif action == "fail":
            self.end(name, "failed", "failed" if final else "attempt")
        else:
            self.end(name, "lost", "untried")
        assert (shown["state"], shown["score"]) == (trial.state, trial.score)

    @precondition(lambda self: self.studies)
    @rule(data=st.data(), action=st.sampled_from(["pause", "resume", "close", "reopen"]))
    def change_state(self, data: Any, action: str) -> None:
        name = data.draw(st.sampled_from(list(self.studies)))
        study = self.studies[name]
        response = self.post(f"/v1/studies/{name}/{action}", None, self.tokens[study.tenant])
        arms = [self.arm(study, model) for model in study.models]
        if action == "reopen":
            allowed = study.state == "closed" and any(state == "untried" for state, *_ in arms)
        else:
            allowed = study.state != "closed" or action == "close"
        if not allowed:
            response.refused(409)
            return
        states = {"pause": "paused", "resume": "open", "close": "closed", "reopen": "open"}
        study.by_request |= action == "close" and study.state != "closed"
        study.state = states[action]
        if action == "reopen":
            study.limit = study.limit if study.by_request else None
            study.best = max((score for *_, score in arms if score is not None), default=study.best)
        if action == "resume":
            self.close_if_done(study)
        self.check_study(response.ok())

    @rule(tenant=st.sampled_from(TENANTS), limit=st.sampled_from([None, 0, 1, 2]))
    def limit(self, tenant: str, limit: int | None) -> None:
        body = {"limits": {"running_trials": limit}}
        self.service.request("PATCH", f"/v1/tenants/{tenant}", body).ok()
        self.limits[tenant] = limit

    @rule(seconds=st.sampled_from([1.0, 10.0, 31.0]))
    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.service.get("/v1/overview")
        self.pass_time()

    @rule()
    def restart(self) -> None:
        self.service.restart()
        for trial in self.trials.values():
            if trial.state == "running":
                trial.deadline = self.clock.now + LEASE  # every lease starts again in full

    @precondition(lambda self: self.requests)
    @rule(data=st.data())
    def retry(self, data: Any) -> None:
        path, body, token, key, first = data.draw(st.sampled_from(self.requests[-12:]))
        if path.endswith(("lease", "complete", "fail", "release")) and first.status == 200:
            second = self.service.post(path, body, token, key=key)
            if path.endswith("complete") and second.body != first.body:
                raise AssertionError((first, second))
            assert (second.status, second.body) == (200, first.body)
        elif path == "/v1/studies":
            second = self.service.post(path, body, token, key=key).ok(201)
            assert second["id"] == first.json["id"]
            self.service.post(path, {**body, "name": "other"}, token, key=key).refused(422)

    @rule()
    def check_all(self) -> None:
        for shown in self.service.get("/v1/studies", query="limit=1000")["items"]:
            self.check_study(shown)
        shown_devices = self.service.get("/v1/devices")["items"]
        assert {each["name"]: each["trial"] for each in shown_devices} == self.devices
        trials = self.service.get("/v1/trials", query="limit=1000")["items"]
        assert {each["id"]: (each["state"], each["score"]) for each in trials} == {
            name: (trial.state, trial.score) for name, trial in self.trials.items()
        }

    def check_study(self, shown: Any) -> None:
        study = self.studies[shown["id"]]
        untried = sum(self.arm(study, model)[0] == "untried" for model in study.models)
        best = None if shown["incumbent"] is None else shown["incumbent"]["score"]
        assert (shown["state"], shown["trials"], shown["untried"], best) == (
            study.state, study.counts, untried, study.best,
        )  # fmt: skip


def test_the_service_agrees_with_the_model(places: Places) -> None:
    examples = {"memory": 25, "sqlite": 6, "postgres": 6}[places.kind]
    run_state_machine_as_test(
        lambda: Machine(places),  # type: ignore[arg-type]
        settings=settings(
            max_examples=examples, stateful_step_count=40, deadline=None, derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )  # fmt: skip
