"""Converts a state to bytes and back; a loaded state behaves exactly as the dumped one would have.

    data = dump(scheduler)
    again = load(data)      # every later decision of both is equal, to the bit

    header   magic, format, Bentham's version, formats, size, digest
    formats  SHA-256 of FORMATS below and of the numpy and scipy that computed the state: a
             snapshot made with others is refused, and the log is replayed instead
    digest   SHA-256 of everything else: a damaged snapshot is refused before it is parsed
    payload  a compressed pickle; `size` is its length before compression

An attacker can compute a digest, so the pickle is not trusted either. It never contains a class or
a function: objects are made by the few makers below, which look up classes only in those modules
of FORMATS that are already imported, and run no constructor. So a hostile pickle gets access to
nothing that it could call, and to no class that it could change. It can still make a wrong state,
use up memory or, if nested deeply enough, crash the interpreter: keep snapshots where only the
service can write.
"""

import hashlib
import io
import pickle
import platform
import struct
import sys
import zlib
from collections import OrderedDict, deque
from collections.abc import Callable
from enum import Enum
from functools import cache
from typing import Any, NoReturn

import numpy as np
import scipy

from bentham import __version__
from bentham.errors import InvalidSnapshot

__all__ = ["dump", "load"]

MAGIC, FORMAT = b"\x89BENTHAM", 1
# Larger payloads are neither written nor unpacked.
LARGEST_PAYLOAD = 1 << 32
LEVEL = 1  # of compression: higher levels cost more time than they save
# The packages whose classes a snapshot may contain, and the format of each. Raise a format whenever
# a class there is renamed or moved, gains, loses or reinterprets an attribute, or when the same
# event changes the state in another way than before: `tests/golden/snapshot-formats.json` records
# the attributes, and a test fails if they changed and the format did not. A pickle can call methods
# of these classes named append, extend, add, __setitem__ and __setstate__: they must do no I/O.
FORMATS = {"bentham.core": 2, "bentham.service.fold": 2}
# Numbers only: an array of objects or of records would read pointers from a file.
NUMBERS = ("|b1", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8", "<f2", "<f4", "<f8")
# The same string object every time, so that a pickle writes it once.
_NUMBER_OF = {np.dtype(kind): kind for kind in NUMBERS}
_HEADER = struct.Struct(f">{len(MAGIC)}sH32s32sQ32s")
_DIGEST_AT = _HEADER.size - 32
_REMEDY = "replay the log instead"


def _formats() -> bytes:
    """Return a digest of the formats of this version, and of the libraries it computes with."""
    computed_with = (np.__version__, scipy.__version__, platform.machine())
    return hashlib.sha256(repr((sorted(FORMATS.items()), computed_with)).encode()).digest()


_VERSION = __version__.encode().ljust(32, b"\0")


def dump(state: object) -> bytes:
    """Return plain data, arrays of numbers and objects of the classes in FORMATS as bytes."""
    stream = io.BytesIO()
    try:
        _Pickler(stream, protocol=5).dump(state)
    except (RecursionError, pickle.PicklingError) as error:
        raise InvalidSnapshot(f"cannot make a snapshot of this state: {error}") from error
    with stream.getbuffer() as raw:
        if len(raw) > LARGEST_PAYLOAD:
            raise InvalidSnapshot(
                f"the snapshot would take {len(raw)} bytes, more than {LARGEST_PAYLOAD}; {_REMEDY}"
            )
        return _sealed(zlib.compress(raw, LEVEL), len(raw))


def load(data: bytes) -> object:
    """Return what was dumped, with empty caches; raise InvalidSnapshot for anything else."""
    raw = _unpacked(data)
    stream = io.BufferedReader(io.BytesIO(raw), 1 << 20)
    unpickler = _Unpickler(stream)
    try:
        state = unpickler.load()
    except InvalidSnapshot:
        raise
    except Exception as error:
        # An invalid pickle may raise any exception.
        raise InvalidSnapshot(f"the snapshot cannot be read ({error!r}); {_REMEDY}") from error
    finally:
        unpickler.refuse_changed_members()
    if stream.read(1):
        raise InvalidSnapshot(f"the snapshot has data after its end; {_REMEDY}")
    return state


def _sealed(payload: bytes, size: int) -> bytes:
    """Return a payload with its header."""
    blank = _HEADER.pack(MAGIC, FORMAT, _VERSION, _formats(), size, b"")
    return b"".join((blank[:_DIGEST_AT], _digest(blank, payload), payload))


def _unpacked(data: bytes) -> bytes:
    """Return the unpacked payload, after every check that does not parse it."""
    if len(data) < _HEADER.size or not data.startswith(MAGIC):
        raise InvalidSnapshot(f"this is not a snapshot, or it is truncated; {_REMEDY}")
    _, format_number, version, formats, size, digest = _HEADER.unpack_from(data)
    if format_number != FORMAT:
        raise InvalidSnapshot(
            f"the snapshot has format {format_number}, not format {FORMAT}; {_REMEDY}"
        )
    view = memoryview(data)
    if digest != _digest(view[: _HEADER.size], view[_HEADER.size :]):
        raise InvalidSnapshot(f"the snapshot is damaged: its digest does not match; {_REMEDY}")
    if formats != _formats():
        other = version.rstrip(b"\0").decode(errors="replace")
        raise InvalidSnapshot(
            f"the snapshot has another format (it was written by Bentham {other}), or was computed "
            f"with another numpy or scipy; {_REMEDY}"
        )
    if size > LARGEST_PAYLOAD:
        raise InvalidSnapshot(f"the snapshot declares {size} bytes, which is too many; {_REMEDY}")
    unpacker = zlib.decompressobj()
    try:
        # At most one byte more than declared, to detect excess: never a whole decompression bomb.
        raw = unpacker.decompress(view[_HEADER.size :], size + 1)
    except zlib.error as error:
        raise InvalidSnapshot(f"the snapshot cannot be unpacked ({error}); {_REMEDY}") from error
    if len(raw) != size or not unpacker.eof or unpacker.unused_data:
        raise InvalidSnapshot(f"the snapshot does not have the declared length; {_REMEDY}")
    return raw


def _digest(header: bytes | memoryview, payload: bytes | memoryview) -> bytes:
    digest = hashlib.sha256(header[:_DIGEST_AT])
    digest.update(payload)
    return digest.digest()


# -- the makers: the functions that a pickle may call, and how each kind of object is written


@cache
def _class_named(name: str) -> type:
    """Return a class of FORMATS by its module and its name; nothing is imported for it."""
    module, _, own = name.partition(":")
    known = any(f"{module}.".startswith(f"{package}.") for package in FORMATS)
    if not known or module == __name__:
        raise InvalidSnapshot(f"a snapshot may not contain {name!r}; {_REMEDY}")
    found = vars(sys.modules[module]).get(own) if module in sys.modules else None
    # Not a class that the module only imported: that may be anything.
    if not isinstance(found, type) or _name_of(found) != name:
        raise InvalidSnapshot(f"there is no class {name!r}; {_REMEDY}")
    return found


def _name_of(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


def _instance(name: str) -> object:
    """Make an object without attributes, which follow; no constructor is run."""
    kind = _class_named(name)
    if issubclass(kind, Enum):
        raise InvalidSnapshot(f"{name!r} is an enumeration, which gets no new members; {_REMEDY}")
    return object.__new__(kind)


def _named(name: str, *values: object) -> object:
    """Make a NamedTuple."""
    kind: Any = _class_named(name)
    return tuple.__new__(kind, values) if len(values) == len(kind._fields) else _refuse(name)


def _member(name: str, value: object) -> Enum:
    """Return a member of an enumeration."""
    kind = _class_named(name)
    return kind(value) if issubclass(kind, Enum) else _refuse(name)


def _array(kind: str, shape: tuple[int, ...], order: Any, data: bytes | bytearray) -> object:
    """Make an array of numbers, contiguous in the same order and writable if it was."""
    if kind not in NUMBERS or not isinstance(data, bytes | bytearray):
        _refuse(kind)
    array: Any = np.ndarray(shape, kind, data, order=order)
    return array if array.nbytes == len(data) else _refuse(kind)


def _scalar(kind: str, data: bytes) -> object:
    """Make a numpy number."""
    return np.frombuffer(data, kind)[0] if kind in NUMBERS else _refuse(kind)


def _refuse(name: str) -> NoReturn:
    raise InvalidSnapshot(f"the snapshot contains invalid data for {name!r}; {_REMEDY}")


_COLLECTIONS = (deque, OrderedDict)
_MAKERS = (_instance, _named, _member, _array, _scalar)
_KNOWN = (*_MAKERS, *_COLLECTIONS)


class _Pickler(pickle.Pickler):
    """Writes every object as a call of a maker, and refuses objects that no maker can make."""

    def __init__(self, stream: io.BytesIO, protocol: int):
        super().__init__(stream, protocol)
        self._names: dict[type, str] = {}  # one string object per class, so it is written once

    def reducer_override(self, value: Any) -> Any:
        kind = type(value)
        if kind is np.ndarray:
            return _array, self._array_arguments(value)
        if kind in _COLLECTIONS or any(value is known for known in _KNOWN):
            return NotImplemented
        if isinstance(value, np.generic) and value.dtype in _NUMBER_OF:
            return _scalar, (_NUMBER_OF[value.dtype], value.tobytes())
        name = self._names.get(kind) or self._names.setdefault(kind, self._checked_name(value))
        if isinstance(value, Enum):
            return _member, (name, value.value)
        if isinstance(value, tuple):
            return _named, (name, *value)
        return _instance, (name,), value.__getstate__()

    def _array_arguments(self, array: Any) -> tuple[object, ...]:
        flags = array.flags
        # A layout with gaps would be lost, and with it the order in which numpy adds numbers.
        number = _NUMBER_OF.get(array.dtype)
        if number is None or not (flags.c_contiguous or flags.f_contiguous):
            raise InvalidSnapshot(
                f"cannot make a snapshot of an array of {array.dtype} with strides "
                f"{array.strides}; use a contiguous array of numbers"
            )
        order = "C" if flags.c_contiguous else "F"
        return number, array.shape, order, pickle.PickleBuffer(array)

    def _checked_name(self, value: object) -> str:
        kind = type(value)
        name = _name_of(kind)
        plain = (
            isinstance(value, Enum) or hasattr(kind, "_fields") or kind.__new__ is object.__new__
        )
        try:
            if plain and _class_named(name) is kind:
                return name
        except InvalidSnapshot:
            pass
        raise InvalidSnapshot(
            f"cannot make a snapshot of {value!r}: {name} is neither plain data nor a class of "
            f"{' or '.join(FORMATS)}"
        )


class _Guarded:
    """A maker that can be called but not changed: a pickle can set attributes of its objects."""

    __slots__ = ("_make",)
    _make: Callable[..., object]

    def __init__(self, make: Callable[..., object]):
        object.__setattr__(self, "_make", make)

    def __call__(self, *values: object) -> object:
        return self._make(*values)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise InvalidSnapshot(f"the snapshot changes a function of its loader; {_REMEDY}")


class _Unpickler(pickle.Unpickler):
    """Accepts the makers, two collections, and nothing else."""

    def __init__(self, stream: "io.BufferedReader[io.BytesIO]"):
        super().__init__(stream)
        self._members: dict[int, tuple[Enum, dict[str, object]]] = {}
        self._known: dict[tuple[str, str], object] = {
            **{(kind.__module__, kind.__name__): kind for kind in _COLLECTIONS},
            **{(make.__module__, make.__name__): _Guarded(make) for make in _MAKERS},
            (_member.__module__, _member.__name__): _Guarded(self._noted_member),
        }

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self._known:
            raise InvalidSnapshot(
                f"the snapshot refers to {module}.{name}, which is not allowed; {_REMEDY}"
            )
        return self._known[module, name]

    def _noted_member(self, name: str, value: object) -> Enum:
        member = _member(name, value)
        self._members.setdefault(id(member), (member, dict(vars(member))))
        return member

    def refuse_changed_members(self) -> None:
        """Refuse a pickle that changed members of enumerations, and restore them."""
        changed = False
        for member, before in self._members.values():
            if vars(member) != before:
                vars(member).clear()
                vars(member).update(before)
                changed = True
        if changed:
            raise InvalidSnapshot(f"the snapshot changes a member of an enumeration; {_REMEDY}")
