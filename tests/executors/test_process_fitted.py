"""Looks at models and files of fitted models, from real processes; neither may cost a score."""

import sys
from pathlib import Path
from typing import Any

import pytest
from support.executor_contract import lease
from support.process_trials import bench, ended
from support.training_data import mixed, training

from bentham.executors import Broken, Fitted, ProcessExecutor, Scored, process
from bentham.executors.launch import PRELOAD, CatalogPlan
from bentham.wire import ModelLook

pytestmark = [
    pytest.mark.outside,
    pytest.mark.skipif(sys.platform != "linux", reason="containment is for Linux"),
]


def test_a_failing_look_never_costs_the_score(tmp_path: Path) -> None:
    with bench(tmp_path) as executor:
        for how, look in (
            ("good", {"rows": 7}), ("crash", None), ("eat", None), ("raise", None), ("text", None),
        ):  # fmt: skip
            outcome, log = executor.run("looking", {"how": how})
            assert outcome == Scored(0.5, {"accuracy": 0.5}, (0.4, 0.6), look), how
            if how == "raise":
                assert "no look at the model: ValueError: no columns" in log
        # The limit of time ends a trial after its score, but does not fail it.
        outcome, _ = executor.run("looking", {"how": "hang"}, {"wall_seconds": 1.0})
        assert outcome == Scored(0.5, {"accuracy": 0.5}, (0.4, 0.6))


def test_only_a_plain_file_of_limited_size_is_a_fitted_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "LARGEST_MODEL", 1000)
    with bench(tmp_path) as executor:
        outcome, _ = executor.run("fitting", {"how": "good"})
        assert outcome == Fitted(b"PK model", ("python==3.12.1",))
        for how, words in (("link", "cannot be read"), ("nothing", "cannot be read")):
            outcome, _ = executor.run("fitting", {"how": how})
            assert isinstance(outcome, Broken)
            assert words in outcome.reason
        outcome, _ = executor.run("fitting", {"how": "large", "size": 1001})
        assert isinstance(outcome, Broken)
        assert outcome.final
        assert "the limit" in outcome.reason


def test_leases_of_the_catalogue_are_looked_at_and_fitted(tmp_path: Path) -> None:
    text = mixed("classification")
    plan = CatalogPlan()
    executor = ProcessExecutor(tmp_path, plan, lambda _: [text.encode()], preload=PRELOAD)
    fields: dict[str, Any] = {
        "algorithm": "decision-tree",
        "training": training(text, "classification", "accuracy").model_dump(),
        "configuration": dict(plan.algorithms["decision-tree"].defaults),
    }
    try:
        plain = ended(executor.start(lease("tree", **fields)))
        assert isinstance(plain, Scored)
        assert plain.look is None
        looked = ended(executor.start(lease("tree", **fields, look_above=-1e50)))
        assert isinstance(looked, Scored)
        assert looked.look is not None
        ModelLook.model_validate(dict(looked.look))
        assert (looked.score, looked.metrics) == (plain.score, plain.metrics)
        fitted = ended(executor.start(lease("tree", **fields, purpose="fit", recorded=0.5)))
        assert isinstance(fitted, Fitted), fitted
        assert fitted.content.startswith(b"PK")
        assert [each.partition("==")[0] for each in fitted.versions][:2] == ["python", "numpy"]
    finally:
        executor.close()


def test_commands_give_no_fitted_model(tmp_path: Path) -> None:
    file = tmp_path / "algorithms.toml"
    file.write_text('[algorithms.net]\ncommand = "./net {data}"\ntasks = ["classification"]\n')
    data = training("a\n", "classification", "accuracy").model_dump()
    planned = CatalogPlan(file)(lease("net", algorithm="net", training=data, purpose="fit"), "/d")
    assert isinstance(planned, Broken)
    assert planned.final
    assert "net is a command of the operator, which gives no fitted model" in planned.reason
