"""Fitted models and looks at models: requests, trials of their own, limits, files, restarts."""

import hashlib
from typing import Any

import pytest
from support.service_app import Service

from bentham.service.fold import handlers

pytestmark = pytest.mark.outside

FILE = b"PK a fitted model, which the server never opens"
VERSIONS = "&version=python%3D%3D3.12.1&version=numpy%3D%3D2.3.0"
LOOK = {
    "rows": 40,
    "confusion": {"classes": ["large", "small"], "merged": 0, "counts": [[19, 1], [0, 20]]},
    "thresholds": {"positive": "small", "rows": 40, "points": [[0.5, 0.95, 1.0, 0.05]]},
    "importance": {
        "rows": 40, "score": 0.9, "columns": [["length", 0.4, 0.3, 0.5]], "omitted": 0,
        "unmeasured": ["width"], "unmeasured_count": 1,
    },
}  # fmt: skip


@pytest.fixture
def lab(service: Service) -> str:
    return service.tenant("lab")


@pytest.fixture
def device(service: Service) -> str:
    return service.device()


@pytest.fixture
def study(service: Service, lab: str, device: str) -> str:
    """A study with one scored model, and one that was not tried."""
    made: str = service.data_study(lab, algorithms=["decision-tree"], candidates=3)["id"]
    service.report(device, service.lease(device), score=0.9, look=LOOK).ok()
    return made


def ask(service: Service, token: str, study: str, **body: Any) -> Any:
    return service.post(f"/v1/studies/{study}/fitted", body, token)


def upload(service: Service, token: str, lease: Any, content: bytes = FILE) -> Any:
    query = f"fence={lease['fence']}{VERSIONS}"
    return service.request(
        "PUT", f"/v1/trials/{lease['trial']}/model", content, token=token, query=query
    )


def fitted(service: Service, token: str, study: str) -> Any:
    return service.get(f"/v1/studies/{study}/fitted", token)


def download(service: Service, token: str, study: str) -> Any:
    return service.request("GET", f"/v1/studies/{study}/fitted/file", token=token)


def files(service: Service) -> list[str]:
    return sorted(key for key in service._database.files if key.startswith("fitted/"))


def test_a_fit_is_a_trial_of_its_own(service: Service, lab: str, device: str, study: str) -> None:
    before = service.get(f"/v1/studies/{study}", lab)
    candidates = service.get(f"/v1/studies/{study}/candidates", lab)
    asked = ask(service, lab, study).ok()
    assert (asked["state"], asked["reason"]) == ("waiting", "waiting for a device")
    assert ask(service, lab, study).ok() == asked
    for _ in range(2):  # with a key, too
        assert service.post(f"/v1/studies/{study}/fitted", {}, lab, key="once").ok() == asked
    service.clock.advance(10.0)
    lease = service.lease(device)
    assert lease["purpose"] == "fit"
    assert (lease["model"], lease["recorded"]) == (before["incumbent"]["model"], 0.9)
    assert fitted(service, lab, study)["state"] == "running"
    assert service.get(f"/v1/trials/{lease['trial']}", lab)["purpose"] == "fit"
    service.report(device, lease, score=0.99).refused(409, "upload the file of the model")
    service.clock.advance(4.0)
    service.report(device, lease, "heartbeat").ok()
    ended = upload(service, device, lease).ok()
    assert (ended["state"], ended["score"]) == ("complete", None)
    assert upload(service, device, lease).ok() == ended  # a repeat, whose body is not read
    shown = fitted(service, lab, study)
    assert shown["state"] == "ready"
    assert shown["hash"] == hashlib.sha256(FILE).hexdigest()
    assert shown["versions"] == ["python==3.12.1", "numpy==2.3.0"]
    assert ask(service, lab, study).ok() == shown
    answer = download(service, lab, study)
    assert answer.body == FILE
    assert answer.headers["content-disposition"] == 'attachment; filename="a.pyz"'
    # No decision, belief, count or stop rule has changed; the tenant pays for the time.
    assert service.get(f"/v1/studies/{study}", lab) == before
    assert service.get(f"/v1/studies/{study}/candidates", lab) == candidates
    assert service.get("/v1/tenants/lab", lab)["device_seconds_today"] == 4.0
    service.request("GET", f"/v1/decisions/{lease['trial']}", token=lab).refused(404, "no decision")
    assert [each["id"] for each in service.get("/v1/trials", lab)["items"]] != [lease["trial"]]
    service.restart()
    assert fitted(service, lab, study) == shown
    assert download(service, lab, study).body == FILE
    assert service.lease(device)["purpose"] == "score"


def test_what_is_no_zip_is_refused(service: Service, lab: str, device: str, study: str) -> None:
    ask(service, lab, study).ok()
    lease = service.lease(device)
    for content in (b"", b"P", b"not a model"):
        upload(service, device, lease, content).refused(422, "a zip file")
    assert files(service) == []
    upload(service, device, lease).ok()


def test_lost_and_failed_fits_are_tried_again_up_to_the_limit(
    service: Service, lab: str, device: str, study: str
) -> None:
    ask(service, lab, study).ok()
    first = service.lease(device)
    service.clock.advance(31.0)
    assert fitted(service, lab, study)["state"] == "waiting"
    upload(service, device, first).refused(409, "lost (the lease ran out)")
    service.clock.advance(31.0)
    second = service.lease(device)
    assert (second["purpose"], second["attempt"]) == ("fit", 2)
    service.restart()  # a running fit gets a full lease
    service.clock.advance(29.0)
    service.report(device, second, "heartbeat").ok()
    service.report(device, second, "fail", reason="the disk is full").ok()
    assert fitted(service, lab, study)["reason"] == "waiting for a device"
    service.clock.advance(100.0)
    third = service.lease(device)
    service.report(device, third, "fail", reason="out of memory", final=True).ok()
    shown = fitted(service, lab, study)
    assert (shown["state"], shown["reason"]) == ("failed", "out of memory")
    assert service.lease(device)["purpose"] == "score"
    assert ask(service, lab, study).ok()["state"] == "waiting"
    assert files(service) == []


def test_a_device_that_is_unable_is_not_asked_again(
    service: Service, lab: str, device: str, study: str
) -> None:
    ask(service, lab, study).ok()
    other = service.device("cpu")
    lease = service.lease(device)
    service.report(device, lease, "release", reason="not installed", unable=True).ok()
    assert service.lease(device)["purpose"] == "score"
    lease = service.lease(other, "cpu")
    assert (lease["purpose"], lease["attempt"]) == ("fit", 1)
    service.report(other, lease, "release", reason="not installed", unable=True).ok()
    assert fitted(service, lab, study)["state"] == "failed"


def test_a_tenant_has_one_fit_at_a_time_and_limits_hold(
    service: Service, lab: str, device: str, study: str
) -> None:
    second = service.data_study(lab, "b", data={"split": {"seed": 3}})["id"]
    model = service.get(f"/v1/studies/{second}/candidates", lab)["items"][0]["model"]
    ask(service, lab, study).ok()
    ask(service, lab, second, model=model).ok()
    others = [service.device(name) for name in ("cpu-1", "cpu-2")]
    lease = service.lease(device)
    assert lease["purpose"] == "fit"
    assert service.lease(others[0], "cpu-1")["purpose"] == "score"
    assert fitted(service, lab, second)["reason"] == "another model of the tenant is being fitted"
    service.clock.advance(20.0)
    upload(service, device, lease).ok()
    # The next one comes after a pause as long as the last one took.
    service.clock.advance(19.0)
    scoring = service.lease(device)
    assert scoring["purpose"] == "score"
    service.clock.advance(2.0)
    limits = {"limits": {"running_trials": 1}}
    service.request("PATCH", "/v1/tenants/lab", limits).ok()
    assert fitted(service, lab, second)["reason"] == "the tenant is at its limit of running trials"
    assert service.lease(others[1], "cpu-2") is None
    service.request("PATCH", "/v1/tenants/lab", {"limits": {}}).ok()
    assert service.lease(others[1], "cpu-2")["purpose"] == "fit"
    service.clock.advance(1000.0)
    assert fitted(service, lab, second)["reason"].startswith("no device is alive")


def test_what_cannot_be_fitted_is_refused(service: Service, lab: str) -> None:
    named = service.study(lab, "named")
    ask(service, lab, named).refused(409, "does not train on a dataset")
    made = service.data_study(lab)
    ask(service, lab, made["id"]).refused(409, "no model of the study has a score yet")
    ask(service, lab, made["id"], model="best").refused(404, "lists no model 'best'")
    ask(service, service.tenant("other"), made["id"]).refused(404, "no study")
    service.request("GET", f"/v1/studies/{made['id']}/fitted", token=lab).refused(
        404, "ask for one"
    )
    download(service, lab, made["id"]).refused(409, "is ready")
    service.post(f"/v1/studies/{made['id']}/close", {}, lab).ok()
    service.request("DELETE", f"/v1/datasets/{made['training']['dataset']}", token=lab).ok()
    model = service.get(f"/v1/studies/{made['id']}/candidates", lab)["items"][0]["model"]
    ask(service, lab, made["id"], model=model).refused(409, "dataset was dropped")


def test_files_are_replaced_and_dropped(
    service: Service, lab: str, device: str, study: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = [
        each["model"] for each in service.get(f"/v1/studies/{study}/candidates", lab)["items"]
    ]
    for model in models:
        ask(service, lab, study, model=model).ok()
        upload(service, device, service.lease(device)).ok()
    assert len(files(service)) == 1  # of the model asked for last
    shown = fitted(service, lab, study)
    assert shown["model"] == models[-1]
    monkeypatch.setattr(handlers, "MOST_FITTED", 1)
    second = service.data_study(lab, "b", data={"split": {"seed": 3}})["id"]
    model = service.get(f"/v1/studies/{second}/candidates", lab)["items"][0]["model"]
    ask(service, lab, second, model=model).ok()
    upload(service, device, service.lease(device)).ok()
    assert files(service) == [f"fitted/lab/{fitted(service, lab, second)['trial']}"]
    service.request("GET", f"/v1/studies/{study}/fitted", token=lab).refused(404, "ask for one")
    for each in (study, second):
        service.post(f"/v1/studies/{each}/close", {}, lab).ok()
    dataset = service.get(f"/v1/studies/{second}", lab)["training"]["dataset"]
    service.request("DELETE", f"/v1/datasets/{dataset}", token=lab).ok()
    assert files(service) == []


def test_only_looks_at_the_best_are_kept(
    service: Service, lab: str, device: str, study: str
) -> None:
    best = service.get(f"/v1/studies/{study}/best", lab)
    assert (best["score"], best["look"], best["fitted"]) == (0.9, LOOK, None)
    lease = service.lease(device)
    assert lease["look_above"] == 0.9
    head = service.pool.sequence
    service.report(device, lease, score=0.8, look=LOOK).ok()
    record = next(iter(service.engine.log.read(after=head)))
    assert "look" not in record.body
    assert service.get(f"/v1/studies/{study}/best", lab) == best
    service.restart()
    assert service.get(f"/v1/studies/{study}/best", lab) == best
    # A better model without a look: that of another model must not be shown for it.
    service.report(device, service.lease(device), score=0.95).ok()
    best = service.get(f"/v1/studies/{study}/best", lab)
    assert (best["score"], best["look"]) == (0.95, None)


@pytest.mark.parametrize(
    "change",
    [
        {"rows": -1},
        {"rows": 1.5},
        {"extra": 1},
        {"confusion": {"classes": ["a"], "merged": 0, "counts": [[1, 2]]}},
        {"confusion": {"classes": [], "merged": 1, "counts": [[1]]}},
        {"confusion": {"classes": ["\x00"], "merged": 0, "counts": [[1]]}},
        {"thresholds": {"positive": "a", "rows": 1, "points": [[0.0, 2.0, 0.0, 0.0]]}},
        {"residuals": {"quantiles": [[0.5, 1e400]], "sample": []}},
        {"residuals": {"quantiles": [], "sample": [[1.0]]}},
        {"residuals": {"quantiles": [], "sample": [[1.0, 2.0]] * 201}},
        {"importance": {**LOOK["importance"], "columns": [["\u2603" * 80, 1, 1, 1]] * 50}},  # type: ignore[dict-item]
    ],
)
def test_a_hostile_look_is_refused(
    service: Service, lab: str, device: str, change: dict[str, Any]
) -> None:
    service.data_study(lab)
    lease = service.lease(device)
    service.report(device, lease, score=0.5, look={**LOOK, **change}).refused(422)
    service.report(device, lease, score=0.5).ok()
