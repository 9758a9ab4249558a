"""The tables of events and states are complete, and invalid transitions are refused."""

from typing import get_args

import pytest
from support.pools import Story

from bentham.errors import InvalidRecording
from bentham.service.fold import events, handlers
from bentham.service.fold.lifecycles import ARM, LIFECYCLES, STUDY, TRIAL, Lifecycle
from bentham.service.fold.table import BY_KIND, ENTRIES, shown_kinds
from bentham.wire.devices import TrialState
from bentham.wire.studies import CandidateState, StudyState


def test_every_event_has_one_entry() -> None:
    assert [entry.event for entry in ENTRIES] != []
    assert {entry.kind: entry.event for entry in ENTRIES} == events.KINDS
    assert len(ENTRIES) == len(events.KINDS)


def test_states_are_those_of_the_wire() -> None:
    for cycle, known in ((STUDY, StudyState), (TRIAL, TrialState), (ARM, CandidateState)):
        assert tuple(cycle.states) == get_args(known)


@pytest.mark.parametrize("cycle", LIFECYCLES, ids=lambda cycle: cycle.name)
def test_transitions_use_existing_states_and_events(cycle: Lifecycle) -> None:
    for each in cycle.transitions:
        assert {*each.before, each.after} <= set(cycle.states)
        assert each.event in BY_KIND
    reached = {each.after for each in cycle.transitions}
    assert reached | {next(iter(cycle.states))} == set(cycle.states)


def test_the_table_says_which_events_start_and_end_trials() -> None:
    ends = {each.event for each in TRIAL.transitions}
    assert {entry.kind for entry in ENTRIES if entry.ends_trial} == ends
    assert {events.name_of(event) for event in get_args(handlers.Ended)} == ends
    changes = [each for cycle in LIFECYCLES for each in cycle.transitions]
    starts = {each.event for each in changes if each.after == "running"}
    assert {entry.kind for entry in ENTRIES if entry.starts_trial} == starts
    # Waiting devices ask again after an event that lets something run.
    frees = {each.event for each in changes if each.after in ("open", "untried", "waiting")}
    assert ends | frees <= {entry.kind for entry in ENTRIES if entry.opens}


def test_invalid_transitions_are_refused() -> None:
    with pytest.raises(InvalidRecording, match="study that is closed"):
        STUDY.check("closed", "study-resumed", "open")
    with pytest.raises(InvalidRecording, match="trial that is lost"):
        TRIAL.check("lost", "trial-completed", "complete")


def test_the_pool_refuses_invalid_transitions() -> None:
    story = Story()
    story.study("wine")
    story.add(events.StudyClosed("wine", "closed by request"))
    with pytest.raises(InvalidRecording, match="study-resumed for a study that is closed"):
        story.add(events.StudyResumed("wine"))
    assert story.pool.studies["wine"].state == "closed"


def test_pages_receive_the_events_they_show() -> None:
    assert "trial-completed" in shown_kinds()
    assert not [kind for kind in shown_kinds() if kind.startswith(("token-", "pool-", "request-"))]
