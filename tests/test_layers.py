"""Imports point inwards, and the core knows no clock, no I/O, no threads and no global chance."""

import ast
import sys
from pathlib import Path

import pytest

import bentham

ROOT = Path(bentham.__file__).parent
# What each layer may import of Bentham, besides itself.
ALLOWED = {
    "errors": set(),
    "children": set(),
    "core": {"errors"},
    "storage": {"errors"},
    "tables": {"core", "errors"},
    "wire": set(),
    "client": {"wire", "errors"},
    "training": {"wire", "errors"},
    "executors": {"wire", "tables", "training", "errors"},
    "worker": {"client", "wire", "executors", "errors"},
    "sim": {"core", "tables", "errors"},
    "snapshots": {"core", "errors", ""},
    "bench": {"core", "service", "snapshots", "storage", "children", "errors", ""},
    "plots": {"core", "sim", "errors"},
    "experiments": {"core", "tables", "sim", "errors"},
    "reproduce": {"core", "tables", "sim", "experiments", "plots", "errors", ""},
    "service": {"core", "tables", "storage", "snapshots", "training", "wire", "errors", ""},
    "dashboard": set(),
    "forecast": {"core", "service", "storage", "wire", "errors"},
    "http": {"dashboard", "service", "storage", "tables", "training", "wire", "errors", ""},
    "demo": {"core", "tables", "sim", "experiments", "wire", "client", "training", "executors"}
    | {"children", "errors"},
    "cli": {"core", "tables", "sim", "experiments", "reproduce", "bench", "plots"}
    | {
        "storage",
        "service",
        "forecast",
        "http",
        "wire",
        "client",
        "executors",
        "worker",
        "training",
    }
    | {"demo"}
    | {"errors", ""},
    "__main__": {"cli"},
}
CORE_MAY_IMPORT = {
    "bentham", "numpy", "scipy",
    "bisect", "collections", "copy", "dataclasses", "enum", "functools", "heapq", "itertools",
    "math", "operator", "typing",
}  # fmt: skip
FILES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def imported(path: Path) -> list[str]:
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: import by the full name"
            assert node.module is not None
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return names


def layer_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_inwards(path: Path) -> None:
    layer = layer_of(path)
    for name in imported(path):
        parts = name.split(".")
        if parts[0] != "bentham":
            continue
        target = (
            parts[1] if (ROOT / parts[1]).is_dir() or (ROOT / f"{parts[1]}.py").exists() else ""
        )
        assert target == layer or target in ALLOWED[layer], f"{path} imports {name}"


@pytest.mark.parametrize(
    "path", [path for path in FILES if layer_of(path) == "core"], ids=lambda path: path.name
)
def test_core_imports_numbers_and_nothing_else(path: Path) -> None:
    assert {name.split(".")[0] for name in imported(path)} <= CORE_MAY_IMPORT
    tree = ast.parse(path.read_text())
    called = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    assert not called & {"open", "print", "input", "eval", "exec"}
    # Of numpy's chance only seeded streams: no global state, no default_rng() from the system.
    random = {name for name in called if name.startswith("np.random.")}
    assert random <= {"np.random.PCG64", "np.random.SeedSequence"}


def test_every_layer_is_known() -> None:
    assert {layer_of(path) for path in FILES} == set(ALLOWED)
    assert sys.version_info >= (3, 11)
