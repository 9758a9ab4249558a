"""The table of events and that of states: nothing is missing, and what cannot follow is refused."""

from typing import get_args

import pytest
from support.pools import Story

from bentham.errors import InvalidRecording
from bentham.service.fold import events as happened
from bentham.service.fold.lifecycles import ARM, LIFECYCLES, STUDY, TRIAL, Lifecycle
from bentham.service.fold.table import BY_KIND, ENTRIES, shown_kinds
from bentham.wire.devices import TrialState
from bentham.wire.studies import CandidateState, StudyState


def test_every_event_has_one_entry() -> None:
    assert [entry.event for entry in ENTRIES] != []
    assert {entry.kind: entry.event for entry in ENTRIES} == happened.KINDS
    assert len(ENTRIES) == len(happened.KINDS)


def test_states_are_those_of_the_wire() -> None:
    for cycle, known in ((STUDY, StudyState), (TRIAL, TrialState), (ARM, CandidateState)):
        assert tuple(cycle.states) == get_args(known)


@pytest.mark.parametrize("cycle", LIFECYCLES, ids=lambda cycle: cycle.name)
def test_transitions_name_states_and_events_that_there_are(cycle: Lifecycle) -> None:
    for each in cycle.transitions:
        assert {*each.before, each.after} <= set(cycle.states)
        assert each.event in BY_KIND
    reached = {each.after for each in cycle.transitions}
    assert reached | {next(iter(cycle.states))} == set(cycle.states)


def test_what_cannot_follow_is_refused() -> None:
    with pytest.raises(InvalidRecording, match="study that is closed"):
        STUDY.check("closed", "study-resumed", "open")
    with pytest.raises(InvalidRecording, match="trial that is lost"):
        TRIAL.check("lost", "trial-completed", "complete")


def test_the_fold_refuses_what_cannot_follow() -> None:
    story = Story()
    story.study("wine")
    story.add(happened.StudyClosed("wine", "closed by request"))
    with pytest.raises(InvalidRecording, match="study-resumed for a study that is closed"):
        story.add(happened.StudyResumed("wine"))
    assert story.pool.studies["wine"].state == "closed"


def test_pages_hear_of_what_they_show() -> None:
    assert "trial-completed" in shown_kinds()
    assert not [kind for kind in shown_kinds() if kind.startswith(("token-", "pool-", "request-"))]
