"""Datasets by name: identical bytes on every machine, and clear errors without a network."""

import hashlib
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from sklearn.datasets import _openml
from support.servers import Canned

from bentham.errors import InvalidInput
from bentham.training import sources
from bentham.training.inspect import inspect_file
from bentham.training.sources import fetch

# Studies share arms by the hash of their data, so a change would separate them.
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
def test_datasets_of_scikit_learn(name: str, tmp_path: Path) -> None:
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
             "openml:a\nb", "openml:../x", "openml:a b", "openml:" + "9" * 300],
)  # fmt: skip
def test_unknown_names_are_refused_with_examples(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"sklearn:iris.*openml:credit-g"):
        fetch(text)


def redirect_openml(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    for name in ("_SEARCH_NAME", "_DATA_INFO", "_DATA_FEATURES", "_DATA_QUALITIES"):
        path = getattr(_openml, name).removeprefix("https://www.openml.org")
        monkeypatch.setattr(_openml, name, address + path)
    monkeypatch.setattr(sources, "SECONDS", 0.2)
    monkeypatch.setenv("no_proxy", "*")


@pytest.mark.slow
@pytest.mark.parametrize("listens", [True, False])
def test_an_unreachable_network(monkeypatch: pytest.MonkeyPatch, listens: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:  # never responds
        redirect_openml(monkeypatch, f"http://127.0.0.1:{server.getsockname()[1]}")
        if not listens:
            server.close()
        with pytest.raises(InvalidInput, match=r"openml:x could not be fetched.*sklearn:iris"):
            fetch("openml:x")
    assert socket.getdefaulttimeout() is None


ARFF = """@relation weather
@attribute sky {clear,'partly, cloudy'}
@attribute degrees numeric
@attribute play {yes,no}
@data
clear,30.5,yes
'partly, cloudy',?,no
clear,-2,no
"""


def features(*targets: str) -> list[dict[str, object]]:
    kinds = {"sky": "nominal", "degrees": "numeric", "play": "nominal"}
    values = {"sky": ["clear", "partly, cloudy"], "play": ["yes", "no"]}
    return [
        {"index": str(at), "name": name, "data_type": kind, "nominal_value": values.get(name, []),
         "is_target": str(name in targets).lower(), "is_ignore": "false",
         "is_row_identifier": "false", "number_of_missing_values": "0"}
        for at, (name, kind) in enumerate(kinds.items())
    ]  # fmt: skip


@pytest.fixture
def openml(monkeypatch: pytest.MonkeyPatch) -> Iterator[Canned]:
    server = Canned({})
    description = {
        "id": "7", "name": "weather", "version": "1", "status": "active", "format": "ARFF",
        "description": "",
        "url": f"{server.address}/weather", "md5_checksum": hashlib.md5(ARFF.encode()).hexdigest(),
    }  # fmt: skip
    found = {"did": 7, "version": 1, "status": "active"}
    api = "GET /api/v1/json/data"
    server.responses = {
        f"{api}/list/data_name/weather/limit/2/status/active/": {"data": {"dataset": [found]}},
        f"{api}/7": {"data_set_description": description},
        f"{api}/features/7": {"data_features": {"feature": features("play")}},
        f"{api}/qualities/7": {
            "data_qualities": {"quality": [{"name": "NumberOfInstances", "value": "3"}]}
        },
        "GET /weather": ARFF,
    }
    redirect_openml(monkeypatch, server.address)
    yield server
    server.close()


@pytest.mark.parametrize("name", ["weather", "7"])
def test_a_dataset_of_openml(openml: Canned, name: str) -> None:
    found = fetch(f"openml:{name}")
    assert (found.name, found.format, found.target) == ("weather", "csv", "play")
    lines = found.content.decode().splitlines()
    assert lines == ["sky,degrees,play", "clear,30.5,yes", '"partly, cloudy",,no', "clear,-2.0,no"]
    assert openml.requests


def test_a_dataset_with_several_targets(openml: Canned) -> None:
    openml.responses["GET /api/v1/json/data/features/7"] = {
        "data_features": {"feature": features("play", "sky")}
    }
    with pytest.raises(InvalidInput, match=r"2 targets.*upload it as a file"):
        fetch("openml:7")
