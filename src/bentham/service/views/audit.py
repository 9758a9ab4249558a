"""Exports the log as a file, and verifies it by making every decision again: for audits, offline.

The first line describes the file, every other line is a record. Hashes of tokens are left out, so
that the file gives no access. Hashes of datasets stay: they identify the content that was used.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bentham.core import Decision
from bentham.errors import BenthamError, InvalidRecording
from bentham.service.fold.events import TrialLeased, decode
from bentham.service.fold.pool import Pool
from bentham.service.fold.table import apply
from bentham.storage import Record

FORMAT, VERSION = "bentham-log", 1
_FIELDS: dict[str, Any] = {
    "sequence": int, "time": (int, float), "kind": str, "version": int, "actor": str,
    "request": str, "tenant": str, "key": str, "body": dict,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ReplayDifference:
    """A decision that differs when it is made again."""

    sequence: int
    trial: str
    recorded: Decision
    remade: Decision | None


def export_lines(records: Iterable[Record]) -> Iterator[str]:
    """Yield the lines of an export."""
    yield json.dumps({"format": FORMAT, "version": VERSION})
    for record in records:
        body = json.loads(record.body)
        if record.kind == "token-issued":
            body["hash"] = ""
        fields: dict[str, Any] = {name: getattr(record, name) for name in _FIELDS}
        yield json.dumps({**fields, "body": body}, allow_nan=False)


def log_view(record: Record) -> dict[str, Any]:
    """Return a record as operators see it, without hashes of tokens."""
    body = json.loads(record.body)
    if record.kind == "token-issued":
        body.pop("hash", None)
    return {
        "sequence": record.sequence,
        "time": record.time,
        "kind": record.kind,
        "version": record.version,
        "actor": record.actor,
        "request": record.request,
        "tenant": record.tenant,
        "body": body,
    }


def read_lines(path: Path) -> Iterator[Record]:
    """Yield the records of a file that `export_lines` made."""
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                data = _parsed(path, number, line)
                if number == 1:
                    if (data.get("format"), data.get("version")) != (FORMAT, VERSION):
                        raise InvalidRecording(
                            f"{path}: not an exported log of version {VERSION}; create one with "
                            "bentham log export"
                        )
                else:
                    yield _record(path, number, data)
    except UnicodeDecodeError:
        raise InvalidRecording(f"{path}: not an exported log, since it is not UTF-8 text") from None
    except OSError as error:
        raise InvalidRecording(f"{path}: cannot be read ({error.strerror})") from None


def _parsed(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        raise InvalidRecording(f"{path}, row {number}: not a JSON object; is the file complete?")
    return data


def _record(path: Path, number: int, data: dict[str, Any]) -> Record:
    for name, kinds in _FIELDS.items():
        if not isinstance(data.get(name), kinds) or isinstance(data[name], bool):
            raise InvalidRecording(f"{path}, row {number}: invalid {name}: {data.get(name)!r}")
    fields = {name: data[name] for name in _FIELDS}
    return Record(**{**fields, "body": json.dumps(data["body"])})


def verify(records: Iterable[Record], pool: Pool) -> Iterator[ReplayDifference | None]:
    """Apply records to the pool and make every decision again; yield once for every record."""
    for record in records:
        difference = None
        try:
            event = decode(record.kind, record.version, record.body)
            if isinstance(event, TrialLeased):
                remade = pool.scheduler.decide(event.decision.device, event.barred)
                if remade != event.decision:
                    difference = ReplayDifference(record.sequence, event.id, event.decision, remade)
            apply(pool, record.sequence, record.time, event, record.actor, record.key)
        except (BenthamError, KeyError) as error:
            raise InvalidRecording(
                f"event {record.sequence} ({record.kind}) does not fit those before it ({error})"
            ) from None
        yield difference
