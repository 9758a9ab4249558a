"""Checks what must hold after the faults, when all work is done."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from bentham.service.engine.leases import Leases, Terms
from bentham.service.fold import events as happened
from bentham.service.fold.entities import Trial
from bentham.service.fold.keys import MOST
from bentham.service.fold.pool import Pool
from bentham.service.fold.recovery import recover
from bentham.service.views.entities import study_view, tenant_view, trial_view
from bentham.storage import EventLog, Record
from support.chaos.fleet import Caller, score_of
from support.chaos.ledger import Ledger
from support.chaos.sameness import difference

ENDS = (
    happened.TrialCompleted,
    happened.TrialFailed,
    happened.TrialLost,
    happened.TrialReleased,
)


@dataclass(slots=True)
class Verdict:
    """The violations, and figures that show how much was tested."""

    violations: list[str] = field(default_factory=list)
    acknowledged: int = 0  # completions that were acknowledged
    lost: int = 0  # of these, the number not in the log
    duplicated: int = 0  # arms with two scores, trials with two ends
    unheard: int = 0  # requests that were committed, but whose response was lost
    studies: int = 0
    trials: int = 0
    events: int = 0
    failed_arms: int = 0
    # Of each request executed again: the number of keyed requests of its token in between.
    forgotten: list[int] = field(default_factory=list)

    def demand(self, holds: bool, otherwise: str) -> None:
        """Record a violation unless the condition holds."""
        if not holds:
            self.violations.append(otherwise)

    def add(self, other: "Verdict") -> None:
        """Add the verdict of another run."""
        self.violations += other.violations
        for name in ("acknowledged", "lost", "duplicated", "unheard", "studies", "trials"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.events += other.events
        self.failed_arms += other.failed_arms
        self.forgotten += other.forgotten


def judge(log: EventLog, ledger: Ledger, admin: Caller) -> Verdict:
    """Compare the log, the recorded responses and the live service."""
    verdict = Verdict()
    records = list(log.read())
    happenings = [happened.decode(each.kind, each.version, each.body) for each in records]
    verdict.events = len(records)
    verdict.unheard = len(ledger.unanswered & {record.request for record in records})
    _sequence(verdict, records)
    _trials(verdict, happenings)
    _promises(verdict, happenings, ledger, _places(records))
    pool = recover(log, snapshots=False)
    verdict.studies, verdict.trials = len(pool.studies), len(pool.trials)
    _studies(verdict, pool)
    _views(verdict, pool, admin)
    _snapshots(verdict, pool, log)
    return verdict


def _sequence(verdict: Verdict, records: list[Record]) -> None:
    numbers = [record.sequence for record in records]
    verdict.demand(numbers == list(range(1, len(numbers) + 1)), "the sequence has gaps")
    times = [record.time for record in records]
    verdict.demand(times == sorted(times), "the time of the log goes back")
    latest: dict[str, int] = {}
    for place, record in _keyed(records):
        # Only the latest keys of a token are stored; a later repeat is a new request.
        if record.key in latest:
            distance = place - latest[record.key]
            verdict.forgotten.append(distance)
            verdict.demand(distance >= MOST, f"the key {record.key} was carried out twice")
        latest[record.key] = place


def _keyed(records: list[Record]) -> Iterator[tuple[int, Record]]:
    """The records of requests with keys, each with its index among those of its token."""
    places: Counter[str] = Counter()
    for record in records:
        if record.key:
            places[record.actor] += 1
            yield places[record.actor], record


def _trials(verdict: Verdict, happenings: list[happened.Event]) -> None:
    leased: dict[str, happened.TrialLeased] = {}
    ended: set[str] = set()
    fences: Counter[int] = Counter()
    scored: Counter[tuple[str, str, str]] = Counter()
    studies = {e.id: e for e in happenings if isinstance(e, happened.StudyCreated)}
    for event in happenings:
        if isinstance(event, happened.TrialLeased):
            verdict.demand(event.id not in leased, f"trial {event.id} was leased twice")
            leased[event.id] = event
            fences[event.decision.trial] += 1
        elif isinstance(event, ENDS):
            verdict.demand(event.id in leased, f"trial {event.id} ended before it began")
            if event.id in ended:
                verdict.duplicated += 1
                verdict.violations.append(f"trial {event.id} ended twice")
            ended.add(event.id)
        if isinstance(event, happened.TrialCompleted) and event.id in leased:
            decision = leased[event.id].decision
            study = studies[decision.study]
            scored[study.tenant, study.dataset, decision.model] += 1
            right = score_of(study.dataset, decision.model)
            verdict.demand(event.score == right, f"trial {event.id} has the score {event.score}")
    for fence, uses in fences.items():
        verdict.demand(uses == 1, f"the fence {fence} was used {uses} times")
    for arm, uses in scored.items():
        verdict.duplicated += uses - 1
        verdict.demand(uses == 1, f"the arm {arm} was observed {uses} times")
    verdict.demand(ended == set(leased), f"{len(set(leased) - ended)} trials never ended")


def _places(records: list[Record]) -> dict[str, int]:
    """For each trial, the index of its lease among its token's requests with keys."""
    leases = (each for each in _keyed(records) if each[1].kind == "trial-leased")
    return {json.loads(record.body)["id"]: place for place, record in leases}


def _promises(
    verdict: Verdict, happenings: list[happened.Event], ledger: Ledger, places: dict[str, int]
) -> None:
    """Check that everything acknowledged happened, exactly once."""
    leases = {e.id: e for e in happenings if isinstance(e, happened.TrialLeased)}
    scores = {e.id: e.score for e in happenings if isinstance(e, happened.TrialCompleted)}
    ends = {
        "fail": Counter(e.id for e in happenings if isinstance(e, happened.TrialFailed)),
        "release": Counter(e.id for e in happenings if isinstance(e, happened.TrialReleased)),
    }
    created = Counter(e.id for e in happenings if isinstance(e, happened.StudyCreated))
    joined = {e.name for e in happenings if isinstance(e, happened.DeviceRegistered)}
    one_answer: dict[str, dict[str, Any]] = {}
    told = set()
    for answered in list(ledger.answers):
        answer, what = answered.answer, answered.what
        if what == "lease":
            lease = leases.get(answer["trial"])
            fits = lease is not None and (
                (lease.decision.trial, str(lease.decision.device), lease.decision.model)
                == (answer["fence"], answer["device"], answer["model"])
            )
            verdict.demand(fits, f"the lease of {answer['trial']} is not in the log")
        elif what == "complete":
            told.add(answer["id"])
            kept = scores.get(answer["id"]) == answered.asked["score"] == answer["score"]
            verdict.lost += not kept
            verdict.demand(kept, f"the score of {answer['id']} was lost")
        elif what in ends:
            verdict.demand(ends[what][answer["id"]] == 1, f"the {what} of {answer['id']} was lost")
        elif what == "studies":
            verdict.demand(created[answer["id"]] == 1, f"the study {answer['id']} was lost")
        elif what == "devices":
            verdict.demand(answer["name"] in joined, f"the device {answer['name']} was lost")
        if what in ("lease", "complete"):
            first = one_answer.get(answered.key, answer)
            far = what == "lease" and (
                places.get(answer["trial"], 0) - places.get(first["trial"], 0) >= MOST
            )
            verdict.demand(first == answer or far, f"the key {answered.key} got two answers")
            one_answer[answered.key] = answer
    names = Counter((e.tenant, e.name) for e in happenings if isinstance(e, happened.StudyCreated))
    verdict.demand(max(names.values(), default=0) <= 1, "a study was made twice")
    verdict.acknowledged = len(told)


def _studies(verdict: Verdict, pool: Pool) -> None:
    """Check that every study finished, and that no arm was given up without a reason."""
    attempts = 0 if pool.created is None else pool.created.attempts
    by_arm: dict[tuple[str, str], list[Trial]] = defaultdict(list)
    for trial in pool.trials.values():
        by_arm[f"{trial.study.tenant.name}/{trial.study.dataset}", trial.model].append(trial)
    verdict.demand(not pool.running, f"{len(pool.running)} trials still run")
    for study in pool.studies.values():
        over = study.state == "closed" and study.reason == "every model was tried"
        verdict.demand(over, f"study {study.name} is {study.state} ({study.reason})")
        for model in study.models:
            state = study.shared.state(model)
            trials = by_arm[f"{study.tenant.name}/{study.dataset}", model]
            if state == "failed":
                tries = [each for each in trials if each.state in ("failed", "lost")]
                kept = [each for each in tries if each.reason and not each.released]
                verdict.demand(len(kept) >= attempts, f"{study.name} {model} was given up early")
            else:
                verdict.demand(state == "observed", f"{study.name} {model} is {state}")
    tried = (each for shared in pool.arms.values() for each in shared.tried.values())
    verdict.failed_arms = sum(each.state == "failed" for each in tried)


def _views(verdict: Verdict, pool: Pool, admin: Caller) -> None:
    """Check that the log and the live service show the same."""
    live = {
        "studies": list(pages(admin, "/v1/studies?limit=1000")),
        "trials": list(pages(admin, "/v1/trials?limit=1000")),
        "tenants": admin.get("/v1/tenants")["items"],
    }
    leases = Leases(Terms())
    folded = {
        "studies": [study_view(pool, each, False) for each in reversed(pool.studies.values())],
        "trials": [trial_view(each, leases) for each in reversed(pool.trials.values())],
        "tenants": [tenant_view(each, pool.time) for each in pool.tenants.values()],
    }
    for name, views in json.loads(json.dumps(folded)).items():
        verdict.demand(live[name] == views, f"the live service shows other {name} than the log")


def pages(admin: Caller, path: str) -> Iterator[dict[str, Any]]:
    """All items of a paginated list."""
    after = ""
    while True:
        page = admin.get(path + after)
        yield from page["items"]
        if page["next"] is None:
            return
        after = f"&after={page['next']}"


def _snapshots(verdict: Verdict, whole: Pool, log: EventLog) -> None:
    """Check that the latest snapshot and the events after it give the state of the whole log."""
    found = log.load_snapshot()
    # A server that was slow to start takes a snapshot at the end; look for an earlier one.
    early = log.load_snapshot(before=whole.sequence)
    verdict.demand(early is not None and early[0] > 0, "no snapshot was taken during the run")
    loaded: list[int] = []
    resumed = recover(log, loaded=loaded.append)
    verdict.demand(found is not None and loaded == [found[0]], "the snapshot was not used")
    where = difference(resumed, whole)
    verdict.demand(not where, f"snapshot and tail differ from the whole log at {where}")
