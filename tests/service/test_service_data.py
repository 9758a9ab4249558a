"""Datasets and studies over them through the service: uploads, sharing, scripts, records."""

import hashlib
import json
from typing import Any

import pytest
from support.service_app import Service, serving
from support.service_cast import FLOWERS

from bentham import wire
from bentham.service.views.audit import export_lines

pytestmark = [
    pytest.mark.outside,
    pytest.mark.usefixtures("in_processes"),
]

CSV = {"content-type": "text/csv"}


def test_an_upload_creates_a_dataset_with_its_columns(service: Service) -> None:
    lab = service.tenant("lab")
    added = service.dataset(lab, "flowers.csv")
    assert added["tenant"] == "lab"
    assert added["hash"] == hashlib.sha256(FLOWERS).hexdigest()
    assert [(each["name"], each["type"]) for each in added["columns"]] == [
        ("length", "number"), ("width", "number"), ("kind", "category"),
    ]  # fmt: skip
    assert (added["rows"], added["bytes"]) == (40, len(FLOWERS))
    assert service.get(f"/v1/datasets/{added['id']}", lab) == added
    content = service.request("GET", f"/v1/datasets/{added['id']}/content", token=lab)
    assert content.body == FLOWERS
    assert service.get("/v1/datasets", lab)["items"] == [{**added, "columns": []}]


def test_a_repeated_upload_changes_nothing_and_other_content_is_refused(
    service: Service,
) -> None:
    lab = service.tenant("lab")
    added = service.dataset(lab)
    head = service.pool.sequence
    assert service.dataset(lab) == added
    assert service.pool.sequence == head
    service.post(
        "/v1/datasets", FLOWERS + b"1,1,small\n", lab, query="name=flowers.csv", headers=CSV
    ).refused(409, "other content")


def test_the_catalogue_and_the_metrics_are_listed(service: Service) -> None:
    lab = service.tenant("lab")
    algorithms = {each["name"]: each for each in service.get("/v1/algorithms", lab)["items"]}
    assert {"lightgbm", "xgboost", "svm"} < algorithms.keys()
    svm = algorithms["svm"]
    assert list(svm) == list(wire.Algorithm.model_fields)
    assert svm["space"]["C"] == "0.03 to 30, logarithmic"
    assert svm["space"]["gamma"] == 'one of "scale", 0.001, 0.01, 0.1'
    assert svm["configuration"] == {"C": 1.0, "gamma": "scale"}
    assert svm["tasks"] == ["classification", "regression"]
    assert svm["needs_data"] is True
    metrics = {each["name"]: each for each in service.get("/v1/metrics", lab)["items"]}
    assert metrics["rmse"] == {
        "name": "rmse",
        "aliases": ["root-mean-squared-error", "neg-root-mean-squared-error"],
        "task": "regression",
        "title": "root mean squared error",
        "score": "1 - loss / loss of predicting the mean of the training rows, both on the "
        "held-out rows; at least -1",
    }


@pytest.mark.parametrize(
    ("content", "headers", "status", "reason"),
    [
        (b"", CSV, 422, "empty"),
        (b"a,b\n1,2\n", CSV, 422, "row"),
        (b"a,a\n" + b"1,2\n" * 30, CSV, 422, "a"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", CSV, 422, ""),
        (FLOWERS, {"content-type": "application/json"}, 422, "text/csv"),
        (FLOWERS, {}, 422, "text/csv"),
        (b"not parquet", {"content-type": "application/vnd.apache.parquet"}, 422, "Parquet"),
    ],
)
def test_invalid_datasets_are_refused_with_the_reason(
    service: Service, content: bytes, headers: dict[str, str], status: int, reason: str
) -> None:
    lab = service.tenant("lab")
    head = service.pool.sequence
    response = service.post("/v1/datasets", content, lab, query="name=x", headers=headers)
    assert reason in response.refused(status)["detail"]
    assert service.pool.sequence == head
    assert service.get("/v1/datasets", lab)["items"] == []


def test_forbidden_uploads_are_refused(service: Service) -> None:
    runner = service.token("device")
    service.post("/v1/datasets", FLOWERS, runner, query="name=x", headers=CSV).refused(403)
    lab = service.tenant("lab")
    service.post("/v1/datasets", FLOWERS, lab, query="name=x&tenant=art", headers=CSV).refused(404)


def test_datasets_of_operators_are_shared_by_all_tenants(service: Service) -> None:
    lab, art = service.tenant("lab"), service.tenant("art")
    added = service.dataset("", "installed.csv")
    assert added["tenant"] == ""
    for token in (lab, art):
        assert service.get(f"/v1/datasets/{added['id']}", token) == added
        service.request("DELETE", f"/v1/datasets/{added['id']}", token=token).refused(409)
        data = {"dataset": "installed.csv", "target": "kind"}
        body = {"name": "over installed data", "data": data, "candidates": 1}
        service.post("/v1/studies", body, token).ok(201)
    runner = service.device()
    # Tenants do not share trials, although the data is the same.
    assert len(service.run_all(runner, "gpu", lambda _: 0.5)) == 2


def test_studies_over_the_same_data_share_their_trials(service: Service) -> None:
    lab = service.tenant("lab")
    first = service.data_study(lab, "first")
    same = service.dataset(lab, "the same by another name.csv")
    body = {"name": "second", "data": {"dataset": same["id"], "target": "kind"}, "candidates": 2}
    second = service.post("/v1/studies", body, lab).ok(201)
    other = service.data_study(lab, "other", data={"split": {"kind": "folds", "seed": 1}})
    assert first["dataset"] == second["dataset"] != other["dataset"]
    runner = service.device()
    leases = service.run_all(runner, "gpu", lambda _: 0.75)
    assert len(leases) == 4
    shown = [service.get(f"/v1/studies/{each['id']}", lab) for each in (first, second)]
    assert shown[0]["incumbent"] == shown[1]["incumbent"]
    records = [
        service.get(f"/v1/studies/{each['id']}/record", lab)["items"] for each in (first, second)
    ]
    assert [line["trial"] for line in records[0]] == [line["trial"] for line in records[1]]
    assert len(records[0]) == 2
    assert [line["device_seconds"] for line in records[1]] == [0.0, 0.0]


def test_a_lease_contains_the_plan_and_gives_access_to_the_data(service: Service) -> None:
    lab = service.tenant("lab")
    study = service.data_study(lab, metric="balanced-accuracy")
    runner = service.device()
    lease = service.lease(runner)
    training = lease["training"]
    assert (training["target"], training["task"]) == ("kind", "classification")
    assert training["metric"] == lease["metric"] == "balanced-accuracy"
    assert training["columns"] == {"length": "number", "width": "number"}
    assert lease["algorithm"] == lease["model"]  # the defaults come first
    assert lease["algorithm"] in service.catalog.algorithms
    got = service.request("GET", f"/v1/trials/{lease['trial']}/data", token=runner)
    assert got.body == FLOWERS
    service.report(runner, lease, score=0.5, metrics={"accuracy": 0.6}, scores=[0.4, 0.6]).ok()
    service.request("GET", f"/v1/trials/{lease['trial']}/data", token=runner).refused(409)
    best = service.get(f"/v1/studies/{study['id']}", lab)["incumbent"]
    assert best["configuration"] == lease["configuration"]
    assert (best["metrics"], best["trial"]) == ({"accuracy": 0.6}, lease["trial"])


def test_progress_and_log_of_a_trial(service: Service) -> None:
    lab = service.tenant("lab")
    service.data_study(lab)
    runner = service.device()
    lease = service.lease(runner)
    path = f"/v1/trials/{lease['trial']}"
    head = service.pool.sequence
    body = {"fence": lease["fence"], "progress": 0.4, "scores": [0.5, 0.625]}
    service.post(f"{path}/heartbeat", body, runner).ok()
    shown = service.get(path, lab)
    assert (shown["progress"], shown["scores"]) == (0.4, [0.5, 0.625])
    service.request("GET", f"{path}/log", token=lab).refused(404)
    service.request("PUT", f"{path}/log", b"epoch 1\n", token=runner, query="fence=999").refused(
        409
    )
    service.request(
        "PUT", f"{path}/log", b"epoch 1\n", token=runner, query=f"fence={lease['fence']}"
    ).ok(204)
    assert service.pool.sequence == head  # none of it is written to the log
    service.report(runner, lease, score=0.75, scores=[0.5, 0.625, 0.75]).ok()
    shown = service.get(path, lab)
    assert (shown["progress"], shown["scores"]) == (None, [0.5, 0.625, 0.75])
    assert service.request("GET", f"{path}/log", token=lab).body == b"epoch 1\n"


def test_a_restart_keeps_everything() -> None:
    with serving() as service:
        lab = service.tenant("lab")
        study = service.data_study(lab)
        runner = service.device()
        lease = service.lease(runner)
        service.clock.advance(2.0)
        service.report(runner, lease, score=0.5, metrics={"accuracy": 0.6}).ok()
        study_path = f"/v1/studies/{study['id']}"
        paths = [
            study_path,
            f"{study_path}/record",
            f"{study_path}/candidates",
            "/v1/datasets",
            "/v1/costs",
        ]
        before = [service.get(path, lab) for path in paths]
        script = service.request("GET", f"/v1/studies/{study['id']}/script", token=lab).body
        service.restart()
        assert [service.get(path, lab) for path in paths] == before
        script_after = service.request("GET", f"/v1/studies/{study['id']}/script", token=lab).body
        assert script_after == script
        lease = service.lease(runner)
        got = service.request("GET", f"/v1/trials/{lease['trial']}/data", token=runner)
        assert got.body == FLOWERS


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"data": {"target": "colour"}}, "colour"),
        ({"data": {"types": {"widht": "number"}}}, "width"),
        ({"metric": "r2"}, "r2"),
        ({"metric": "nonsense"}, "nonsense"),
        ({"algorithms": ["random-forrest"]}, "random-forest"),
        ({"algorithms": ["lasso"]}, "lasso"),
        ({"data": {"task": "regression"}}, "kind"),
    ],
)
def test_invalid_studies_are_refused_with_the_remedy(
    service: Service, change: dict[str, Any], reason: str
) -> None:
    lab = service.tenant("lab")
    dataset = service.dataset(lab)
    head = service.pool.sequence
    data = {"dataset": dataset["id"], "target": "kind", **change.pop("data", {})}
    response = service.post("/v1/studies", {"name": "a", "data": data, **change}, lab)
    assert reason in response.refused(422)["detail"]
    assert service.pool.sequence == head


def test_data_and_models_exclude_each_other(service: Service) -> None:
    lab = service.tenant("lab")
    dataset = service.dataset(lab)
    data = {"dataset": dataset["id"], "target": "kind"}
    for body in (
        {"data": data, "models": ["a"]},
        {"models": ["a"], "candidates": 3},
        {"data": data, "rows": 7},
        {},
    ):
        service.post("/v1/studies", {"name": "a", **body}, lab).refused(422)
    listed = {"name": "a", "models": ["a"], "dataset": "data:0123456789abcdef"}
    service.post("/v1/studies", listed, lab).refused(422)


def test_a_dataset_in_use_cannot_be_deleted(service: Service) -> None:
    lab = service.tenant("lab")
    study = service.data_study(lab)
    dataset = service.get("/v1/datasets", lab)["items"][0]
    path = f"/v1/datasets/{dataset['id']}"
    service.request("DELETE", path, token=lab).refused(409, "close it first")
    service.post(f"/v1/studies/{study['id']}/close", None, lab).ok()
    twin = service.dataset(service.tenant("art"))
    service.request("DELETE", path, token=lab).ok()
    service.request("GET", path, token=lab).refused(404)
    # The same content of another tenant stays.
    content = service.request("GET", f"/v1/datasets/{twin['id']}/content", token="")
    assert content.body == FLOWERS
    files = service.app.state.context.service.intake.files
    assert files.keys("data/") == [f"data/art/{twin['hash']}"]
    assert service.dataset(lab)["id"] != dataset["id"]


def test_a_model_keeps_its_meaning_when_the_catalogue_changes(service: Service) -> None:
    lab = service.tenant("lab")
    service.data_study(lab, "before", candidates=1)
    name, known = next(iter(service.pool.descriptions.items()))
    service.pool.descriptions[name] = type(known)(known.algorithm, {"other": 1}, known.kin)
    after = service.data_study(lab, "after", candidates=1)
    shown = service.get(f"/v1/studies/{after['id']}/candidates", lab)["items"]
    assert shown[0]["model"].startswith(f"{name}-")
    assert shown[0]["configuration"] == dict(known.configuration)


def test_predicted_and_actual_costs(service: Service) -> None:
    lab = service.tenant("lab")
    service.study(lab, "a", {f"m{model}": 10.0 for model in range(4)})
    runner = service.device(kind="cpu")
    for seconds in (10.0, 20.0, 10.0, 10.0):
        lease = service.lease(runner)
        predicted = lease["cost"]
        service.clock.advance(seconds)
        service.report(runner, lease, score=0.5).ok()
        assert predicted > 0.0
    found = service.get("/v1/costs", lab)
    assert (found["trials"], found["all"]["trials"]) == (4, 4)
    assert [each["group"] for each in found["kinds"]] == ["cpu"]
    assert [each["group"] for each in found["algorithms"]] == ["m0", "m1", "m2", "m3"]
    assert found["learning"][0]["group"] == "1-4"
    trials = service.get("/v1/trials", lab)["items"]
    ratios = sorted((each["ended"] - each["started"]) / each["cost"] for each in trials)
    assert ratios[0] <= found["all"]["median"] <= ratios[-1]
    within = sum(0.5 <= ratio <= 2.0 for ratio in ratios) / 4
    assert found["all"]["within_double"] == within
    assert service.get("/v1/costs", service.tenant("art"))["trials"] == 0


def test_the_log_contains_hashes_of_datasets_but_not_of_tokens(service: Service) -> None:
    added = service.dataset(service.tenant("lab"), "flowers.csv")
    records = service.get("/v1/log", query="limit=1000")["items"]
    exported = [json.loads(line) for line in export_lines(service._make_log().read())][1:]
    for shown in (records, exported):
        (event,) = (each["body"] for each in shown if each["kind"] == "dataset-added")
        assert event["hash"] == added["hash"] == hashlib.sha256(FLOWERS).hexdigest()
        issued = [each["body"] for each in shown if each["kind"] == "token-issued"]
        assert issued
        assert not any(each.get("hash") for each in issued)
