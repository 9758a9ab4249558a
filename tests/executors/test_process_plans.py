"""What to run for a lease: models of the catalogue, and commands of the operator's."""

import random
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from support.executor_contract import lease
from support.process_trials import ended, training

from bentham.executors import Broken, Command, Declined, ProcessExecutor, Scored
from bentham.executors.launch import PRELOAD, CatalogPlan

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="containment is for Linux")

IRIS = "\n".join(
    ["length,width,kind"]
    + [
        f"{chance.gauss(5 + 2 * kind, 0.6):.2f},{chance.gauss(3 - kind, 0.6):.2f},{'ab'[kind]}"
        for chance in [random.Random(0)]
        for kind in [0, 1] * 40
    ]
).encode()
FLOWERS = training(
    IRIS, target="kind", columns={"length": "number", "width": "number"}, delimiter=","
)


def test_a_model_of_the_catalogue_is_trained(tmp_path: Path) -> None:
    plan = CatalogPlan()
    executor = ProcessExecutor(tmp_path, plan, lambda _: [IRIS], preload=PRELOAD)
    try:
        asked: dict[str, Any] = {"algorithm": "decision-tree", "training": FLOWERS}
        defaults = dict(plan.algorithms["decision-tree"].defaults)
        model = lease("decision-tree", **asked, configuration=defaults)
        first, second = (ended(executor.start(model)) for _ in range(2))
        assert isinstance(first, Scored), first
        assert first == second
        assert first.score > 0.8
        assert len(first.scores) == 5
        assert first.metrics["accuracy"] == pytest.approx(first.score)
        asked["training"] = {**FLOWERS, "target": "colour"}
        outcome = ended(executor.start(lease("tree", **asked, configuration=defaults)))
        assert isinstance(outcome, Broken)
        assert outcome.final
        assert "colour" in outcome.reason
    finally:
        executor.close()


def test_plans_for_leases(tmp_path: Path) -> None:
    file = tmp_path / "algorithms.toml"
    file.write_text(
        """
        [algorithms.net]
        title = "Our network"
        command = "python train.py --lr {lr} --data {data} --target={target} other.py"
        [algorithms.net.parameters.lr]
        low = 0.1
        high = 1.0
        [algorithms.told]
        command = "./t {data} {target} {{secret.txt}}"
        tasks = ["classification"]
        [algorithms.free]
        title = "Without data"
        command = "./train.sh {depth}"
        [algorithms.free.parameters.depth]
        low = 1
        high = 4
        """
    )
    (tmp_path / "train.py").touch()
    (tmp_path / "secret.txt").touch()
    plan = CatalogPlan(file)
    # What a tenant named is a word, and no file of the operator's.
    sly = training(target="secret.txt")
    made = plan(lease("x", algorithm="told", configuration={}, training=sly), "/d.csv")
    assert made == Command(("./t", "/d.csv", "secret.txt", "{secret.txt}"))
    data = training(target="; rm -rf ~")
    made = plan(lease("net", algorithm="net", configuration={"lr": 0.5}, training=data), "/d.csv")
    words = ["python", str(tmp_path / "train.py"), "--lr", "0.5", "--data", "/d.csv"]
    assert made == Command((*words, "--target=; rm -rf ~", "other.py"))
    assert plan(lease("x", algorithm="free", configuration={"depth": 2}), "") == Command(
        tuple(shlex.split("./train.sh 2"))
    )
    assert plan(lease("x", algorithm="far-away"), "") == Declined(
        "the algorithm 'far-away' is not installed here", unable=True
    )
    named = plan(lease("svm"), "")
    assert isinstance(named, Declined)
    assert named.unable
    assert "--table" in named.reason
    # Another worker may have the version of it that the study means.
    other = plan(lease("x", algorithm="free", configuration={"depth": "much"}), "")
    assert isinstance(other, Declined)
    assert other.unable
    assert "'x' does not match what is installed here" in other.reason
    tree = dict(plan.algorithms["decision-tree"].defaults)
    for asked in (
        lease("x", algorithm="decision-tree", configuration=tree),  # no data
        lease("x", algorithm="net", configuration={"lr": 0.5}),
    ):
        assert plan(asked, "") == Broken(
            f"the algorithm {asked.algorithm!r} needs data, but the study names none", True
        )
