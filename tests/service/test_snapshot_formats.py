"""What snapshots hold is recorded: whoever changes it has to raise a format, or a start fails.

Run this file as a program to record the present attributes after a format was raised.
"""

import json
from typing import Any

import pytest
from support.paths import GOLDEN
from support.pools import lively
from support.service_app import Service
from support.service_story import Story

from bentham.service.fold import recovery, snapshots
from bentham.service.fold.pool import Pool
from bentham.service.fold.recovery import recover, save_snapshot
from bentham.service.views import entities
from bentham.storage import MemoryDatabase, MemoryLog

FORMATS = GOLDEN / "snapshot-formats.json"
RECORD = "record it: PYTHONPATH=tests python tests/service/test_snapshot_formats.py"


def attributes(thing: Any) -> set[str]:
    """The names of an object's attributes, in slots or not."""
    slots = (getattr(kind, "__slots__", ()) for kind in type(thing).__mro__)
    names = {name for each in slots for name in ((each,) if isinstance(each, str) else each)}
    return names | set(getattr(thing, "__dict__", ()))


def held() -> dict[str, Any]:
    """The formats, and the attributes of every object in snapshots of pools with some of all."""
    found: dict[str, set[str]] = {}

    class Noting(snapshots._Pickler):
        def reducer_override(self, thing: Any) -> Any:
            reduced = super().reducer_override(thing)
            if isinstance(reduced, tuple) and reduced[0] is snapshots._instance:
                found.setdefault(reduced[1][0], set()).update(attributes(thing))
            elif isinstance(reduced, tuple) and reduced[0] is snapshots._named:
                found.setdefault(reduced[1][0], set()).update(type(thing)._fields)
            return reduced

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(snapshots, "_Pickler", Noting)
        snapshots.dump(lively().pool)
        service = Service(MemoryLog)
        try:
            Story(service, seed=1).go_on(200)
            snapshots.dump(service.pool)
        finally:
            service.close()
    return {
        "formats": dict(snapshots.FORMATS),
        "attributes": {name: sorted(names) for name, names in sorted(found.items())},
    }


def test_a_change_of_what_snapshots_hold_raises_a_format() -> None:
    recorded, present = json.loads(FORMATS.read_text()), held()
    assert present["formats"] == recorded["formats"], f"{RECORD}"
    for name in {*recorded["attributes"], *present["attributes"]}:
        package = next(each for each in snapshots.FORMATS if name.startswith(each))
        assert present["attributes"].get(name) == recorded["attributes"].get(name), (
            f"{name} holds other attributes than recorded: raise the format of {package!r} in "
            f"fold/snapshots.py, then {RECORD}"
        )


def log_with_snapshot() -> tuple[MemoryLog, Pool]:
    database = MemoryDatabase()
    service = Service(lambda: MemoryLog(database))
    Story(service, seed=2).go_on(60)
    service.close()
    log = MemoryLog(database)
    pool = recover(log)
    save_snapshot(log, pool)
    return log, pool


def test_a_snapshot_is_used_by_a_bentham_whose_views_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log, pool = log_with_snapshot()
    monkeypatch.setattr(entities, "study_view", lambda *_: {"changed": True})
    monkeypatch.setattr(snapshots, "_VERSION", b"99.0".ljust(32, b"\0"))
    loaded: list[int] = []
    recover(log, loaded=loaded.append)
    assert loaded == [pool.sequence]


def test_a_snapshot_of_another_format_is_reported_and_the_log_replayed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log, pool = log_with_snapshot()
    monkeypatch.setitem(snapshots.FORMATS, "bentham.service.fold", 10**6)
    loaded: list[int] = []
    warned: list[dict[str, Any]] = []

    class Logger:
        def warning(self, message: str, **more: Any) -> None:
            warned.append({"message": message, **more})

    monkeypatch.setattr(recovery, "logger", Logger())
    again = recover(log, loaded=loaded.append)
    assert loaded == []
    assert again.sequence == pool.sequence
    assert warned[0]["message"] == "a snapshot was not used"
    assert "another format" in warned[0]["reason"]


if __name__ == "__main__":
    FORMATS.write_text(json.dumps(held(), indent=1) + "\n")
