"""The benchmarks of the service run, and what they print adds up."""

import json

import pytest
from support.commands import Bentham


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


def test_nothing_left_to_run_is_said(bentham: Bentham) -> None:
    done = bentham(
        "bench", "service", "--studies", 2, "--models", 3, "--seconds", 60, "--no-optuna"
    )
    assert done.code == 2
    assert "give more studies or models" in done.err


def test_tenants_that_would_have_no_study_are_refused(bentham: Bentham) -> None:
    done = bentham("bench", "intake", "--studies", 2, "--tenants", 3)
    assert done.code == 2
    assert "3 tenants cannot share 2 studies" in done.err


def test_many_studies_are_taken_in(bentham: Bentham, monkeypatch: pytest.MonkeyPatch) -> None:
    # What the shell has set for another server is not meant for the one of a benchmark.
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


def test_a_snapshot_and_the_rest_of_the_log_come_to_the_same(bentham: Bentham) -> None:
    done = bentham("bench", "recovery", "--events", 3000, "--json")
    assert done.code == 0, done.err
    result = json.loads(done.out)
    assert result["equal"] is True
    assert result["events"] == 3000
    assert result["tail_events"] == 1500
