"""The replies to requests, after the commit and when a request is repeated.

A reply is built from the kind and the subject of the event that the request led to, so that a
repeat gets the same reply, even after a restart: exactly the same for leases and reports.
"""

from bentham.service.engine.leases import Leases
from bentham.service.fold.pool import Pool
from bentham.service.fold.table import BY_KIND
from bentham.service.refusals import Conflicting
from bentham.service.views.entities import (
    View,
    dataset_view,
    device_view,
    lease_view,
    study_view,
    tenant_view,
    token_view,
    trial_view,
)


def answer(
    pool: Pool, leases: Leases, now: float, kind: str, subject: str, asker: str = ""
) -> View:
    """Return the reply to the request that led to this event.

    `asker` is the token that repeats it, empty if it may see everything: by now, a device of the
    same name may belong to another token.
    """
    what = BY_KIND[kind].entity
    if what == "request":  # about a trial or a study
        what = "trial" if subject in pool.trials else "study"
    if kind == "trial-leased":
        terms = leases.terms
        return lease_view(pool, pool.trials[subject], terms.lease_seconds, terms.heartbeat_seconds)
    if what == "trial":
        return trial_view(pool.trials[subject], leases)
    if what == "study":
        return study_view(pool, pool.studies[subject])
    if kind == "dataset-dropped":
        return {"id": subject}
    if what == "dataset":
        dataset = pool.datasets.get(subject)
        if dataset is None:
            raise Conflicting(f"dataset {subject!r} was dropped; upload it again")
        return dataset_view(dataset)
    if what == "tenant":
        return tenant_view(pool.tenants[subject], now)
    if what == "history":
        return history_view(pool, int(subject))
    if kind == "token-issued":
        raise Conflicting(
            f"the token {subject} was issued for this Idempotency-Key, and its secret is shown "
            "only once; if it was lost, revoke that token and issue another one"
        )
    if what == "token":
        return token_view(pool.tokens[subject])
    device = pool.devices.get(subject) or pool.departed.get(subject)
    if device is None or asker not in ("", device.token):
        raise Conflicting(f"device {subject!r} has left; register it again")
    return device_view(device, leases.seen(subject))


def history_view(pool: Pool, place: int) -> View:
    """Return the size of an import."""
    history = pool.history[place]
    return {
        "studies": len(history),
        "models": len({model for runs in history.values() for model in runs}),
        "runs": sum(len(runs) for runs in history.values()),
    }
