"""Datasets and studies over them through the service: uploads, sharing, scripts, records."""

import hashlib
from typing import Any

import pytest
from service_app import FLOWERS, Service, serving

from bentham.core import SharedPrior
from bentham.service.events import PoolCreated

CSV = {"content-type": "text/csv"}


def over(service: Service, token: str, name: str = "a", **more: Any) -> Any:
    """A study over the flowers, of two candidates unless told otherwise."""
    dataset = service.dataset(token)
    data = {"dataset": dataset["id"], "target": "kind", **more.pop("data", {})}
    body = {"name": name, "data": data, "candidates": 2, **more}
    return service.post("/v1/studies", body, token).ok(201)


def test_an_upload_is_a_dataset_with_its_columns(service: Service) -> None:
    lab = service.tenant("lab")
    made = service.dataset(lab, "flowers.csv")
    assert made["tenant"] == "lab"
    assert made["hash"] == hashlib.sha256(FLOWERS).hexdigest()
    assert [(each["name"], each["type"]) for each in made["columns"]] == [
        ("length", "number"), ("width", "number"), ("kind", "category"),
    ]  # fmt: skip
    assert (made["rows"], made["bytes"]) == (40, len(FLOWERS))
    assert service.get(f"/v1/datasets/{made['id']}", lab) == made
    content = service.request("GET", f"/v1/datasets/{made['id']}/content", token=lab)
    assert content.body == FLOWERS
    assert service.get("/v1/datasets", lab)["items"] == [{**made, "columns": []}]


def test_the_same_upload_again_changes_nothing_and_another_by_that_name_is_refused(
    service: Service,
) -> None:
    lab = service.tenant("lab")
    made = service.dataset(lab)
    head = service.pool.sequence
    assert service.dataset(lab) == made
    assert service.pool.sequence == head
    service.post(
        "/v1/datasets", FLOWERS + b"1,1,small\n", lab, query="name=flowers.csv", headers=CSV
    ).refused(409, "other content")


@pytest.mark.parametrize(
    ("content", "headers", "status", "why"),
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
def test_what_is_no_dataset_is_refused_with_the_reason(
    service: Service, content: bytes, headers: dict[str, str], status: int, why: str
) -> None:
    lab = service.tenant("lab")
    head = service.pool.sequence
    answer = service.post("/v1/datasets", content, lab, query="name=x", headers=headers)
    assert why in answer.refused(status)["detail"]
    assert service.pool.sequence == head
    assert service.get("/v1/datasets", lab)["items"] == []


def test_who_may_not_upload_is_told_before_anything_is_read(service: Service) -> None:
    runner = service.token("device")
    service.post("/v1/datasets", FLOWERS, runner, query="name=x", headers=CSV).refused(403)
    lab = service.tenant("lab")
    service.post("/v1/datasets", FLOWERS, lab, query="name=x&tenant=art", headers=CSV).refused(404)


def test_an_operators_dataset_is_everybodys(service: Service) -> None:
    lab, art = service.tenant("lab"), service.tenant("art")
    made = service.dataset("", "installed.csv")
    assert made["tenant"] == ""
    for token in (lab, art):
        assert service.get(f"/v1/datasets/{made['id']}", token) == made
        service.request("DELETE", f"/v1/datasets/{made['id']}", token=token).refused(409)
        data = {"dataset": "installed.csv", "target": "kind"}
        body = {"name": "over installed data", "data": data, "candidates": 1}
        service.post("/v1/studies", body, token).ok(201)
    runner = service.device()
    # Nobody learns from another's trial, though the data is the same.
    assert len(service.run_all(runner, "gpu", lambda _: 0.5)) == 2


def test_studies_over_the_same_data_share_their_trials(service: Service) -> None:
    lab = service.tenant("lab")
    first = over(service, lab, "first")
    same = service.dataset(lab, "the same by another name.csv")
    body = {"name": "second", "data": {"dataset": same["id"], "target": "kind"}, "candidates": 2}
    second = service.post("/v1/studies", body, lab).ok(201)
    other = over(service, lab, "other", data={"split": {"kind": "folds", "seed": 1}})
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


def test_a_lease_says_what_to_train_and_its_device_gets_the_data(service: Service) -> None:
    lab = service.tenant("lab")
    study = over(service, lab, metric="balanced-accuracy")
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


def test_progress_is_seen_while_a_trial_runs_and_its_log_when_it_was_kept(service: Service) -> None:
    lab = service.tenant("lab")
    over(service, lab)
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
    assert service.pool.sequence == head  # none of it is worth a line in the log
    service.report(runner, lease, score=0.75, scores=[0.5, 0.625, 0.75]).ok()
    shown = service.get(path, lab)
    assert (shown["progress"], shown["scores"]) == (None, [0.5, 0.625, 0.75])
    assert service.request("GET", f"{path}/log", token=lab).body == b"epoch 1\n"


def test_everything_is_there_after_a_restart() -> None:
    with serving() as service:
        lab = service.tenant("lab")
        study = over(service, lab)
        runner = service.device()
        lease = service.lease(runner)
        service.clock.advance(2.0)
        service.report(runner, lease, score=0.5, metrics={"accuracy": 0.6}).ok()
        own = f"/v1/studies/{study['id']}"
        seen = [own, f"{own}/record", f"{own}/candidates", "/v1/datasets", "/v1/costs"]
        before = [service.get(path, lab) for path in seen]
        script = service.request("GET", f"/v1/studies/{study['id']}/script", token=lab).body
        service.restart()
        assert [service.get(path, lab) for path in seen] == before
        again = service.request("GET", f"/v1/studies/{study['id']}/script", token=lab).body
        assert again == script
        lease = service.lease(runner)
        got = service.request("GET", f"/v1/trials/{lease['trial']}/data", token=runner)
        assert got.body == FLOWERS


@pytest.mark.parametrize(
    ("change", "why"),
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
def test_a_study_that_cannot_be_is_refused_with_the_remedy(
    service: Service, change: dict[str, Any], why: str
) -> None:
    lab = service.tenant("lab")
    dataset = service.dataset(lab)
    head = service.pool.sequence
    data = {"dataset": dataset["id"], "target": "kind", **change.pop("data", {})}
    answer = service.post("/v1/studies", {"name": "a", "data": data, **change}, lab)
    assert why in answer.refused(422)["detail"]
    assert service.pool.sequence == head


def test_data_and_models_do_not_mix(service: Service) -> None:
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


def test_a_dataset_in_use_stays_and_one_that_is_dropped_is_gone(service: Service) -> None:
    lab = service.tenant("lab")
    study = over(service, lab)
    dataset = service.get("/v1/datasets", lab)["items"][0]
    path = f"/v1/datasets/{dataset['id']}"
    service.request("DELETE", path, token=lab).refused(409, "close it first")
    service.post(f"/v1/studies/{study['id']}/close", None, lab).ok()
    twin = service.dataset(service.tenant("art"))
    service.request("DELETE", path, token=lab).ok()
    service.request("GET", path, token=lab).refused(404)
    # Another tenant's content is the same, and stays.
    kept = service.request("GET", f"/v1/datasets/{twin['id']}/content", token="")
    assert kept.body == FLOWERS
    files = service.app.state.context.intake.files
    assert files.keys("data/") == [f"data/art/{twin['hash']}"]
    assert service.dataset(lab)["id"] != dataset["id"]


def test_a_model_keeps_its_meaning_when_the_catalogue_changes(service: Service) -> None:
    lab = service.tenant("lab")
    over(service, lab, "before", candidates=1)
    name, known = next(iter(service.pool.descriptions.items()))
    service.pool.descriptions[name] = type(known)(known.algorithm, {"other": 1}, known.kin)
    after = over(service, lab, "after", candidates=1)
    shown = service.get(f"/v1/studies/{after['id']}/candidates", lab)["items"]
    assert shown[0]["model"].startswith(f"{name}-")
    assert shown[0]["configuration"] == dict(known.configuration)


def test_costs_are_compared_with_what_was_predicted(service: Service) -> None:
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


def test_a_table_of_many_columns_is_read_whole(service: Service) -> None:
    lab = service.tenant("lab")
    names = [f"a column with a rather long name, number {place}" for place in range(2000)]
    rows = [",".join(f'"{name}"' for name in names)]
    rows += [",".join(str(row + place) for place in range(2000)) for row in range(12)]
    made = service.dataset(lab, "wide.csv", "\n".join(rows).encode())
    assert [column["name"] for column in made["columns"]] == names
    assert (made["width"], len(made["columns"])) == (2000, 2000)
    # A list of many such would be long: it leaves the columns out.
    assert service.get("/v1/datasets", lab)["items"] == [{**made, "columns": []}]
    # Nor does a name that is not there take long to refuse.
    body = {"name": "a", "data": {"dataset": made["id"], "target": names[0][:-1] + "x"}}
    service.post("/v1/studies", body, lab).refused(422, "has no column")


def test_what_is_too_much_is_refused_before_anything_is_kept(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = service.tenant("lab")
    files = service.app.state.context.intake.files
    for limit, value, why in (
        ("MOST_DATASETS_OF_TENANT", 1, "most that are possible"),
        ("MOST_BYTES_OF_TENANT", 1500, "MiB"),
        ("MOST_COLUMNS_OF_TENANT", 5, "columns in all"),
    ):
        service.dataset(lab, "first.csv")
        with monkeypatch.context() as patch:
            patch.setattr(f"bentham.service.commands_datasets.{limit}", value)
            more = FLOWERS + b"9,9,small\n" * 100
            answer = service.post("/v1/datasets", more, lab, query="name=second", headers=CSV)
            answer.refused(409, why)
        assert len(files.keys("data/")) == 1


def test_nobodys_uploads_keep_others_from_theirs(service: Service) -> None:
    lab, art = service.tenant("lab"), service.tenant("art")
    slow = [
        service.begin("POST", "/v1/datasets", b"", lab, query=f"name={n}", headers=CSV, open=True)
        for n in range(4)
    ]
    service.until(lambda: service.app.state.context.intake._uploads.total() == 4)
    service.post("/v1/datasets", FLOWERS, lab, query="name=x", headers=CSV).refused(429)
    service.dataset(art)
    for upload in slow:
        upload.hang_up()
        service.finish(upload).refused(422, "broken off")
    service.dataset(lab)


def test_what_a_crash_left_is_cleared_up_when_an_instance_leads() -> None:
    with serving() as service:
        lab = service.tenant("lab")
        made = service.dataset(lab)
        files = service.app.state.context.intake.files
        files.save(f"data/lab/{'0' * 64}", [b"left by an upload that was cut off"])
        files.save("log/t_0", [b"printed"])
        service.restart()
        files = service.app.state.context.intake.files
        service.until(lambda: len(files.keys("data/")) == 1)
        assert files.keys("data/") == [f"data/lab/{made['hash']}"]
        assert files.keys("log/") == ["log/t_0"]


def test_data_that_a_trial_trains_on_stays_and_logs_go_with_the_data(service: Service) -> None:
    lab = service.tenant("lab")
    study = over(service, lab)
    runner = service.device()
    lease = service.lease(runner)
    path = f"/v1/trials/{lease['trial']}"
    log = {"token": runner, "query": f"fence={lease['fence']}"}
    service.request("PUT", f"{path}/log", b"a value of the data", **log).ok(204)
    service.post(f"/v1/studies/{study['id']}/close", None, lab).ok()
    dataset = f"/v1/datasets/{service.get('/v1/datasets', lab)['items'][0]['id']}"
    service.request("DELETE", dataset, token=lab).refused(409, "wait until it ended")
    service.report(runner, lease, score=0.5).ok()
    service.request("DELETE", dataset, token=lab).ok()
    service.request("GET", f"{path}/log", token=lab).refused(404)


def test_a_closed_studys_record_ends_where_its_best_does(service: Service) -> None:
    lab = service.tenant("lab")
    first, second = over(service, lab, "first"), over(service, lab, "second")
    runner = service.device()
    lease = service.lease(runner)
    service.clock.advance(1.0)
    service.report(runner, lease, score=0.5).ok()
    service.post(f"/v1/studies/{first['id']}/close", None, lab).ok()
    service.clock.advance(1.0)
    assert len(service.run_all(runner, "gpu", lambda _: 0.9)) == 1
    for study, best in ((first, 0.5), (second, 0.9)):
        shown = service.get(f"/v1/studies/{study['id']}", lab)
        assert shown["incumbent"]["score"] == best
        record = service.get(f"/v1/studies/{study['id']}/record", lab)["items"]
        assert record[-1]["best"] == best


def test_equal_splits_are_the_same_and_each_study_names_its_own_data(service: Service) -> None:
    lab = service.tenant("lab")
    one = over(service, lab, "one", data={"split": {"kind": "folds", "share": 0.25}})
    two = over(service, lab, "two", data={"split": {"kind": "folds", "share": 0.3}})
    assert one["dataset"] == two["dataset"]
    renamed = service.dataset(lab, "by another name.csv")
    body = {"name": "three", "data": {"dataset": renamed["id"], "target": "kind"}}
    three = service.post("/v1/studies", body, lab).ok(201)
    assert three["dataset"] == one["dataset"]
    assert (one["data"], three["data"]) == ("flowers.csv", "by another name.csv")
    assert three["training"]["dataset"] == renamed["id"]
    assert {**three["training"], "name": "", "dataset": ""} == {
        **one["training"], "name": "", "dataset": "",
    }  # fmt: skip


def test_models_of_closed_studies_count_no_longer(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bentham.service.commands_studies.MOST_MODELS_OF_TENANT", 4)
    lab = service.tenant("lab")
    study = service.study(lab, "a", {f"m{model}": 1.0 for model in range(4)})
    more = {"name": "b", "models": ["x", "y"]}
    service.post("/v1/studies", more, lab).refused(409, "models in all")
    service.post(f"/v1/studies/{study}/close", None, lab).ok()
    service.post("/v1/studies", more, lab).ok(201)


def test_names_without_end_leave_room_for_the_catalogue(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bentham.service.commands_studies.MOST_MODELS", 3)
    lab, art = service.tenant("lab"), service.tenant("art")
    service.study(art, "a", 3)
    service.post("/v1/studies", {"name": "b", "models": ["x"]}, lab).refused(409, "models")
    over(service, lab, "c")


def test_what_the_scheduler_refuses_leaves_nothing() -> None:
    prior = SharedPrior(["m0"], [0.5], [[0.1]]).describe()
    with serving(first=PoolCreated("mdmt", "none", 0, 3, 1.0, prior)) as service:
        lab = service.tenant("lab")
        dataset = service.dataset(lab)
        head = service.pool.sequence
        body = {"name": "a", "data": {"dataset": dataset["id"], "target": "kind"}}
        service.post("/v1/studies", body, lab).refused(422)
        assert service.pool.sequence == head
        assert (service.pool.descriptions, service.pool.tenants["lab"].trained_columns) == ({}, 0)


def test_a_model_that_no_device_can_run_fails_and_one_that_another_can_is_left_to_it(
    service: Service,
) -> None:
    lab = service.tenant("lab")
    service.study(lab, "a", {"m0": 1.0})
    poor, rich = service.device("poor"), service.device("rich")
    for _ in range(3):
        lease = service.lease(poor, "poor")
        service.report(poor, lease, "release", reason="not installed here", unable=True).ok()
    lease = service.lease(rich, "rich")
    shown = service.report(rich, lease, "release", reason="nor here", unable=True).ok()
    assert (shown["state"], shown["reason"]) == ("failed", "nor here")
    assert service.lease(poor, "poor") is None
    assert service.get("/v1/studies", lab)["items"][0]["reason"] == "every model failed"
