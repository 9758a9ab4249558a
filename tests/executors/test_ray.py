"""The Ray executor on real clusters, whose nodes are Ray processes on this machine.

A cluster takes seconds to start, and tests of one module may run in several processes. So there
are few tests here, each with its own cluster.
"""

import hashlib
import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.executor_contract import ExecutorContract
from support.executor_contract import lease as make_lease
from support.misbehaving import marked_processes
from support.paths import PYTHONPATH
from support.sites import Site, wait_for
from support.training_data import mixed, training

from bentham.client import Client
from bentham.errors import InvalidInput
from bentham.executors import Broken, Declined, Executor, Fitted, Scored, TrialLimits
from bentham.executors.limits import MIB
from bentham.executors.ray import RayExecutor, connect, doubled, living, load_ray
from bentham.executors.ray_host import make_setup
from bentham.wire import DataAsked, Lease, StopRules
from bentham.wire import Training as WireTraining

pytestmark = pytest.mark.outside

# Waits until the gate file exists. The score depends on the size of the data.
GATED = """
import pathlib, sys, time
_, gate, data, level = sys.argv
print("waiting", flush=True)
print('{"progress": 0.5}', flush=True)
while not pathlib.Path(gate).exists():
    time.sleep(0.02)
print('{"score": %s}' % (0.5 + len(open(data, "rb").read()) % 100 / 1000 + float(level) / 1000))
"""
PYTHON = sys.executable
ALGORITHMS = f"""
[algorithms.gated]
command = "{PYTHON} gated.py GATE {{data}} {{level}}"
tasks = ["classification"]
parameters.level = {{ low = 0.0, high = 1.0 }}

[algorithms.quick]
command = '''echo "{{{{\\"score\\": 0.5, \\"progress\\": 1.0}}}}"'''

[algorithms.endless]
command = "sleep 600"

[algorithms.eater]
command = '''{PYTHON} -c "import time; x = bytearray(2**29); time.sleep(600)"'''

[algorithms.bomb]
command = '''sh -c "for i in 1 2 3 4 5 6 7 8 9; do setsid sleep 600 & done; wait"'''
"""


@pytest.fixture
def algorithms(tmp_path: Path) -> Path:
    (tmp_path / "gated.py").write_text(GATED)
    path = tmp_path / "algorithms.toml"
    path.write_text(ALGORITHMS.replace("GATE", str(tmp_path / "gate")))
    return path


@pytest.fixture
def add_node(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """Yield a function that starts nodes; the first is the head of a cluster."""
    monkeypatch.setenv("PYTHONPATH", PYTHONPATH)
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    load_ray()
    from ray.cluster_utils import Cluster

    cluster: Any = Cluster()
    try:
        yield lambda **options: _add_node(cluster, options)
    finally:
        cluster.shutdown()


def _add_node(cluster: Any, options: dict[str, Any]) -> Any:
    node = cluster.add_node(include_dashboard=False, object_store_memory=80 * MIB, **options)
    node.kill = lambda: cluster.remove_node(node, allow_graceful=False)
    node.head = cluster.address
    return node


class RayContract(ExecutorContract):
    """The contract with one executor for all tests; the test that closes it runs last."""

    def __init__(self, executor: RayExecutor):
        first, second = executor.slots()
        self._arguments: dict[str, Executor | Lease] = {
            "executor": executor,
            "scoring": make_lease("quick-1", device=first, algorithm="quick"),
            "endless": make_lease("endless-1", device=second, algorithm="endless"),
            "unknown": make_lease("unknown-1", device=first),
        }

    def run(self, name: str) -> None:
        test = getattr(self, name)
        test(**{each: self._arguments[each] for each in inspect.signature(test).parameters})


def of_data(text: str) -> WireTraining:
    return WireTraining(**training(text, "classification", "accuracy").model_dump())


class Taken:
    """An actor that occupies CPUs."""

    def ready(self) -> None:
        """Return once the actor runs."""


def test_trials_on_a_cluster(
    add_node: Callable[..., Any],
    algorithms: Path,
    tmp_path: Path,
    subtests: pytest.Subtests,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    head = add_node(num_cpus=2)
    marker = hashlib.sha256(str(tmp_path).encode()).hexdigest()
    limits = TrialLimits(memory=400 * MIB, processes=6)
    setup = make_setup(tmp_path / "folder", limits, {"MARKER": marker}, algorithms)
    text = mixed("classification")
    fetched: list[str] = []
    warnings: list[str] = []

    def fetch(lease: Lease) -> list[bytes]:
        fetched.append(lease.trial)
        return [b"something else"] if lease.dataset == "spoiled" else [text.encode()]

    ray = load_ray()
    connect(ray, head.head)
    try:
        executor = RayExecutor(setup, fetch, prefix="lab", warn=warnings.append)
        wait_for(lambda: len(executor.slots()) == 2)
        first = executor.slots()[0]
        assert first.split("-")[:2] == ["lab", head.node_id[:8]]
        contract = RayContract(executor)
        closing = "test_closing_ends_running_trials"
        for name in dir(ExecutorContract):
            if name.startswith("test_") and name != closing:
                with subtests.test(name):
                    contract.run(name)
        wait_for(lambda: not _sleeping(marker))

        def run(algorithm: str, **more: Any) -> tuple[Any, bytes]:
            running = executor.start(
                make_lease(f"{algorithm}-1", algorithm=algorithm, **{"device": first, **more})
            )
            return contract.outcome(running), running.log()

        with subtests.test("data is fetched once for all slots, and models are trained"):
            for device in executor.slots():
                ended, _ = run(
                    "gaussian-naive-bayes",
                    training=of_data(text),
                    configuration={"var_smoothing": 1e-9},
                    device=device,
                )
                assert isinstance(ended, Scored), ended
                assert 0.4 < ended.score <= 1.0
            assert len(fetched) == 1
        with subtests.test("looks and fitted models come from the nodes"):
            model: dict[str, Any] = {
                "training": of_data(text), "configuration": {"var_smoothing": 1e-9},
            }  # fmt: skip
            ended, _ = run("gaussian-naive-bayes", **model, look_above=-1e50)
            assert isinstance(ended, Scored), ended
            assert ended.look is not None
            ended, _ = run("gaussian-naive-bayes", **model, purpose="fit")
            assert isinstance(ended, Fitted), ended
            assert ended.content.startswith(b"PK")
        with subtests.test("a command is found in the folder of the algorithms file"):
            (tmp_path / "gate").touch()
            ended, log = run("gated", training=of_data(text), configuration={"level": 0.0})
            assert ended == Scored(0.5 + len(text.encode()) % 100 / 1000)
            assert log.startswith(b"waiting\n")
        with subtests.test("wrong data"):
            other = of_data(text + "\n")
            ended, _ = run("gaussian-naive-bayes", training=other, dataset="spoiled")
            assert isinstance(ended, Declined)
            assert "is wrong: expected" in ended.reason
        for algorithm, reason in [("eater", "400 MiB"), ("bomb", "6 processes")]:
            with subtests.test(algorithm):
                ended, _ = run(algorithm)
                assert isinstance(ended, Broken)
                assert reason in ended.reason
                assert ended.final
        with subtests.test("a missing slot"):
            assert "no longer exists" in run("quick", device="lab-00000000-0")[0].reason
        with subtests.test("killing an actor fails its trial, and the slot is restored"):
            running = executor.start(make_lease("m", algorithm="endless", device=first))
            wait_for(lambda: _sleeping(marker) and running.begun)
            slot = executor._slots[first]
            ray.kill(slot.actor)
            ended = contract.outcome(running)
            assert isinstance(ended, Broken)
            assert not ended.final
            assert head.node_id[:8] in ended.reason
            wait_for(lambda: not _sleeping(marker))
            wait_for(lambda: first in executor.slots() and executor._slots[first] is not slot)
            assert run("quick")[0] == Scored(0.5, {}, (0.5,))
        with subtests.test("an actor that died idle costs no attempt"):
            slot = executor._slots[first]
            ray.kill(slot.actor)
            assert isinstance(run("quick")[0], Declined)
            wait_for(lambda: first in executor.slots() and executor._slots[first] is not slot)
        with subtests.test(closing):
            contract.run(closing)
            wait_for(lambda: marked_processes(marker) == [])
        with subtests.test("at most the requested number of slots"):
            executor = RayExecutor(setup, fetch, most=1)
            wait_for(executor.slots)
            assert len(executor._slots) == 1
            executor.close()
        with subtests.test("a slot without a free CPU does not block another"):
            # By value: the cluster cannot import this module.
            ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
            taken = ray.remote(num_cpus=2)(Taken).remote()
            ray.get(taken.ready.remote())
            with monkeypatch.context() as patch:
                patch.setattr("bentham.executors.ray.PENDING_SECONDS", 0.5)
                executor = RayExecutor(setup, fetch, most=1, warn=warnings.append)
                wait_for(lambda: any("no CPU was free there" in text for text in warnings))
                wait_for(lambda: any(name.endswith("-1") for name in list(executor._slots)))
                assert len(executor._slots) <= 1
            ray.kill(taken)
            wait_for(executor.slots)
            executor.close()
            warnings.clear()
        with subtests.test("a misconfigured node causes one warning"):
            (tmp_path / "file").touch()
            bad = make_setup(tmp_path / "file" / "below", limits, {}, algorithms)
            executor = RayExecutor(bad, fetch, warn=warnings.append)
            wait_for(lambda: warnings)
            assert "--folder" in warnings[0]
            assert executor.slots() == []
            executor.close()
            assert len(warnings) == 1
    finally:
        ray.shutdown()


def _sleeping(marker: str) -> bool:
    """Whether one of the marked processes is a sleeping command."""
    for pid in marked_processes(marker):
        try:
            if Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"sleep"):
                return True
        except OSError:
            continue
    return False


def test_without_ray_the_error_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InvalidInput, match=r"pip install '\.\[ray\]'"):
        load_ray()


@pytest.mark.parametrize("address", ["127.0.0.1:1", "nonsense"])
def test_an_unreachable_cluster(address: str) -> None:
    with pytest.raises(InvalidInput, match="ray start --head"):
        connect(load_ray(), address)


def test_nodes_in_the_list_of_ray() -> None:
    listed = [
        {"NodeID": "b" * 56, "Alive": True, "NodeManagerAddress": "a", "Resources": {"CPU": 2.5}},
        {"NodeID": "c" * 56, "Alive": False, "NodeManagerAddress": "b", "Resources": {}},
        {"NodeID": "a" * 56, "Alive": True, "NodeManagerAddress": "c", "Resources": {}},
    ]
    assert [(node.id[0], node.slots) for node in living(listed)] == [("a", 0), ("b", 2)]


def test_pauses_double_up_to_a_limit() -> None:
    assert [doubled(20.0, times, 320.0) for times in (0, 1, 4, 5, 100_000)] == [
        20.0, 40.0, 320.0, 320.0, 320.0,
    ]  # fmt: skip


def studies(client: Client, count: int) -> None:
    """Create studies, two over each dataset, so that they share arms."""
    client.create_tenant("lab")
    for number in range(count):
        text = mixed("classification", 60 + number // 2)
        data = client.add_dataset(f"data-{number // 2}.csv", text.encode(), tenant="lab")
        client.create_study(
            f"study-{number}",
            data=DataAsked(dataset=data.id, target="worth"),
            algorithms=["gated", "gaussian-naive-bayes"],
            candidates=4,
            stop=StopRules(gain_share=0.0),
            tenant="lab",
        )


def test_nodes_join_and_die_while_studies_run(
    add_node: Callable[..., Any], algorithms: Path, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    gate.touch()
    site = Site(tmp_path, "--algorithms", algorithms, "--heartbeat", 1)
    try:
        head, dying = add_node(num_cpus=1), add_node(num_cpus=1)
        with site.client() as client:
            token = client.issue_token("device")
            (site.folder / "device.token").write_text(token.secret)
            (site.folder / "device.token").chmod(0o600)
            studies(client, 8)
            worker = site.trainer(
                "--executor", "ray", "--address", head.head, "--name", "ray",
                "--algorithms", algorithms, "--exit-when-idle", 1,
            )  # fmt: skip

            def running_on(node: Any) -> bool:
                """Whether a trial there has reported progress; before, a loss is no attempt."""
                device = f"ray-{node.node_id[:8]}-0"
                return any(
                    trial.device == device and trial.progress == 0.5
                    for trial in client.trials(state="running")
                )

            wait_for(lambda: any(client.trials(state="complete")))
            gate.unlink()
            wait_for(lambda: running_on(dying))
            dying.kill()
            lost_device = f"ray-{dying.node_id[:8]}-0"
            wait_for(lambda: lost_device not in [device.name for device in client.devices()])
            added = add_node(num_cpus=1)
            wait_for(lambda: running_on(added))
            gate.touch()
            assert worker.ended() == 0
            assert client.devices() == []
            trials = list(client.trials())
            found = list(client.studies())
        assert [study.state for study in found] == ["closed"] * 8
        # Each arm was observed once, although one of them was started twice.
        complete = [(trial.dataset, trial.model) for trial in trials if trial.state == "complete"]
        assert len(complete) == len(set(complete)) == 4 * 4
        failed = [trial for trial in trials if trial.state == "failed"]
        assert [trial.device for trial in failed] == [lost_device]
        assert f"{dying.node_id[:8]}" in failed[0].reason
        # The device may have leased one more trial before it left, and returned it.
        rest = [trial for trial in trials if trial.state not in ("complete", "failed")]
        assert {(trial.state, trial.device) for trial in rest} <= {("lost", lost_device)}
        for study in found:
            assert (study.models, study.untried, study.trials.running) == (4, 0, 0)
            assert study.incumbent is not None
    finally:
        site.close()
