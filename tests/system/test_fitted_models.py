"""A fitted model of a real study, fitted by a real worker, used where Bentham is not installed."""

import csv
import hashlib
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.commands import Bentham
from support.sites import Site, wait_for

from bentham.training.sources import fetch
from bentham.wire import DataAsked

pytestmark = pytest.mark.outside
# Runs a file as Python does, but without Bentham: it is installed for this interpreter.
HIDDEN = """
import runpy, sys
sys.modules["bentham"] = None
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a Python file in a folder, without Bentham and without environment variables."""
    command = [sys.executable, "-I", "-c", HIDDEN, *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env={})


def test_a_fitted_model_predicts_the_same_elsewhere(
    site: Site, tmp_path: Path, bentham: Bentham, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with site.tenant("lab") as lab, site.client() as admin:
        secret = admin.issue_token("tenant", "lab").secret
        Path("lab.token").write_text(secret)
        Path("lab.token").chmod(0o600)
        remote = ["--server", site.address, "--token-file", "lab.token"]
        content = fetch("sklearn:wine").content
        dataset = lab.add_dataset("wine.csv", content)
        request = DataAsked(dataset=dataset.id, target="target")
        study = lab.create_study(
            "wine", data=request, metric="log-loss", algorithms=["logistic-regression", "svm"],
            candidates=2,
        )  # fmt: skip
        site.trainer("--devices", 1)
        wait_for(lambda: lab.study(study.id).state == "closed")
        best = lab.best(study.id)
        assert best.look is not None
        assert best.look.rows == 178
        assert best.look.importance is not None
        shown = bentham("study", "show", "wine", *remote)
        assert "If the values of one column are shuffled" in shown.out
        assert all(len(line) <= 80 for line in shown.out.splitlines())

        done = bentham("study", "export", "wine", "--fit", *remote)
        assert done.code == 0, done.err
        file = Path("wine.pyz")
        found = lab.fitted(study.id)
        assert hashlib.sha256(file.read_bytes()).hexdigest() == found.hash
        assert f"SHA-256 {found.hash}" in done.out
        trials = [trial.id for trial in lab.trials(study.id)]
        assert found.trial not in trials
        again = bentham("study", "export", "wine", "--fit", "--out", "again.pyz", *remote)
        assert again.code == 0, again.err
        assert again.err == ""  # it is there already: nothing is waited for
        assert lab.fitted(study.id) == found
        assert lab.fitted_model(study.id) == file.read_bytes()
        script = lab.script(study.id)

    away = tmp_path / "away"
    away.mkdir()
    file.rename(away / "wine.pyz")
    rows = list(csv.reader(io.StringIO(content.decode())))
    with (away / "new.csv").open("w", newline="") as opened:
        csv.writer(opened).writerows(
            [["customer", *rows[0]], *([f"{at:04}", *row] for at, row in enumerate(rows[1:]))]
        )
    # The script trains the model again: on the same data, with the same result to the last digit.
    (away / "wine.csv").write_bytes(content)
    (away / "wine.py").write_text(script)
    ran, fresh = (
        run(away, *words, "--id", "customer")
        for words in (["wine.pyz", "new.csv"], ["wine.py", "wine.csv", "--predict", "new.csv"])
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == fresh.stdout
    lines = ran.stdout.splitlines()
    classes = [f"probability of class_{number}" for number in range(3)]
    assert lines[0].split(",") == ["customer", "prediction", *classes]
    assert [line.partition(",")[0] for line in lines[1:]] == [f"{at:04}" for at in range(178)]
    described = json.loads(run(away, "wine.pyz", "--about").stdout)
    assert (described["score"], described["study"]) == (best.score, "wine")
    header = rows[0]
    lacking = [[*row[:2], *row[3:]] for row in rows]
    with (away / "new.csv").open("w", newline="") as opened:
        csv.writer(opened).writerows(lacking)
    ran = run(away, "wine.pyz", "new.csv")
    assert ran.returncode == 1
    assert ran.stderr == f"new.csv lacks the column {header[2]!r}, which the model needs\n"
