"""The judge of support/chaos sees what it is there to see."""

import json

from support.chaos import judge
from support.chaos.fleet import score_of
from support.chaos.judge import Verdict
from support.chaos.ledger import Ledger

from bentham.core.problem.decision import Decision, Reason
from bentham.service.fold import events as happened
from bentham.storage import Record

STUDY = happened.StudyCreated(
    "s_1", "vision", "first", "wine", "score", {"svm": 1.0, "forest": 1.0}, 1.0, 0.0, None, None
)
SCORE = score_of("wine", "svm")


def leased(trial: str, fence: int, model: str = "svm") -> happened.TrialLeased:
    decision = Decision(
        fence, "gpu", "s_1", "wine", model, Reason.POLICY, 1.0, 1.0, (), 1.0, 1.0, ()
    )
    return happened.TrialLeased(trial, decision, 1)


def violations_of(*events: happened.Event) -> list[str]:
    verdict = Verdict()
    judge._trials(verdict, [STUDY, *events])
    return verdict.violations


def test_trials() -> None:
    done = happened.TrialCompleted("t_1", SCORE)
    assert violations_of(leased("t_1", 0), done) == []
    assert violations_of(leased("t_1", 0)) == ["1 trials never ended"]
    assert violations_of(leased("t_1", 0), done, done)[0] == "trial t_1 ended twice"
    again = (leased("t_2", 1), happened.TrialCompleted("t_2", SCORE))
    assert "observed 2 times" in violations_of(leased("t_1", 0), done, *again)[0]
    lost = (leased("t_2", 0), happened.TrialLost("t_2", "the lease ran out"))
    assert violations_of(leased("t_1", 0), done, *lost) == ["the fence 0 was used 2 times"]
    other = happened.TrialCompleted("t_1", 0.5)
    assert violations_of(leased("t_1", 0), other) == ["trial t_1 has the score 0.5"]


def test_promises() -> None:
    ledger = Ledger()
    route, body = "POST /v1/trials/t_1/complete", json.dumps({"fence": 0, "score": SCORE}).encode()
    reply = json.dumps({"id": "t_1", "score": SCORE}).encode()
    ledger.note(route, "key", body, 200, reply)
    kept, lost, altered = Verdict(), Verdict(), Verdict()
    judge._promises(
        kept, [STUDY, leased("t_1", 0), happened.TrialCompleted("t_1", SCORE)], ledger, {}
    )
    assert (kept.violations, kept.acknowledged, kept.lost) == ([], 1, 0)
    judge._promises(lost, [STUDY, leased("t_1", 0)], ledger, {})
    assert (lost.violations, lost.lost) == (["the score of t_1 was lost"], 1)
    judge._promises(altered, [STUDY, happened.TrialCompleted("t_1", 0.5)], ledger, {})
    assert altered.lost == 1
    ledger.note(route, "key", body, 200, json.dumps({"id": "t_1", "score": 0.5}).encode())
    again = Verdict()
    judge._promises(again, [happened.TrialCompleted("t_1", SCORE)], ledger, {})
    assert "the key key got two answers" in again.violations
    ledger.answers.pop()
    lease = {"trial": "t_9", "fence": 3, "device": "gpu", "model": "svm"}
    ledger.note("POST /v1/devices/gpu/lease", "other", b"{}", 200, json.dumps(lease).encode())
    unknown = Verdict()
    judge._promises(unknown, [happened.TrialCompleted("t_1", SCORE)], ledger, {})
    assert unknown.violations == ["the lease of t_9 is not in the log"]


def test_the_sequence() -> None:
    def found(*numbered: tuple[int, str]) -> list[str]:
        verdict = Verdict()
        records = [Record(n, 0.0, "study-paused", 1, "", "", "", key, "{}") for n, key in numbered]
        judge._sequence(verdict, records)
        return verdict.violations

    assert found((1, "a"), (2, ""), (3, "")) == []
    assert found((1, ""), (3, "")) == ["the sequence has gaps"]
    assert found((1, "a"), (2, "a")) == ["the key a was carried out twice"]
