"""Handlers of events about datasets."""

from bentham.service.fold import events as happened
from bentham.service.fold.entities import Dataset, as_json
from bentham.service.fold.state import State


def dataset_added(state: State, time: float, event: happened.DatasetAdded) -> None:
    """Add a dataset."""
    made = Dataset(
        event.id, event.tenant, event.name, event.hash, event.format, event.delimiter,
        event.bytes, event.rows, len(event.columns), as_json(event.columns), tuple(event.notes),
        time,
    )  # fmt: skip
    state.datasets[made.id] = state.datasets_of(made.tenant)[made.id] = made


def dataset_dropped(state: State, time: float, event: happened.DatasetDropped) -> None:  # noqa: ARG001
    """Remove a dataset."""
    del state.datasets[event.id], state.datasets_of(event.tenant)[event.id]
