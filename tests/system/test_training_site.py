"""Real training: a server, a worker with two devices, tenants and their data."""

import ast
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.sites import Site, wait_for

from bentham.client import Client
from bentham.training.sources import fetch
from bentham.wire import DataAsked, StudyView, TrialView

pytestmark = pytest.mark.outside

BAD = """
import os, sys, time
how, place = sys.argv[1:3]
print(how, "begins", flush=True)
if how == "hang":
    time.sleep(600)
if how == "eat":
    held = [b"x" * 10**8 for _ in range(10**4)]
if how == "detach":
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            while True:
                open(place, "w").write("alive")
                time.sleep(0.05)
        os._exit(0)
    while not os.path.exists(place):
        time.sleep(0.01)
    sys.exit(3)
if how == "nan":
    print('{"score": NaN}')
if how == "raise":
    raise ValueError("the learning rate is negative")
if how == "good":
    print('{"progress": 0.5, "score": 0.25}', flush=True)
    print('{"score": 0.75, "metrics": {"epochs": 3}}')
"""
ALGORITHM = """
[algorithms.{name}]
command = '{python} {script} {name} {place}'
"""
# A part of the failure reason that the tenant sees.
REASONS = {
    "hang": "6 seconds", "eat": "memory", "detach": "3", "nan": "nan",
    "raise": "ValueError: the learning rate is negative",
}  # fmt: skip


@pytest.fixture
def heartbeat(tmp_path: Path) -> Path:
    return tmp_path / "heartbeat"


@pytest.fixture
def site(tmp_path: Path, heartbeat: Path) -> Iterator[Site]:
    script, catalogue = tmp_path / "bad.py", tmp_path / "algorithms.toml"
    script.write_text(BAD)
    catalogue.write_text(
        "".join(
            ALGORITHM.format(name=name, python=sys.executable, script=script, place=heartbeat)
            for name in (*REASONS, "good")
        )
    )
    started = Site(tmp_path, "--algorithms", catalogue)
    try:
        yield started
    finally:
        started.close()


def trials_when_closed(client: Client, study: StudyView) -> list[TrialView]:
    """Wait until a study is closed; return its trials."""
    wait_for(lambda: client.study(study.id).state == "closed")
    return list(client.trials(study.id))


def test_misbehaving_models_fail_with_a_reason_and_devices_continue(
    site: Site, tmp_path: Path, heartbeat: Path
) -> None:
    with site.tenant("lab") as lab:
        study = lab.create_study("bad company", algorithms=[*REASONS, "good"], candidates=6)
        worker = site.trainer(
            "--devices", 2, "--algorithms", tmp_path / "algorithms.toml", "--memory", "300M",
            "--time-limit", 6,
        )  # fmt: skip
        trials = trials_when_closed(lab, study)
        shown = {trial.model: trial for trial in reversed(trials)}
        assert set(shown) == {*REASONS, "good"}
        for model, words in REASONS.items():
            assert shown[model].state == "failed", shown[model]
            assert words in shown[model].reason, shown[model]
            assert "Traceback" not in shown[model].reason
        good = shown["good"]
        assert (good.state, good.score, good.metrics) == ("complete", 0.75, {"epochs": 3.0})
        assert good.scores == [0.25]
        assert "hang begins" in lab.trial_log(shown["hang"].id)
        assert "ValueError" in lab.trial_log(shown["raise"].id)
        # No process is left: the detached one has stopped writing.
        heartbeat.unlink(missing_ok=True)
        time.sleep(0.3)
        assert not heartbeat.exists()
        assert worker.popen.poll() is None
        second = lab.create_study("good company", algorithms=["good"], candidates=1)
        assert [trial.state for trial in trials_when_closed(lab, second)] == ["complete"]
        assert lab.study(second.id).incumbent is not None


def test_exported_scripts_reproduce_the_recorded_scores(site: Site, tmp_path: Path) -> None:
    site.trainer("--devices", 2)
    with site.tenant("lab") as lab:
        studies = {}
        for source, metric in (("diabetes", None), ("iris", "log-loss")):
            dataset = lab.add_dataset(f"{source}.csv", fetch(f"sklearn:{source}").content)
            request = DataAsked(dataset=dataset.id, target="target")
            studies[source] = lab.create_study(source, data=request, metric=metric, candidates=3)
        for source, study in studies.items():
            trials = trials_when_closed(lab, study)
            assert [trial.state for trial in trials] == ["complete"] * 3, trials
            best = lab.study(study.id).incumbent
            assert best is not None
            assert [line.best for line in lab.record(study.id)][-1] == best.score
            data, script = tmp_path / f"{source}.csv", tmp_path / f"{source}.py"
            data.write_bytes(b"".join(lab.dataset_content(lab.study(study.id).training.dataset)))  # type: ignore[union-attr]
            script.write_text(lab.script(study.id))
            # Standalone: without Bentham's modules and without environment variables.
            modules = {
                name.split(".")[0]
                for node in ast.walk(ast.parse(script.read_text()))
                for name in _imported(node)
            }
            assert not modules & {"bentham", "pickle", "joblib"}
            command = [sys.executable, "-I", str(script), str(data)]
            run = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env={})
            assert run.returncode == 0, run.stdout + run.stderr
            assert f"score: {best.score!r}" in run.stdout


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else []
