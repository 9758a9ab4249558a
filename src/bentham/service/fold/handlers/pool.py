"""Handlers of events about the pool: how it makes decisions, its settings, its history."""

from bentham.core.problem import events as core
from bentham.service.fold import events as happened
from bentham.service.fold.state import State


def pool_created(state: State, time: float, event: happened.PoolCreated) -> None:  # noqa: ARG001
    """Set how decisions are made."""
    state.begin(event)


def settings_changed(state: State, time: float, event: happened.SettingsChanged) -> None:  # noqa: ARG001
    """Change the settings that an operator may change at every start."""
    state.scheduler.patience = event.patience


def request_noted(state: State, time: float, event: happened.RequestNoted) -> None:
    """Do nothing: only its key is stored."""


def history_imported(state: State, time: float, event: happened.HistoryImported) -> None:
    """Add past runs, which set the prior."""
    state.scheduler.apply(core.HistoryAdded(time, event.history))
    state.history.append(event.history)
    for runs in event.history.values():
        state.models.update(dict.fromkeys(runs))
