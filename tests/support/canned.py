"""Canned server responses, some with very long texts or with terminal control sequences."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.clients import DEVICE, TENANT, TOKEN
from support.servers import Canned

NOW = time.time()
LONG = "the quality of wine as judged by many people over many years, " * 3
STUDY: dict[str, Any] = {
    "id": "s_0000000000000001", "tenant": "vision", "name": "wine", "dataset": "wine",
    "metric": "accuracy", "state": "open", "reason": "", "weight": 1.0, "floor": 0.0,
    "rows": 1599, "columns": 11, "stop": {"trials": 40, "deadline": NOW + 1e5}, "created": NOW,
    "models": 4, "untried": 1, "device_seconds": 5000.0,
    "trials": {"running": 1, "complete": 1, "failed": 1, "lost": 0},
    "incumbent": {"model": "forest", "score": 0.93}, "gained": {"last_hour": 0.1, "last_day": 0.2},
}  # fmt: skip
CANDIDATE = dict.fromkeys(["score", "mean", "sigma", "cost", "expected_improvement", "rate"])
CANDIDATES = [
    {**CANDIDATE, "model": "broken", "state": "failed"},
    {**CANDIDATE, "model": "svm", "state": "untried", "mean": 0.8, "sigma": 0.1, "cost": 30.0,
     "expected_improvement": 0.01, "rate": 0.0003},
    {**CANDIDATE, "model": "[red]boosting[/]" * 9, "state": "running", "cost": 1e9},
    {**CANDIDATE, "model": "forest", "state": "observed", "score": 0.93, "mean": 0.93},
]  # fmt: skip
TRIAL: dict[str, Any] = {
    "id": "t_0000000000000001", "tenant": "vision", "study": STUDY["id"], "dataset": LONG,
    "model": LONG, "device": "d" * 63, "kind": "a100", "state": "failed", "attempt": 2,
    "cost": 30.0, "started": NOW - 86400.0 * 500, "ended": NOW, "score": None,
    "reason": "out of memory\n\x1b[31mred",
}  # fmt: skip
RUNNER_UP = {"tenant": "nlp", "study": "s_2", "dataset": "", "model": LONG, "value": 0.001}
DECISION: dict[str, Any] = {
    "id": TRIAL["id"], "time": NOW, "device": "gpu-0", "tenant": "vision", "study": STUDY["id"],
    "dataset": "wine", "model": "forest", "reason": "policy", "value": 0.0123, "cost": 120.0,
    "expected_improvement": 0.25, "rate": 0.00208,
    "gains": [{"tenant": "vision", "study": STUDY["id"], "expected_improvement": 0.25,
               "weight": 2.0}],
    "runners_up": [RUNNER_UP],
    "changes": [
        {"rule": "weights", "detail": "a heavier study came first", "instead": RUNNER_UP},
        {"rule": "device-time", "detail": "nlp used its day", "instead": None},
    ],
}  # fmt: skip
BEST: dict[str, Any] = {
    "study": STUDY["id"], "metric": "accuracy", "task": "classification", "model": "forest",
    "score": 0.93,
    "look": {
        "rows": 1234567,
        "confusion": {
            "classes": [f"{'[red]class[/]' * 5}{at}" for at in range(19)], "merged": 7,
            "counts": [[10**9 if at == other else at for other in range(20)] for at in range(20)],
        },
        "residuals": {"quantiles": [[at / 10, -1e9 / (at + 1)] for at in range(7)], "sample": []},
        "importance": {
            "rows": 1000, "score": 0.93, "omitted": 10**6, "unmeasured": ["[/]" * 20] * 3,
            "columns": [[f"{'wide ' * 15}{at}", 0.1, 1e-9, 1e9] for at in range(20)],
            "unmeasured_count": 10**6,
        },
    },
    "fitted": {
        "id": "s/fitted", "study": STUDY["id"], "model": LONG, "state": "failed",
        "reason": "out of memory " * 20, "requested": NOW, "trial": TRIAL["id"], "hash": "",
        "bytes": 0, "versions": [],
    },
}  # fmt: skip
NEXT: dict[str, Any] = {
    "study": STUDY["id"], "model": "svm", "expected_improvement": 0.01, "cost": 20.0,
    "rate": 0.0005, "value": 0.0004,
    "reason": "Of 1 models left, it has the highest expected improvement per second.",
    "waits": "No device is alive to run it; start a worker.",
}  # fmt: skip
OVERVIEW: dict[str, Any] = {
    "time": NOW, "regret_estimate": 0.0321, "regret_low": 0.02, "regret_high": 0.04,
    "happiness": 0.9, "latency": {"decisions": 99, "median": 0.001, "p99": 0.004},
    "queue": {"open_studies": 3, "untried_arms": 1234},
    "throughput": {"last_ten_minutes": 12, "last_hour": 60}, "decisions": 99, "leases_lost": 1,
    "devices": {"present": 4, "busy": 3, "away": 1}, "no_device": False,
    "tenants": [{"tenant": "v" * 63, "weight": 2.0, "open_studies": 3, "running_trials": 3,
                 "untried_arms": 9,
                 "device_seconds": 1e6, "share": 0.75, "regret_estimate": 0.03,
                 "limits": {"running_trials": 4}, "device_seconds_today": 60.0,
                 "happiness": 0.9, "reached": "running-trials"}],
}  # fmt: skip
STATUS: dict[str, Any] = {
    "time": NOW, "running_count": 99, "study_count": 99, "idle": ["gpu-1"] * 20,
    "away": [{"name": "d" * 63, "since": NOW - 100.0}],
    "running": [{
        "id": TRIAL["id"], "tenant": "v" * 63, "study": STUDY["id"], "name": LONG, "model": LONG,
        "device": "d" * 63, "state": "running", "started": NOW - 60.0, "ended": None,
        "cost": 120.0, "score": None, "reason": "",
    }],
    "studies": [{
        "study": STUDY["id"], "tenant": "v" * 63, "name": LONG, "state": "open",
        "metric": "average-precision", "floor": 0.5, "best": 0.93, "measured": 12.5, "model": LONG,
        "gained": 0.1, "models": 40, "tried": 7, "running": 0, "reason": LONG,
    }],
}  # fmt: skip
ISSUED: dict[str, Any] = {
    "id": "0123456789ab", "role": "device", "tenant": None, "label": LONG, "created": NOW,
    "expires": NOW + 1e6, "revoked": None, "secret": "bth_the-new-secret",
}  # fmt: skip
WHATIF: dict[str, Any] = {
    "id": "w_0123456789abcdef", "state": "complete", "progress": 1.0, "reason": "", "created": NOW,
    "regret": 0.02, "devices": 8, "now": 4, "estimate": 0.041, "draws": 16, "simulated": 16,
    "studies": 14, "sequence": 99, "curves": [],
    "answers": [
        {"devices": devices, "policy": policy, "median": 4e5 / devices, "low": 3.9e5 / devices,
         "high": None if devices == 1 else 5e5 / devices, "reached": 0.9}
        for devices in (1, 4, 8, 64) for policy in ("bentham", "round-robin")
    ] + [{"devices": 6, "policy": "bentham", "median": None, "low": None, "high": None,
          "reached": 0.1}],
    "notes": [f"Limits {LONG}"],
}  # fmt: skip
REDACTED = {name: value for name, value in ISSUED.items() if name != "secret"}
SESSION: dict[str, Any] = {
    "id": "0123456789ab", "role": "admin", "tenant": None, "csrf": None, "version": "0.1.0",
    "largest_upload": 2**26, "events": [], "no_device": False,
}  # fmt: skip
ROUTES: dict[str, object] = {
    "GET /v1/session": SESSION,
    "GET /v1/tenants": {"items": [TENANT, {**TENANT, "name": "n" * 63}]},
    "GET /v1/tenants/vision": {**TENANT, "limits": {"device_seconds_per_day": 3600.0}},
    "POST /v1/tenants": TENANT,
    "POST /v1/whatif": WHATIF,
    "PATCH /v1/tenants/vision": TENANT,
    "GET /v1/tokens": {"items": [REDACTED, {**REDACTED, "revoked": NOW, "tenant": "v" * 63}]},
    "POST /v1/tokens": ISSUED,
    "DELETE /v1/tokens/0123456789ab": {**REDACTED, "revoked": NOW},
    "GET /v1/studies": {"items": [STUDY, {**STUDY, "id": "s_0000000000000002", "name": LONG,
                                          "tenant": "v" * 63, "incumbent": None}], "next": None},
    "POST /v1/studies": STUDY,
    f"GET /v1/studies/{STUDY['id']}": STUDY,
    f"PATCH /v1/studies/{STUDY['id']}": STUDY,
    f"GET /v1/studies/{STUDY['id']}/script": "print('trained')\n",
    f"GET /v1/studies/{STUDY['id']}/candidates": {"items": CANDIDATES},
    f"POST /v1/studies/{STUDY['id']}/pause": {**STUDY, "state": "paused"},
    f"POST /v1/studies/{STUDY['id']}/resume": STUDY,
    f"POST /v1/studies/{STUDY['id']}/close": {**STUDY, "state": "closed"},
    f"POST /v1/studies/{STUDY['id']}/reopen": STUDY,
    "GET /v1/devices": {"items": [{**DEVICE, "name": "d" * 63, "kind": LONG, "state": "busy",
                                   "trial": TRIAL["id"]}]},
    "GET /v1/devices/gpu-0": DEVICE,
    "POST /v1/devices/gpu-0/leave": {**DEVICE, "trial": TRIAL["id"]},
    "GET /v1/trials": {"items": [TRIAL], "next": None},
    f"GET /v1/trials/{TRIAL['id']}": TRIAL,
    f"GET /v1/decisions/{TRIAL['id']}": DECISION,
    "GET /v1/decisions": {"items": [DECISION], "next": None},
    f"GET /v1/studies/{STUDY['id']}/next": NEXT,
    f"GET /v1/studies/{STUDY['id']}/best": BEST,
    "GET /v1/overview": OVERVIEW,
    "GET /v1/status": STATUS,
    "POST /v1/history": {"studies": 2, "models": 3, "runs": 6},
    "GET /v1/history": "study,model,score,cost\nwine,svm,0.9,\n",
}  # fmt: skip


@pytest.fixture
def canned(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Canned]:
    """A server with canned responses, whose address and token are in the environment."""
    server = Canned(ROUTES)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BENTHAM_SERVER", server.address)
    monkeypatch.setenv("BENTHAM_TOKEN", TOKEN)
    monkeypatch.delenv("BENTHAM_TOKEN_FILE", raising=False)
    yield server
    server.close()
