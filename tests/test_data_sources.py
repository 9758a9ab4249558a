"""Datasets by name: the same bytes everywhere, and plain words where the network is needed."""

import hashlib
import socket
import time
from pathlib import Path

import pytest
import sklearn.datasets._openml

from bentham.errors import InvalidInput
from bentham.training import sources
from bentham.training.inspect import inspect_file
from bentham.training.sources import fetch

# A study is named by the hash of its data: a change would part studies that should share arms.
HASHES = {
    "iris": "7e4e13e60d330d83",
    "wine": "5bfc46e107b43e09",
    "breast_cancer": "62dce411778129f3",
    "digits": "9f7fca3251c178a0",
    "diabetes": "7dae9500120945f1",
}
SHAPES = {
    "iris": (150, 5, 3), "wine": (178, 14, 3), "breast_cancer": (569, 31, 2),
    "digits": (1797, 65, 10), "diabetes": (442, 11, 214),
}  # fmt: skip


@pytest.mark.parametrize("name", sources.BUNDLED)
def test_what_comes_with_scikit_learn(name: str, tmp_path: Path) -> None:
    found = fetch(f"sklearn:{name}")
    assert (found.name, found.format, found.target) == (name, "csv", "target")
    assert hashlib.sha256(found.content).hexdigest()[:16] == HASHES[name]
    (tmp_path / "data").write_bytes(found.content)
    inspected = inspect_file(tmp_path / "data", "csv")
    assert inspected.refusal == ""
    target = inspected.columns[-1]
    assert target.name == "target"
    assert (inspected.rows, len(inspected.columns), target.distinct) == SHAPES[name]
    assert target.type == ("number" if name in ("digits", "diabetes") else "category")


@pytest.mark.parametrize(
    "text", ["", "digits", "sklearn:", "sklearn:no", "sklearn:load_iris", "openml:", "http://x",
             "openml:a\nb", "openml:" + "9" * 300],
)  # fmt: skip
def test_unknown_names_say_what_there_is(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"sklearn:iris.*openml:credit-g"):
        fetch(text)


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> socket.socket:
    """A server that takes connections and never answers, in place of OpenML."""
    listener = socket.create_server(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    monkeypatch.setattr(sklearn.datasets._openml, "_OPENML_PREFIX", address)
    monkeypatch.setattr(sources, "SECONDS", 0.2)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    monkeypatch.setenv("no_proxy", "*")
    return listener


@pytest.mark.parametrize("name", ["openml:credit-g", "openml:31"])
@pytest.mark.parametrize("listens", [True, False])
@pytest.mark.filterwarnings("ignore:.*OpenML.*")
def test_a_network_that_is_not_there(network: socket.socket, listens: bool, name: str) -> None:
    if not listens:
        network.close()
    began = time.monotonic()
    with pytest.raises(InvalidInput, match=rf"{name} could not be fetched.*network.*sklearn:iris"):
        fetch(name)
    assert time.monotonic() < began + 10
    assert socket.getdefaulttimeout() is None
    network.close()
