"""Datasets of the service: limits, crashes, races and cleanup."""

import asyncio
import subprocess
from dataclasses import replace
from os import getpid
from pathlib import Path

import pytest
import structlog
from support.service_app import Service, serving
from support.service_cast import FLOWERS

from bentham.core import SharedPrior
from bentham.service.fold.events import PoolCreated
from bentham.service.jobs import uploads
from bentham.service.jobs.uploads import content_key

pytestmark = [
    pytest.mark.outside,
    pytest.mark.usefixtures("in_processes"),
]

CSV = {"content-type": "text/csv"}


def test_a_table_of_many_columns_is_read_completely(service: Service) -> None:
    lab = service.tenant("lab")
    names = [f"{'a column with a rather long name, ' * 5} number {place}" for place in range(400)]
    rows = [",".join(f'"{name}"' for name in names)]
    rows += [",".join(str(row + place) for place in range(400)) for row in range(12)]
    created = service.dataset(lab, "wide.csv", "\n".join(rows).encode())
    assert [column["name"] for column in created["columns"]] == names
    assert (created["width"], len(created["columns"])) == (400, 400)
    # Lists leave the columns out, which would be long.
    assert service.get("/v1/datasets", lab)["items"] == [{**created, "columns": []}]
    # An unknown column is refused quickly, although names are long and many.
    body = {"name": "a", "data": {"dataset": created["id"], "target": names[0][:-1] + "x"}}
    service.post("/v1/studies", body, lab).refused(422, "has no column")


def test_uploads_beyond_a_limit_are_refused(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = service.tenant("lab")
    files = service.app.state.context.service.intake.files
    for limit, value, reason in (
        ("MOST_DATASETS_OF_TENANT", 1, "already 1 datasets, the maximum"),
        ("MOST_BYTES_OF_TENANT", 1500, "MiB"),
        ("MOST_COLUMNS_OF_TENANT", 5, "columns in total"),
    ):
        service.dataset(lab, "first.csv")
        with monkeypatch.context() as patch:
            patch.setattr(f"bentham.service.commands.datasets.{limit}", value)
            more = FLOWERS + b"9,9,small\n" * 100
            response = service.post("/v1/datasets", more, lab, query="name=second", headers=CSV)
            response.refused(409, reason)
        assert len(files.keys("data/")) == 1


def test_uploads_of_one_tenant_do_not_block_others(service: Service) -> None:
    lab, art = service.tenant("lab"), service.tenant("art")
    slow = [
        service.begin("POST", "/v1/datasets", b"", lab, query=f"name={n}", headers=CSV, open=True)
        for n in range(4)
    ]
    service.until(lambda: service.app.state.context.service.intake._uploads.total() == 4)
    service.post("/v1/datasets", FLOWERS, lab, query="name=x", headers=CSV).refused(429)
    service.dataset(art)
    for upload in slow:
        upload.hang_up()
        service.finish(upload).refused(422, "interrupted")
    service.dataset(lab)


def test_a_new_leader_deletes_leftovers_of_a_crash() -> None:
    with serving() as service:
        lab = service.tenant("lab")
        created = service.dataset(lab)
        files = service.app.state.context.service.intake.files
        files.save(f"data/lab/{'0' * 64}", [b"left by an upload that was cut off"])
        files.save("log/t_0", [b"printed"])
        service.restart()
        files = service.app.state.context.service.intake.files
        service.until(lambda: len(files.keys("data/")) == 1)
        assert files.keys("data/") == [f"data/lab/{created['hash']}"]
        assert files.keys("log/") == ["log/t_0"]


def test_data_in_use_stays_and_logs_are_deleted_with_the_data(service: Service) -> None:
    lab = service.tenant("lab")
    study = service.data_study(lab)
    runner = service.device()
    lease = service.lease(runner)
    path = f"/v1/trials/{lease['trial']}"
    log = {"token": runner, "query": f"fence={lease['fence']}"}
    service.request("PUT", f"{path}/log", b"a value of the data", **log).ok(204)
    service.post(f"/v1/studies/{study['id']}/close", None, lab).ok()
    dataset = f"/v1/datasets/{service.get('/v1/datasets', lab)['items'][0]['id']}"
    service.request("DELETE", dataset, token=lab).refused(409, "wait until it ends")
    service.report(runner, lease, score=0.5).ok()
    service.request("DELETE", dataset, token=lab).ok()
    service.request("GET", f"{path}/log", token=lab).refused(404)


def test_the_record_of_a_closed_study_ends_with_its_best_score(service: Service) -> None:
    lab = service.tenant("lab")
    first, second = service.data_study(lab, "first"), service.data_study(lab, "second")
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


def test_equal_splits_share_arms_and_each_study_shows_its_own_data(service: Service) -> None:
    lab = service.tenant("lab")
    one = service.data_study(lab, "one", data={"split": {"kind": "folds", "share": 0.25}})
    two = service.data_study(lab, "two", data={"split": {"kind": "folds", "share": 0.3}})
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


def test_limits_on_model_names_do_not_affect_standard_models(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bentham.service.commands.studies.MOST_MODELS_OF_TENANT", 4)
    monkeypatch.setattr("bentham.service.commands.studies.MOST_MODELS", 6)
    lab, art = service.tenant("lab"), service.tenant("art")
    study = service.study(art, "a", {f"m{model}": 1.0 for model in range(4)})
    service.post(f"/v1/studies/{study}/close", None, art).ok()
    # Models of closed studies count too.
    service.post("/v1/studies", {"name": "b", "models": ["x"]}, art).refused(409, "in total")
    service.study(lab, "a", {"x": 1.0, "y": 1.0})
    # The limit is reached: names of another tenant are refused like unknown ones.
    refusals = {
        model: service.post("/v1/studies", {"name": "c", "models": [model]}, lab).refused(409)
        for model in ("m0", "nobodys")
    }
    assert len({refusal["detail"] for refusal in refusals.values()}) == 1
    for token in (lab, art):
        created = service.data_study(token, "standard", candidates=40)
        assert created["models"] == 40
    # Models beyond the standard candidates count toward the limit.
    body = {"dataset": "flowers.csv", "target": "kind"}
    more = {"name": "d", "data": body, "algorithms": ["random-forest"], "candidates": 300}
    service.post("/v1/studies", more, lab).refused(409)


def test_a_study_refused_by_the_scheduler_changes_nothing() -> None:
    prior = SharedPrior(["m0"], [0.5], [[0.1]]).describe()
    with serving(first=PoolCreated("mdmt", "none", 0, 3, 1.0, prior)) as service:
        lab = service.tenant("lab")
        dataset = service.dataset(lab)
        head = service.pool.sequence
        body = {"name": "a", "data": {"dataset": dataset["id"], "target": "kind"}}
        service.post("/v1/studies", body, lab).refused(422)
        assert service.pool.sequence == head
        assert (service.pool.descriptions, service.pool.tenants["lab"].trained_columns) == ({}, 0)


def test_a_model_fails_only_when_no_device_can_run_it(
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


def test_one_of_two_copies_can_be_dropped(service: Service) -> None:
    lab = service.tenant("lab")
    service.dataset("", "common.csv")
    own = service.dataset(lab, "own.csv")
    body = {"name": "a", "data": {"dataset": "common.csv", "target": "kind"}, "candidates": 1}
    study = service.post("/v1/studies", body, lab).ok(201)
    service.request("DELETE", f"/v1/datasets/{own['id']}", token=lab).ok()
    runner = service.device()
    lease = service.lease(runner)
    assert lease["study"] == study["id"]
    got = service.request("GET", f"/v1/trials/{lease['trial']}/data", token=runner)
    assert got.body == FLOWERS


def test_an_inspection_that_fails_is_logged_with_its_reason(
    service: Service, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lab, killed = service.tenant("lab"), tmp_path / "killed"
    killed.write_text("#!/bin/sh\nkill -9 $$\n")
    killed.chmod(0o700)
    with monkeypatch.context() as patch, structlog.testing.capture_logs() as lines:
        patch.setattr("sys.executable", str(killed))
        body = FLOWERS + b"\n"
        response = service.post("/v1/datasets", body, lab, query="name=x.csv", headers=CSV)
        response.refused(422, "ended without a result")
    (line,) = (line for line in lines if line["event"] == "an inspection failed")
    assert (line["tenant"], line["file"]) == ("lab", "x.csv")
    assert "SIGKILL" in line["reason"]


def test_a_full_disk_is_reported_and_blocks_no_later_upload(
    service: Service, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lab = service.tenant("lab")
    with monkeypatch.context() as patch:
        patch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
        for _ in range(5):
            response = service.post("/v1/datasets", FLOWERS, lab, query="name=x", headers=CSV)
            response.refused(503, "uploads cannot be accepted now")
    service.dataset(lab)


def test_upload_files_of_a_killed_server_are_deleted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    ended = subprocess.run(["sh", "-c", "echo $$"], capture_output=True, text=True).stdout.strip()
    leftover, own = (
        tmp_path / f"bentham-upload-{ended}-x",
        tmp_path / f"bentham-upload-{getpid()}-x",
    )
    unrelated = tmp_path / "bentham-upload-of-somebody"
    for path in (leftover, own, unrelated):
        path.write_text("data")
    with serving() as service:
        service.until(lambda: not leftover.exists())
        assert own.exists()
        assert unrelated.exists()


def test_data_added_during_cleanup_stays(service: Service) -> None:
    lab = service.tenant("lab")
    known = service.pool.datasets[service.dataset(lab)["id"]]
    running, added = service.app.state.context.service, replace(known, id="d_1", hash="1" * 64)
    intake = running.intake

    async def scenario() -> None:
        async with intake.keeping:
            cleanup = asyncio.create_task(running.drop_left_over())
            await asyncio.sleep(0.01)
            intake.files.save(content_key("lab", added.hash), [b"just uploaded"])
            service.pool.datasets["d_1"] = added
        await cleanup

    service.run(scenario())
    assert intake.files.size(content_key("lab", added.hash)) is not None


def test_an_inspection_that_waits_for_a_busy_machine_is_refused_as_such(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CPU time is what a file costs; the clock also runs while other processes do."""
    monkeypatch.setattr(uploads, "LONGEST_WAIT", 0.0)
    unlike = FLOWERS + b"7,7,small\n"  # so that it is inspected
    answer = service.post(
        "/v1/datasets", unlike, service.tenant("lab"), query="name=x", headers=CSV
    )
    answer.refused(422, "the server is too busy; try again later")
