"""Views of entities: plain data in the formats that `wire` describes.

The reply to a request is built from the kind and the subject of the event that the request led to,
so that a repeat gets the same reply, even after a restart: exactly the same for leases and reports.
"""

import json
from math import inf, isfinite
from typing import Any

from bentham.core.problem.decision import RunnerUp
from bentham.service.engine.leases import Leases
from bentham.service.engine.scope import Scope
from bentham.service.fold.entities import DAY, HOUR, Dataset, Device, Study, Tenant, Token, Trial
from bentham.service.fold.events import TrialLeased
from bentham.service.fold.pool import Pool
from bentham.service.fold.table import BY_KIND
from bentham.service.refusals import Conflicting, Missing

View = dict[str, Any]

# The rules that may change a decision, in words.
_RULES = {
    "weights": "the weights of tenants and studies put this first",
    "running-trials": "a tenant is at its limit of running trials",
    "device-time": "a tenant has used up its device time for the day",
    "starvation-guard": "a study was passed over by as many decisions as allowed",
}


def tenant_view(tenant: Tenant, now: float) -> View:
    """Return the view of a tenant."""
    return {
        "name": tenant.name,
        "weight": tenant.weight,
        "limits": limits_view(tenant),
        "created": tenant.created,
        "studies": len(tenant.studies),
        "open_studies": sum(study.state == "open" for study in tenant.current.values()),
        "running_trials": len(tenant.running),
        "device_seconds": tenant.seconds_used(now),
        "device_seconds_today": tenant.seconds_today(now),
    }


def limits_view(tenant: Tenant) -> View:
    """Return the limits of a tenant; None means unlimited."""
    names = ("running_trials", "device_seconds_per_day")
    return {name: tenant.limits.get(name) for name in names}


def token_view(token: Token) -> View:
    """Return the view of a token, without its hash."""
    return {
        "id": token.id,
        "role": token.role,
        "tenant": token.tenant,
        "label": token.label,
        "created": token.created,
        "expires": token.expires,
        "revoked": token.revoked,
    }


def study_view(pool: Pool, study: Study, now: float, whole: bool = True) -> View:
    """Return the view of a study; if `whole`, with the description of its training."""
    return {
        "id": study.id,
        "tenant": study.tenant.name,
        "name": study.name,
        "dataset": study.dataset,
        "metric": study.metric,
        "state": study.state,
        "reason": study.reason,
        "weight": study.weight,
        "floor": study.floor,
        "rows": study.rows,
        "columns": study.columns,
        "stop": study.stop,
        "created": study.created,
        "models": len(study.models),
        "untried": study.untried,
        "trials": dict(study.counts),
        "device_seconds": study.device_seconds,
        "incumbent": _incumbent_view(pool, study),
        "gained": {
            "last_hour": study.gained_since(now - HOUR),
            "last_day": study.gained_since(now - DAY),
        },
        "data": study.data.get("name", ""),
        "training": training_view(study) if whole else None,
    }


def _incumbent_view(pool: Pool, study: Study) -> View | None:
    if study.best is None:
        return None
    model, score = study.best
    trial = pool.trials.get(study.shared.tried[model].trial)
    return {
        "model": model,
        "score": score,
        "trial": "" if trial is None else trial.id,
        "metrics": {} if trial is None else dict(trial.metrics),
        **model_view(pool, study, model),
    }


def model_view(pool: Pool, study: Study, model: str) -> View:
    """Return what a model of the catalogue stands for; empty for a model that the tenant named."""
    description = pool.descriptions.get(model) if study.drawn else None
    if description is None:
        return {"algorithm": "", "configuration": {}}
    return {
        "algorithm": description.algorithm,
        "configuration": dict(description.configuration),
    }


def record_view(study: Study) -> list[View]:
    """Return a study's scores in the order in which they arrived, each with the best so far.

    They include the scores of trials of other studies on the same data.
    """
    lines: list[View] = []
    trials = [
        trial
        for other in study.shared.studies
        for trial in other.trials
        if trial.state == "complete"
        and trial.model in study.models
        # As for the incumbent: once the study is closed, only its own trials count.
        and (other is study or study.closed is None or (trial.ended or 0.0) <= study.closed)
    ]
    best, used = -inf, 0.0
    for trial in sorted(trials, key=lambda trial: (trial.ended or 0.0, trial.number)):
        assert trial.ended is not None
        assert trial.score is not None
        best = max(best, trial.score)
        duration = trial.ended - trial.started
        used += duration if trial.study is study else 0.0
        lines.append(
            {
                "trial": trial.id,
                "model": trial.model,
                "time": trial.ended,
                "seconds": max(0.0, trial.ended - study.created),
                "device_seconds": used,
                "cost": trial.cost,
                "duration": duration,
                "score": trial.score,
                "best": best,
            }
        )
    return lines


def dataset_view(dataset: Dataset, whole: bool = True) -> View:
    """Return the view of a dataset; if `whole`, with its columns."""
    return {
        "id": dataset.id,
        "tenant": dataset.tenant,
        "name": dataset.name,
        "hash": dataset.hash,
        "format": dataset.format,
        "delimiter": dataset.delimiter,
        "bytes": dataset.bytes,
        "rows": dataset.rows,
        "width": dataset.width,
        "columns": json.loads(dataset.columns) if whole else [],
        "notes": list(dataset.notes),
        "created": dataset.created,
    }


def training_view(study: Study) -> View | None:
    """Return the description of a study's training; None if the dataset is only a name."""
    if not study.data:
        return None
    return {**study.data, **json.loads(study.shared.training)}


def best_view(leases: Leases, study: Study, now: float) -> View:
    """Return a study's best model, with a look at it and the fitted model requested last."""
    best, training = study.best, training_view(study)
    look = study.shared.looks.get(best[0]) if best else None
    fitted = None if study.fit is None else fitted_view(leases, study, now)
    return {
        "study": study.id,
        "metric": study.metric,
        "task": None if training is None else training["task"],
        "model": best[0] if best else None,
        "score": best[1] if best else None,
        "look": json.loads(look) if look else None,
        "fitted": fitted,
    }


def fitted_view(leases: Leases, study: Study, now: float) -> View:
    """Return the fitted model of a study that was requested last."""
    fit = study.fit
    if fit is None:
        raise Missing("no fitted model of the study is stored; ask for one")
    reason = fit.reason
    if fit.state == "waiting":
        reason = _waits_for(leases, study, now)
    return {
        "id": f"{study.id}/fitted",
        "study": study.id,
        "model": fit.model,
        "state": fit.state,
        "reason": reason,
        "requested": fit.requested,
        "trial": fit.trial,
        "hash": fit.hash,
        "bytes": fit.bytes,
        "versions": list(fit.versions),
    }


def _waits_for(leases: Leases, study: Study, now: float) -> str:
    """Return why a fit waits; nothing of it tells what other tenants run."""
    limit = study.tenant.reached_limit(now)
    if limit is not None:
        return {
            "running-trials": "the tenant is at its limit of running trials",
            "device-time": "the tenant has used up its device time for today",
        }[limit]
    latest = study.tenant.fit
    if latest is not None and latest.ended is None:
        return "another model of the tenant is being fitted"
    if leases.present == 0:
        return "no device is alive; an operator can start one: bentham worker"
    return "waiting for a device"


def candidate_views(pool: Pool, study: Study) -> list[View]:
    """Return every model of a study, with its posterior while the study is served."""
    beliefs = pool.scheduler.beliefs(study.id) if study.served else {}
    weight = study.weight * study.tenant.weight
    views = []
    for model, declared_cost in study.models.items():
        tried, belief = study.shared.tried.get(model), beliefs.get(model)
        state = "untried" if tried is None else tried.state
        gain = belief.expected_improvement / weight if belief and state == "untried" else None
        trial = None if tried is None else pool.trials.get(tried.trial)
        views.append(
            {
                "model": model,
                "state": state,
                "score": None if tried is None else tried.score,
                "mean": belief.mean if belief and isfinite(belief.mean) else None,
                "sigma": belief.sigma if belief and isfinite(belief.sigma) else None,
                "cost": belief.cost if belief else declared_cost,
                "expected_improvement": gain,
                "rate": None if gain is None or belief is None else gain / belief.cost,
                "duration": _duration(trial) if state in ("observed", "failed") else None,
                "trial": "" if trial is None else trial.id,
                **model_view(pool, study, model),
            }
        )
    return views


def _duration(trial: Trial | None) -> float | None:
    return None if trial is None or trial.ended is None else trial.ended - trial.started


def device_view(device: Device, leases: Leases) -> View:
    """Return the view of a device; its signs of life are known only to the leases."""
    seen, away_since = leases.seen(device.name), leases.away_since(device.name)
    return {
        "name": device.name,
        "kind": device.kind,
        "state": "idle" if device.trial is None else "busy",
        "presence": "present" if away_since is None else "away",
        "away_since": away_since,
        "trial": None if device.trial is None else device.trial.id,
        "registered": device.registered,
        "seen": device.registered if seen is None else seen,
        "busy_seconds": device.busy_seconds,
    }


def trial_view(trial: Trial, leases: Leases) -> View:
    """Return the view of a trial; the progress of a running one is known only to the leases."""
    study = trial.study
    progress, scores = leases.progress(trial.id)
    return {
        "id": trial.id,
        "tenant": study.tenant.name,
        "study": study.id,
        "study_name": study.name,
        "dataset": study.over,
        "model": trial.model,
        "device": trial.device,
        "kind": trial.kind,
        "state": trial.state,
        "attempt": trial.attempt,
        "cost": trial.cost,
        "started": trial.started,
        "ended": trial.ended,
        "score": trial.score,
        "reason": trial.reason,
        "progress": progress,
        "scores": list(scores or trial.scores),
        "metrics": dict(trial.metrics),
        "purpose": "fit" if trial.fits else "score",
    }


def lease_view(pool: Pool, trial: Trial, lease_seconds: float, heartbeat_seconds: float) -> View:
    """Return the view of a trial for the device that runs it."""
    study = trial.study
    return {
        "trial": trial.id,
        "fence": trial.number,
        "device": trial.device,
        "tenant": study.tenant.name,
        "study": study.id,
        "study_name": study.name,
        "dataset": study.dataset,
        "metric": study.metric,
        "model": trial.model,
        "cost": trial.cost,
        "attempt": trial.attempt,
        "lease_seconds": lease_seconds,
        "heartbeat_seconds": heartbeat_seconds,
        **model_view(pool, study, trial.model),
        "training": training_view(study),
        **_purpose(trial),
    }


def _purpose(trial: Trial) -> View:
    """Return what a trial is for: a score, and if it is the best a look, or a fitted model."""
    if not trial.fits:
        above = trial.look_above if trial.study.data else None
        return {"purpose": "score", "look_above": above, "recorded": None}
    tried = trial.study.shared.tried.get(trial.model)
    score = None if tried is None else tried.score
    return {"purpose": "fit", "look_above": None, "recorded": score}


def decision_view(pool: Pool, scope: Scope, time: float, event: TrialLeased) -> View:
    """Return a decision with its justification, without the data of other tenants."""
    decision, owner = event.decision, pool.studies[event.decision.study].tenant.name
    own = scope.tenant_name

    def visible(study: str) -> bool:
        return own is None or pool.studies[study].tenant.name == own

    changes = [
        {
            "rule": change.rule,
            "detail": _RULES.get(change.rule, change.rule),
            "instead": _runner_up_view(pool, change.instead),
        }
        for change in decision.changes
        if visible(change.instead.study)
    ]
    reason = decision.reason.value
    if len(changes) < len(decision.changes) and reason == "starvation-guard":
        reason = "policy"  # a tenant must not learn that it waited for others
    return {
        "id": event.id,
        "time": time,
        "device": str(decision.device),
        "tenant": owner,
        "study": decision.study,
        "study_name": pool.studies[decision.study].name,
        "dataset": pool.studies[decision.study].over,
        "model": decision.model,
        "reason": reason,
        "value": decision.value,
        "cost": decision.cost,
        "expected_improvement": decision.expected_improvement,
        "rate": decision.rate,
        "gains": [
            {
                "tenant": pool.studies[gain.study].tenant.name,
                "study": gain.study,
                "name": pool.studies[gain.study].name,
                "expected_improvement": gain.expected_improvement,
                "weight": gain.weight,
            }
            for gain in decision.gains
            if visible(gain.study)
        ],
        "runners_up": [
            _runner_up_view(pool, other) for other in decision.runners_up if visible(other.study)
        ],
        "changes": changes,
    }


def _runner_up_view(pool: Pool, other: RunnerUp) -> View:
    study = pool.studies[other.study]
    return {
        "tenant": study.tenant.name,
        "study": study.id,
        "name": study.name,
        "dataset": study.over,
        "model": other.model,
        "value": other.value,
    }


def answer(
    pool: Pool, leases: Leases, now: float, kind: str, subject: str, asker: str = ""
) -> View:
    """Return the reply to the request that led to this event.

    `asker` is the token that repeats it, empty if it may see everything: by now, a device of the
    same name may belong to another token.
    """
    entity = BY_KIND[kind].entity
    if entity == "request":  # about a trial or a study
        subject, _, part = subject.partition("/")
        entity = "fit" if part else "study" if subject in pool.studies else "trial"
    if BY_KIND[kind].starts_trial:
        terms = leases.terms
        return lease_view(pool, pool.trial(subject), terms.lease_seconds, terms.heartbeat_seconds)
    if entity == "trial":
        return trial_view(pool.trial(subject), leases)
    if entity == "fit":
        return fitted_view(leases, pool.studies[subject], now)
    if entity == "study":
        return study_view(pool, pool.studies[subject], now)
    if kind == "dataset-dropped":
        return {"id": subject}
    if entity == "dataset":
        dataset = pool.datasets.get(subject)
        if dataset is None:
            raise Conflicting(f"dataset {subject!r} was dropped; upload it again")
        return dataset_view(dataset)
    if entity == "tenant":
        return tenant_view(pool.tenants[subject], now)
    if entity == "history":
        return history_view(pool, int(subject))
    if kind == "token-issued":
        raise Conflicting(
            f"the token {subject} was issued for this Idempotency-Key, and its secret is shown "
            "only once; if it was lost, revoke that token and issue another one"
        )
    if entity == "token":
        return token_view(pool.tokens[subject])
    device = pool.devices.get(subject) or pool.departed.get(subject)
    if device is None or asker not in ("", device.token):
        raise Conflicting(f"device {subject!r} has left; register it again")
    return device_view(device, leases)


def history_view(pool: Pool, place: int) -> View:
    """Return the size of an import."""
    history = pool.history[place]
    return {
        "studies": len(history),
        "models": len({model for runs in history.values() for model in runs}),
        "runs": sum(len(runs) for runs in history.values()),
    }
