"""Damaged, invalid and malicious snapshots are refused, and no code in them runs."""

import pickle
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.problems import small_scheduler

from bentham.core.problem.decision import Reason
from bentham.core.scheduler.scheduler import Scheduler
from bentham.errors import InvalidSnapshot
from bentham.service.fold import snapshots
from bentham.service.fold.snapshots import dump, load


def sealed(raw: bytes) -> bytes:
    """Return a pickle with a valid header, as an attacker could create it."""
    return snapshots._sealed(zlib.compress(raw), len(raw))


def global_of(module: str, name: str) -> bytes:
    return f"c{module}\n{name}\n".encode()


def text(value: str) -> bytes:
    return b"X" + len(value.encode()).to_bytes(4, "little") + value.encode()


def called(module: str, name: str, *arguments: str) -> bytes:
    """Return opcodes that call a function with strings and leave its result on the stack."""
    return global_of(module, name) + b"(" + b"".join(map(text, arguments)) + b"tR"


def instance_of(name: str) -> bytes:
    return called("bentham.service.fold.snapshots", "_instance", name)


@pytest.fixture(scope="module")
def snapshot() -> bytes:
    scheduler = small_scheduler()
    scheduler.add_study("s", {"m0": 1.0, "m1": None})
    return dump(scheduler)


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("os", "system"),
        ("posix", "system"),
        ("subprocess", "Popen"),
        ("builtins", "eval"),
        ("builtins", "exec"),
        ("builtins", "getattr"),
        ("builtins", "__import__"),
        ("__builtin__", "eval"),
        ("functools", "partial"),
        ("operator", "attrgetter"),
        ("pathlib", "Path"),
        ("copyreg", "_reconstructor"),
        ("numpy", "load"),
        ("numpy", "dtype"),
        ("numpy._core.multiarray", "_reconstruct"),
        ("bentham.cli", "main"),
        ("bentham.core.state.blocks", "Block"),
        ("bentham.core.scheduler.scheduler", "Scheduler.__init__.__globals__"),
        ("bentham.core.scheduler.scheduler", "operator"),
        ("bentham.service.fold.snapshots", "load"),
        ("bentham.service.fold.snapshots", "sys"),
        ("bentham.service.fold.snapshots", "_class_named"),
        ("bentham.service.fold.snapshots", "_instance.__globals__"),
        ("collections", "namedtuple"),
        ("collections", "deque.__init__"),
    ],
)
def test_other_functions_are_refused(module: str, name: str, tmp_path: Path) -> None:
    marker = tmp_path / "sign"
    command = f"touch {marker}" if name in ("system", "Popen") else f"open({str(marker)!r}, 'w')"
    for raw in (
        b"\x80\x05" + called(module, name, command) + b".",
        b"\x80\x05" + text(module) + text(name) + b"\x93" + text(command) + b"\x85R.",
        b"(i" + f"{module}\n{name}\n.".encode(),
    ):
        with pytest.raises(InvalidSnapshot, match="refers to"):
            load(sealed(raw))
    assert not marker.exists()


def test_the_attack_works_with_plain_pickle(tmp_path: Path) -> None:
    # The attack works with plain pickle, so the test above shows that the loader refuses it.
    marker = tmp_path / "sign"
    pickle.loads(b"\x80\x05" + called("os", "system", f"touch {marker}") + b".")
    assert marker.exists()


@pytest.mark.parametrize(
    "name",
    [
        "os:system",
        "subprocess:Popen",
        "builtins:object",
        "bentham.cli:main",
        "bentham.sim.oracle:Oracle",
        "bentham.tables.reader:Path",
        "bentham.service.fold.snapshots:_Guarded",
        "bentham.core.scheduler.scheduler:operator",
        "bentham.core.scheduler.scheduler:defaults_of",  # a function
        "bentham.core.scheduler.scheduler:State",  # of another module
        "bentham.core.state.arms:IntEnum",
        "bentham.core.state.arms:Status",  # has members
        "bentham.core.problem.study:Arm",  # a tuple
        "bentham.core.state.blocks:Block.__init__",
        "bentham.core.state.gains:Pairs.of",
        "bentham.core.state.blocks:__builtins__",
        "bentham.core.nothing:Here",
        "bentham.corefake:Block",
        "bentham.core.state.blocks",
        ":",
    ],
)
def test_only_classes_of_the_state_are_instantiated(name: str) -> None:
    with pytest.raises(InvalidSnapshot):
        load(sealed(b"\x80\x05" + instance_of(name) + b"."))


def test_no_constructor_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a constructor ran")

    data = dump(small_scheduler())
    monkeypatch.setattr(Scheduler, "__init__", refuse)
    assert isinstance(load(data), Scheduler)
    with pytest.raises(InvalidSnapshot):
        load(
            sealed(
                b"\x80\x05"
                + called("bentham.service.fold.snapshots", "_instance", "a:b", "more")
                + b"."
            )
        )


@pytest.mark.parametrize("state", [b"}X\x01\x00\x00\x00xK\x01s", b"N}X\x01\x00\x00\x00xK\x01s\x86"])
@pytest.mark.parametrize(
    "target",
    [
        global_of("bentham.service.fold.snapshots", "_instance"),
        global_of("bentham.service.fold.snapshots", "_member"),
        global_of("collections", "deque"),
        global_of("collections", "OrderedDict"),
        called(
            "bentham.service.fold.snapshots",
            "_member",
            "bentham.core.problem.decision:Reason",
            "policy",
        ),
    ],
)
def test_nothing_of_the_program_is_changed(target: bytes, state: bytes) -> None:
    before = {name: dict(vars(Reason[name])) for name in Reason.__members__}
    known = set(vars(snapshots._instance))
    with pytest.raises(InvalidSnapshot):
        load(sealed(b"\x80\x05" + target + state + b"b."))
    assert {name: dict(vars(Reason[name])) for name in Reason.__members__} == before
    assert set(vars(snapshots._instance)) == known
    assert not hasattr(Reason.POLICY, "x")


def test_arrays_must_be_numeric_and_have_the_declared_size() -> None:
    def array(*arguments: Any) -> bytes:
        return pickle.dumps(_ArrayCall(*arguments), protocol=5)

    good = load(sealed(array("<f8", (2,), "C", bytes(16))))
    assert isinstance(good, np.ndarray)
    assert not good.flags.writeable
    for arguments in (
        ("|O", (2,), "C", bytes(16)),
        ("V8", (2,), "C", bytes(16)),
        ("O", (2,), "C", bytes(16)),
        ("<f8,O", (1,), "C", bytes(16)),
        ("<f8", (3,), "C", bytes(16)),
        ("<f8", (1,), "C", bytes(16)),
        ("<f8", (-2,), "C", bytes(16)),
        ("<f8", (2**62, 2**62), "C", bytes(16)),
        ("<f8", (2,), "C", "text"),
        ("<f8", (2,), "C", [1]),
        (["<f8"], (2,), "C", bytes(16)),
        ("<f8", "2", "C", bytes(16)),
        ("<f8", (2,), "X", bytes(16)),
    ):
        with pytest.raises(InvalidSnapshot):
            load(sealed(array(*arguments)))


class _ArrayCall:
    """Pickles as a call of the function that creates arrays."""

    def __init__(self, *arguments: Any):
        self.arguments = arguments

    def __reduce__(self) -> Any:
        return snapshots._array, self.arguments


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b".",
        b"\x80\x05",
        b"\x80\x63N.",
        b"not a pickle",
        b"\x80\x05N.N.",  # continues after the end
        b"\x80\x05h\x00.",
        b"\x80\x05\x97.",  # a buffer from outside
        b"P1\n.",  # a persistent object
        b"\x82\x01.",  # an extension
        b"\x80\x05\x96" + (1 << 62).to_bytes(8, "little") + b".",  # an impossibly large array
        b"\x80\x05\x8e" + (1 << 40).to_bytes(8, "little") + b"short",
        b"\x80\x05\x95" + (1 << 60).to_bytes(8, "little") + b"N.",
    ],
)
def test_invalid_pickles(raw: bytes) -> None:
    with pytest.raises(InvalidSnapshot):
        load(sealed(raw))


def test_no_more_is_unpacked_than_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = pickle.dumps(bytes(10**7), protocol=5)
    bomb = zlib.compress(raw, 9)
    assert len(bomb) < 20_000
    for size in (100, len(raw) - 1, len(raw) + 1, 1 << 63):
        with pytest.raises(InvalidSnapshot, match="declare"):
            load(snapshots._sealed(bomb, size))
    with pytest.raises(InvalidSnapshot, match="does not have the declared length"):
        load(snapshots._sealed(bomb + b"more", len(raw)))
    with pytest.raises(InvalidSnapshot, match="unpacked"):
        load(snapshots._sealed(b"not packed", 10))
    monkeypatch.setattr(snapshots, "LARGEST_PAYLOAD", 1000)
    with pytest.raises(InvalidSnapshot, match=f"declares {len(raw)} bytes"):
        load(snapshots._sealed(bomb, len(raw)))
    with pytest.raises(InvalidSnapshot, match="would take"):
        dump(bytes(1001))


def test_every_flipped_bit_is_detected(snapshot: bytes) -> None:
    for offset in range(len(snapshot)):
        for bit in range(8):
            corrupt = bytearray(snapshot)
            corrupt[offset] ^= 1 << bit
            with pytest.raises(InvalidSnapshot):
                load(bytes(corrupt))
    assert load(snapshot) is not None


def test_every_other_length_is_refused(snapshot: bytes) -> None:
    for length in range(len(snapshot)):
        with pytest.raises(InvalidSnapshot):
            load(snapshot[:length])
    with pytest.raises(InvalidSnapshot):
        load(snapshot + b"\0")


def test_another_format_is_refused(snapshot: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(snapshots.FORMATS, "bentham.core", 10**6)
    with pytest.raises(InvalidSnapshot, match="has another format"):
        load(snapshot)
    monkeypatch.undo()
    monkeypatch.setattr(snapshots, "FORMAT", 2)
    with pytest.raises(InvalidSnapshot, match="has format 1, not format 2"):
        load(snapshot)
