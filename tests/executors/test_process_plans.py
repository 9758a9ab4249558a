"""Plans for leases: models of the catalogue, and commands of the operator."""

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

pytestmark = [
    pytest.mark.outside,
    pytest.mark.skipif(sys.platform != "linux", reason="containment is for Linux"),
]

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


@pytest.mark.outside
def test_a_model_of_the_catalogue_is_trained(tmp_path: Path) -> None:
    plan = CatalogPlan()
    executor = ProcessExecutor(tmp_path, plan, lambda _: [IRIS], preload=PRELOAD)
    try:
        fields: dict[str, Any] = {"algorithm": "decision-tree", "training": FLOWERS}
        defaults = dict(plan.algorithms["decision-tree"].defaults)
        model = lease("decision-tree", **fields, configuration=defaults)
        first, second = (ended(executor.start(model)) for _ in range(2))
        assert isinstance(first, Scored), first
        assert first == second
        assert first.score > 0.8
        assert len(first.scores) == 5
        assert first.metrics["accuracy"] == pytest.approx(first.score)
        fields["training"] = {**FLOWERS, "target": "colour"}
        outcome = ended(executor.start(lease("tree", **fields, configuration=defaults)))
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
    # A name from a tenant is passed as a word, never as a file of the operator.
    hostile = training(target="secret.txt")
    command = plan(lease("x", algorithm="told", configuration={}, training=hostile), "/d.csv")
    assert command == Command(("./t", "/d.csv", "secret.txt", "{secret.txt}"))
    data = training(target="; rm -rf ~")
    command = plan(
        lease("net", algorithm="net", configuration={"lr": 0.5}, training=data), "/d.csv"
    )
    words = ["python", str(tmp_path / "train.py"), "--lr", "0.5", "--data", "/d.csv"]
    assert command == Command((*words, "--target=; rm -rf ~", "other.py"))
    assert plan(lease("x", algorithm="free", configuration={"depth": 2}), "") == Command(
        tuple(shlex.split("./train.sh 2"))
    )
    assert plan(lease("x", algorithm="far-away"), "") == Declined(
        "the algorithm 'far-away' is not installed here", unable=True
    )
    untrained = plan(lease("svm"), "")
    assert isinstance(untrained, Declined)
    assert untrained.unable
    assert "--table" in untrained.reason
    # Another worker may have the version that the study expects.
    other = plan(lease("x", algorithm="free", configuration={"depth": "much"}), "")
    assert isinstance(other, Declined)
    assert other.unable
    assert "'x' does not match what is installed here" in other.reason
    tree = dict(plan.algorithms["decision-tree"].defaults)
    for request in (
        lease("x", algorithm="decision-tree", configuration=tree),  # no data
        lease("x", algorithm="net", configuration={"lr": 0.5}),
    ):
        assert plan(request, "") == Broken(
            f"the algorithm {request.algorithm!r} needs data, but the study names none", True
        )
