"""What the server's log says about events: devices, lost leases, studies and uploads."""

from typing import Any, NamedTuple

import structlog

from bentham.service.engine.rules import REGISTERED_AGAIN
from bentham.service.fold import events
from bentham.service.fold.pool import Pool

logger = structlog.get_logger("bentham.pool")


class Note(NamedTuple):
    """A line of the server's log."""

    text: str
    fields: dict[str, Any]
    warning: bool = False

    def write(self) -> None:
        """Write the line."""
        (logger.warning if self.warning else logger.info)(self.text, **self.fields)


def note_of(pool: Pool, event: events.Event) -> Note | None:
    """Return the line about an event that was just applied; None if there is none."""
    match event:
        case events.DeviceRegistered():
            again = " again" if event.name in pool.departed else ""
            return Note(f"device registered{again}", {"device": event.name, "kind": event.kind})
        case events.DeviceLeft() if event.reason == REGISTERED_AGAIN:
            return None  # the next line says so
        case events.DeviceLeft():
            return Note("device left", {"device": event.name, "reason": event.reason})
        case events.TrialLost():
            trial = pool.trial(event.id)
            fields = {
                "device": trial.device,
                "trial": trial.id,
                "model": trial.model,
                "study": trial.study.name,
                "tenant": trial.study.tenant.name,
                "reason": event.reason,
            }
            return Note("lease lost", fields, warning=True)
        case events.StudyCreated():
            return Note(
                "study created",
                {"study": event.name, "tenant": event.tenant, "models": len(event.models)},
            )
        case events.StudyClosed():
            study = pool.studies[event.id]
            return Note(
                "study closed",
                {"study": study.name, "tenant": study.tenant.name, "reason": event.reason},
            )
        case events.DatasetAdded():
            return Note(
                "dataset uploaded",
                {"dataset": event.name, "tenant": event.tenant, "rows": event.rows},
            )
    return None
