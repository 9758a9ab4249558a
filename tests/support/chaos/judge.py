"""Checks what must hold after the faults, when all work is done."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from bentham.service.engine.leases import Leases, Terms
from bentham.service.fold import events
from bentham.service.fold.entities import Trial
from bentham.service.fold.keys import MOST
from bentham.service.fold.pool import Pool
from bentham.service.fold.recovery import recover
from bentham.service.fold.table import ENTRIES
from bentham.service.views.entities import study_view, tenant_view, trial_view
from bentham.storage import EventLog, Record
from support.chaos.fleet import Caller, score_of
from support.chaos.ledger import Ledger
from support.chaos.sameness import difference

ENDS = tuple(entry.event for entry in ENTRIES if entry.ends_trial)


@dataclass(slots=True)
class Verdict:
    """The violations, and figures that show how much was tested."""

    violations: list[str] = field(default_factory=list)
    acknowledged: int = 0  # completions that were acknowledged
    lost: int = 0  # of these, the number not in the log
    duplicated: int = 0  # arms with two scores, or trials that ended twice
    unanswered: int = 0  # requests that were committed, but whose response was lost
    studies: int = 0
    trials: int = 0
    events: int = 0
    failed_arms: int = 0
    # For each request that was executed again: the keyed requests of its token in between.
    repeat_distances: list[int] = field(default_factory=list)

    def demand(self, holds: bool, otherwise: str) -> None:
        """Record a violation unless the condition holds."""
        if not holds:
            self.violations.append(otherwise)

    def add(self, other: "Verdict") -> None:
        """Add the verdict of another run."""
        self.violations += other.violations
        for name in ("acknowledged", "lost", "duplicated", "unanswered", "studies", "trials"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.events += other.events
        self.failed_arms += other.failed_arms
        self.repeat_distances += other.repeat_distances


def judge(log: EventLog, ledger: Ledger, admin: Caller) -> Verdict:
    """Compare the log, the recorded responses and the live service."""
    verdict = Verdict()
    records = list(log.read())
    log_events = [events.decode(each.kind, each.version, each.body) for each in records]
    verdict.events = len(records)
    verdict.unanswered = len(ledger.unanswered & {record.request for record in records})
    _sequence(verdict, records)
    _trials(verdict, log_events)
    _responses(verdict, log_events, ledger, _lease_places(records))
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
    verdict.demand(times == sorted(times), "a time in the log is before the previous one")
    latest: dict[str, int] = {}
    for place, record in _keyed(records):
        # Only the latest keys of a token are stored; a later repeat is a new request.
        if record.key in latest:
            distance = place - latest[record.key]
            verdict.repeat_distances.append(distance)
            verdict.demand(distance >= MOST, f"the key {record.key} was executed twice")
        latest[record.key] = place


def _keyed(records: list[Record]) -> Iterator[tuple[int, Record]]:
    """Yield the records of requests with keys, each with its index among those of its token."""
    places: Counter[str] = Counter()
    for record in records:
        if record.key:
            places[record.actor] += 1
            yield places[record.actor], record


def _trials(verdict: Verdict, log_events: list[events.Event]) -> None:
    leased: dict[str, events.TrialLeased] = {}
    ended: set[str] = set()
    fences: Counter[int] = Counter()
    scored: Counter[tuple[str, str, str]] = Counter()
    studies = {e.id: e for e in log_events if isinstance(e, events.StudyCreated)}
    for event in log_events:
        if isinstance(event, events.TrialLeased):
            verdict.demand(event.id not in leased, f"trial {event.id} was leased twice")
            leased[event.id] = event
            fences[event.decision.trial] += 1
        elif isinstance(event, ENDS):
            verdict.demand(event.id in leased, f"trial {event.id} ended before it began")
            if event.id in ended:
                verdict.duplicated += 1
                verdict.violations.append(f"trial {event.id} ended twice")
            ended.add(event.id)
        if isinstance(event, events.TrialCompleted) and event.id in leased:
            decision = leased[event.id].decision
            study = studies[decision.study]
            scored[study.tenant, study.dataset, decision.model] += 1
            expected = score_of(study.dataset, decision.model)
            verdict.demand(event.score == expected, f"trial {event.id} has the score {event.score}")
    for fence, uses in fences.items():
        verdict.demand(uses == 1, f"the fence {fence} was used {uses} times")
    for arm, uses in scored.items():
        verdict.duplicated += uses - 1
        verdict.demand(uses == 1, f"the arm {arm} was observed {uses} times")
    verdict.demand(ended == set(leased), f"{len(set(leased) - ended)} trials never ended")


def _lease_places(records: list[Record]) -> dict[str, int]:
    """Return, for each trial, the index of its lease among its token's requests with keys."""
    leases = (each for each in _keyed(records) if each[1].kind == "trial-leased")
    return {json.loads(record.body)["id"]: place for place, record in leases}


def _responses(
    verdict: Verdict, log_events: list[events.Event], ledger: Ledger, places: dict[str, int]
) -> None:
    """Check that everything acknowledged is in the log, exactly once."""
    leases = {e.id: e for e in log_events if isinstance(e, events.TrialLeased)}
    scores = {e.id: e.score for e in log_events if isinstance(e, events.TrialCompleted)}
    end_counts = {
        "fail": Counter(e.id for e in log_events if isinstance(e, events.TrialFailed)),
        "release": Counter(e.id for e in log_events if isinstance(e, events.TrialReleased)),
    }
    created = Counter(e.id for e in log_events if isinstance(e, events.StudyCreated))
    registered = {e.name for e in log_events if isinstance(e, events.DeviceRegistered)}
    first_bodies: dict[str, dict[str, Any]] = {}
    completed = set()
    for response in list(ledger.responses):
        body, kind = response.body, response.kind
        if kind == "lease":
            lease = leases.get(body["trial"])
            matches = lease is not None and (
                (lease.decision.trial, str(lease.decision.device), lease.decision.model)
                == (body["fence"], body["device"], body["model"])
            )
            verdict.demand(matches, f"the lease of {body['trial']} is not in the log")
        elif kind == "complete":
            completed.add(body["id"])
            recorded = scores.get(body["id"]) == response.request["score"] == body["score"]
            verdict.lost += not recorded
            verdict.demand(recorded, f"the score of {body['id']} was lost")
        elif kind in end_counts:
            verdict.demand(
                end_counts[kind][body["id"]] == 1, f"the {kind} of {body['id']} was lost"
            )
        elif kind == "studies":
            verdict.demand(created[body["id"]] == 1, f"the study {body['id']} was lost")
        elif kind == "devices":
            verdict.demand(body["name"] in registered, f"the device {body['name']} was lost")
        if kind in ("lease", "complete"):
            first = first_bodies.get(response.key, body)
            distant = kind == "lease" and (
                places.get(body["trial"], 0) - places.get(first["trial"], 0) >= MOST
            )
            verdict.demand(first == body or distant, f"the key {response.key} got two responses")
            first_bodies[response.key] = body
    names = Counter((e.tenant, e.name) for e in log_events if isinstance(e, events.StudyCreated))
    verdict.demand(max(names.values(), default=0) <= 1, "a study was created twice")
    verdict.acknowledged = len(completed)


def _studies(verdict: Verdict, pool: Pool) -> None:
    """Check that every study finished, and that no arm failed without a reason."""
    attempts = 0 if pool.created is None else pool.created.attempts
    by_arm: dict[tuple[str, str], list[Trial]] = defaultdict(list)
    for trial in pool.trials.values():
        by_arm[f"{trial.study.tenant.name}/{trial.study.dataset}", trial.model].append(trial)
    verdict.demand(not pool.running, f"{len(pool.running)} trials still run")
    for study in pool.studies.values():
        finished = study.state == "closed" and study.reason == "every model was tried"
        verdict.demand(finished, f"study {study.name} is {study.state} ({study.reason})")
        for model in study.models:
            state = study.shared.state(model)
            trials = by_arm[f"{study.tenant.name}/{study.dataset}", model]
            if state == "failed":
                tries = [each for each in trials if each.state in ("failed", "lost")]
                counted = [each for each in tries if each.reason and not each.released]
                verdict.demand(
                    len(counted) >= attempts, f"{study.name} {model} failed after too few attempts"
                )
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
        "studies": [
            study_view(pool, each, pool.time, False) for each in reversed(pool.studies.values())
        ],
        "trials": [trial_view(each, leases) for each in reversed(pool.trials.values())],
        "tenants": [tenant_view(each, pool.time) for each in pool.tenants.values()],
    }
    for name, views in json.loads(json.dumps(folded)).items():
        verdict.demand(live[name] == views, f"the live service shows other {name} than the log")


def pages(admin: Caller, path: str) -> Iterator[dict[str, Any]]:
    """Yield all items of a paginated list."""
    after = ""
    while True:
        page = admin.get(path + after)
        yield from page["items"]
        if page["next"] is None:
            return
        after = f"&after={page['next']}"


def _snapshots(verdict: Verdict, complete: Pool, log: EventLog) -> None:
    """Check that the latest snapshot and the events after it give the state of the whole log."""
    found = log.load_snapshot()
    # A server that was slow to start takes a snapshot at the end; look for an earlier one.
    early = log.load_snapshot(before=complete.sequence)
    verdict.demand(early is not None and early[0] > 0, "no snapshot was taken during the run")
    loaded: list[int] = []
    resumed = recover(log, loaded=loaded.append)
    verdict.demand(found is not None and loaded == [found[0]], "the snapshot was not used")
    path = difference(resumed, complete)
    verdict.demand(not path, f"snapshot and tail differ from the whole log at {path}")
