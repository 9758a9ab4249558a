"""The service benchmarks run and print consistent numbers."""

import json

import pytest
from support.commands import Bentham

pytestmark = pytest.mark.outside


def test_cycles_are_counted(bentham: Bentham) -> None:
    done = bentham(
        "bench", "service", "--studies", 40, "--models", 50, "--seconds", 1, "--warm-up", 10,
        "--no-optuna", "--json",
    )  # fmt: skip
    assert done.code == 0, done.err
    result = json.loads(done.out)
    assert result["cycles"] > 0
    assert result["cycles_per_second"] * result["seconds"] == pytest.approx(
        result["cycles"], rel=0.1
    )
    assert 0.0 < result["lease_p50_ms"] <= result["lease_p99_ms"]
    assert result["optuna"] is None


def test_running_out_of_work_is_reported(bentham: Bentham) -> None:
    done = bentham(
        "bench", "service", "--studies", 2, "--models", 3, "--seconds", 60, "--no-optuna"
    )
    assert done.code == 2
    assert "give more studies or models" in done.err


def test_more_tenants_than_studies_are_refused(bentham: Bentham) -> None:
    done = bentham("bench", "intake", "--studies", 2, "--tenants", 3)
    assert done.code == 2
    assert "3 tenants cannot share 2 studies" in done.err


def test_intake_creates_all_studies(bentham: Bentham, monkeypatch: pytest.MonkeyPatch) -> None:
    # The server of the benchmark must ignore these variables, which are for another server.
    for name in ("BENTHAM_DATA", "BENTHAM_TOKEN_FILE", "BENTHAM_SERVER"):
        monkeypatch.setenv(name, "/dev/null/elsewhere")
    done = bentham(
        "bench", "intake", "--studies", 3, "--tenants", 2, "--candidates", 3, "--devices", 1,
        "--seconds", 1, "--json",
    )  # fmt: skip
    assert done.code == 0, done.err
    result = json.loads(done.out)
    assert result["create"]["count"] == 3
    assert result["database"] == "sqlite"


def test_a_snapshot_and_the_rest_of_the_log_give_the_same_state(bentham: Bentham) -> None:
    done = bentham("bench", "recovery", "--events", 1000, "--json")
    assert done.code == 0, done.err
    result = json.loads(done.out)
    assert result["equal"] is True
    assert result["events"] == 1000
    assert result["tail_events"] == 500
