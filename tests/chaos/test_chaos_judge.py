"""The judge of support/chaos detects violations."""

import json

from support.chaos import judge
from support.chaos.fleet import score_of
from support.chaos.judge import Verdict
from support.chaos.ledger import Ledger

from bentham.core.problem.decision import Decision, Reason
from bentham.service.fold import events
from bentham.storage import Record

STUDY = events.StudyCreated(
    "s_1", "vision", "first", "wine", "score", {"svm": 1.0, "forest": 1.0}, 1.0, 0.0, None, None
)
SCORE = score_of("wine", "svm")


def leased(trial: str, fence: int, model: str = "svm") -> events.TrialLeased:
    decision = Decision(
        fence, "gpu", "s_1", "wine", model, Reason.POLICY, 1.0, 1.0, (), 1.0, 1.0, ()
    )
    return events.TrialLeased(trial, decision, 1)


def violations_of(*log_events: events.Event) -> list[str]:
    verdict = Verdict()
    judge._trials(verdict, [STUDY, *log_events])
    return verdict.violations


def test_trials() -> None:
    done = events.TrialCompleted("t_1", SCORE)
    assert violations_of(leased("t_1", 0), done) == []
    assert violations_of(leased("t_1", 0)) == ["1 trials never ended"]
    assert violations_of(leased("t_1", 0), done, done)[0] == "trial t_1 ended twice"
    again = (leased("t_2", 1), events.TrialCompleted("t_2", SCORE))
    assert "observed 2 times" in violations_of(leased("t_1", 0), done, *again)[0]
    lost = (leased("t_2", 0), events.TrialLost("t_2", "the lease ran out"))
    assert violations_of(leased("t_1", 0), done, *lost) == ["the fence 0 was used 2 times"]
    other = events.TrialCompleted("t_1", 0.5)
    assert violations_of(leased("t_1", 0), other) == ["trial t_1 has the score 0.5"]


def test_responses() -> None:
    ledger = Ledger()
    route, body = "POST /v1/trials/t_1/complete", json.dumps({"fence": 0, "score": SCORE}).encode()
    reply = json.dumps({"id": "t_1", "score": SCORE}).encode()
    ledger.record(route, "key", body, 200, reply)
    kept, lost, altered = Verdict(), Verdict(), Verdict()
    judge._responses(
        kept, [STUDY, leased("t_1", 0), events.TrialCompleted("t_1", SCORE)], ledger, {}
    )
    assert (kept.violations, kept.acknowledged, kept.lost) == ([], 1, 0)
    judge._responses(lost, [STUDY, leased("t_1", 0)], ledger, {})
    assert (lost.violations, lost.lost) == (["the score of t_1 was lost"], 1)
    judge._responses(altered, [STUDY, events.TrialCompleted("t_1", 0.5)], ledger, {})
    assert altered.lost == 1
    ledger.record(route, "key", body, 200, json.dumps({"id": "t_1", "score": 0.5}).encode())
    again = Verdict()
    judge._responses(again, [events.TrialCompleted("t_1", SCORE)], ledger, {})
    assert "the key key got two responses" in again.violations
    ledger.responses.pop()
    lease = {"trial": "t_9", "fence": 3, "device": "gpu", "model": "svm"}
    ledger.record("POST /v1/devices/gpu/lease", "other", b"{}", 200, json.dumps(lease).encode())
    unknown = Verdict()
    judge._responses(unknown, [events.TrialCompleted("t_1", SCORE)], ledger, {})
    assert unknown.violations == ["the lease of t_9 is not in the log"]


def test_the_sequence() -> None:
    def found(*numbered: tuple[int, str]) -> list[str]:
        verdict = Verdict()
        records = [Record(n, 0.0, "study-paused", 1, "", "", "", key, "{}") for n, key in numbered]
        judge._sequence(verdict, records)
        return verdict.violations

    assert found((1, "a"), (2, ""), (3, "")) == []
    assert found((1, ""), (3, "")) == ["the sequence has gaps"]
    assert found((1, "a"), (2, "a")) == ["the key a was executed twice"]
