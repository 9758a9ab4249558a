"""Imports point inwards, and the core knows no clock, no I/O, no threads and no global chance."""

import ast
import inspect
import sys
from pathlib import Path

import pytest

import bentham
from bentham.service import commands, queries
from bentham.service.engine.turn import roles_of

ROOT = Path(bentham.__file__).parent
# What each layer may import of Bentham, besides itself.
ALLOWED = {
    "errors": set(),
    "subprocesses": set(),
    "wording": set(),
    "file_kinds": set(),
    "core": {"errors"},
    "storage": {"errors"},
    "tables": {"core", "errors"},
    "wire": {"wording"},
    "terminal": set(),
    "client": {"wire", "file_kinds", "errors"},
    "training": {"wording", "file_kinds", "errors"},
    "executors": {"wire", "tables", "training", "errors"},
    "worker": {"client", "wire", "executors", "errors"},
    "sim": {"core", "tables", "wording", "errors"},
    "bench": {"core", "service", "storage", "subprocesses", "errors", ""},
    "plots": {"core", "sim", "errors"},
    "experiments": {"core", "tables", "sim", "wording", "errors"},
    "reproduce": {"core", "tables", "sim", "experiments", "plots", "errors", ""},
    "service": {"core", "tables", "storage", "training", "wire", "wording", "errors", ""},
    "dashboard": set(),
    "forecast": {"core", "service", "storage", "wire", "wording", "errors"},
    "http": {"dashboard", "service", "storage", "tables", "training", "wire", "wording"}
    | {"errors", ""},
    "demo": {"core", "tables", "sim", "experiments", "wire", "client", "training", "executors"}
    | {"subprocesses", "terminal", "wording", "errors"},
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
    | {"demo", "terminal", "wording"}
    | {"errors", ""},
    "__main__": {"cli"},
}
# The rooms of a package in order: a room imports from itself and from rooms before it.
ROOMS = {
    "core": (
        "problem", "gaussian", "learning", "costs", "state", "policies", "scheduler",
        "theory", "worlds",
    ),
    "service": ("refusals", "fold", "engine", "bootstrap", "views", "commands", "jobs", "service"),
}  # fmt: skip
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


@pytest.mark.parametrize("layer", sorted(ALLOWED))
def test_imports_point_inwards(layer: str) -> None:
    for path in (path for path in FILES if layer_of(path) == layer):
        for name in imported(path):
            parts = name.split(".")
            if parts[0] != "bentham":
                continue
            known = (ROOT / parts[1]).is_dir() or (ROOT / f"{parts[1]}.py").exists()
            target = parts[1] if known else ""
            assert target == layer or target in ALLOWED[layer], f"{path} imports {name}"


@pytest.mark.parametrize(
    ("package", "room"), [(package, room) for package, rooms in ROOMS.items() for room in rooms]
)
def test_rooms_import_only_rooms_before_them(package: str, room: str) -> None:
    rooms = ROOMS[package]
    inner = set(rooms[: rooms.index(room) + 1])
    for path in files_in(package, room):
        for name in imported(path):
            parts = name.split(".")
            if parts[:2] == ["bentham", package] and len(parts) > 2 and parts[2] in rooms:
                assert parts[2] in inner, f"{path} imports {name}"


@pytest.mark.parametrize("package", sorted(ROOMS))
def test_every_room_is_known(package: str) -> None:
    found = {path.relative_to(ROOT / package).parts[0] for path in (ROOT / package).rglob("*.py")}
    assert {name.removesuffix(".py") for name in found} - {"__init__"} == set(ROOMS[package])


def files_in(package: str, room: str) -> list[Path]:
    place = ROOT / package / room
    return sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]


def test_core_imports_numbers_and_nothing_else() -> None:
    for path in (path for path in FILES if layer_of(path) == "core"):
        assert {name.split(".")[0] for name in imported(path)} <= CORE_MAY_IMPORT, path
        tree = ast.parse(path.read_text())
        called = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        assert not called & {"open", "print", "input", "eval", "exec"}, path
        # Of numpy's randomness only seeded streams: no global state, no default_rng().
        random = {name for name in called if name.startswith("np.random.")}
        assert random <= {"np.random.PCG64", "np.random.SeedSequence"}, path


def test_every_layer_is_known() -> None:
    assert {layer_of(path) for path in FILES} == set(ALLOWED)
    assert sys.version_info >= (3, 11)


def test_the_service_has_one_front_door() -> None:
    for path in (path for path in FILES if layer_of(path) != "service"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                assert not node.module.startswith("bentham.service."), f"{path}: {node.module}"
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
                assert not [name for name in names if name.startswith("bentham.service")], path


@pytest.mark.parametrize("name", ["studies", "datasets"])
def test_what_tenants_ask_for_never_touches_the_pool(name: str) -> None:
    """A command of tenants sees its own through the scope: `whole()` refuses them the rest."""
    tree = ast.parse((ROOT / "service" / "commands" / f"{name}.py").read_text())
    read = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert not read & {"pool", "_pool"}


def test_every_command_and_query_says_who_may_ask() -> None:
    asked = [getattr(commands, name) for name in commands.__all__ if name != "parsed_history"]
    asked += [
        each
        for each in vars(queries).values()
        if inspect.isfunction(each) and each.__module__ == queries.__name__
    ]
    assert len(asked) > 40
    assert [each.__name__ for each in asked if not roles_of(each)] == []


def test_no_class_name_stands_for_two_things() -> None:
    found: dict[str, list[str]] = {}
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    assert {name: paths for name, paths in found.items() if len(paths) > 1} == {}
