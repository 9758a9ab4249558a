"""The model that would be run next for a study, and the reason in words."""

from bentham.core import First, Reason
from bentham.service.engine.turn import Look
from bentham.service.fold.entities import DAY, Study
from bentham.service.fold.pool import Pool
from bentham.service.views.entities import View
from bentham.wording import short_number, short_span

_BOUND = "the highest upper confidence bound relative to its cost"
_GAIN = "the highest expected improvement"
_RATE = f"{_GAIN} per second"
_BY_GAIN = ("joint", "mdmt")  # policies whose value is an expected improvement relative to cost


def next_view(look: Look, study: Study) -> View:
    """Return the model that the policy would run next for a study, why, and why it waits.

    The order among studies is not shown. Takes as long as a decision within the study, a
    millisecond or two.
    """
    pool = look.pool
    first = pool.scheduler.first(study.id) if study.served else None
    figures: View = dict.fromkeys(("model", "expected_improvement", "cost", "rate", "value"))
    if first is None:
        return {"study": study.id, **figures, "reason": _nothing(study), "waits": ""}
    if pool.scheduler.satisfied(study.id):
        return {"study": study.id, **figures, "reason": _satisfied(pool, study), "waits": ""}
    figures = {
        "model": first.model,
        "expected_improvement": first.expected_improvement,
        "cost": first.cost,
        "rate": first.expected_improvement / first.cost,
        "value": first.value,
    }
    return {
        "study": study.id,
        **figures,
        "reason": _why(pool, study, first),
        "waits": _waits(look, study),
    }


def idle_reason(look: Look, study: Study) -> str:
    """Return why nothing of a study runs, in words; empty if something does."""
    if study.counts["running"]:
        return ""
    if not study.served or not study.untried:
        return _nothing(study)
    return _waits(look, study)


def _waits(look: Look, study: Study) -> str:
    """Return why no more of a study runs although models are left; empty if nothing prevents it.

    A tenant learns nothing of others, only whether any device is alive.
    """
    tenant, operator = study.tenant, look.scope.everything
    limit = tenant.reached_limit(look.now)
    if limit is not None:
        whose = f"The limit of {tenant.name}" if operator else "Your limit"
        remedy = "raise it" if operator else "ask the operator to raise it"
        if limit == "running-trials":
            most = int(tenant.limits["running_trials"] or 0)
            trials = "1 running trial" if most == 1 else f"{most:,} running trials"
            return f"{whose} of {trials} is reached; {remedy}, or wait for one to end."
        seconds = _span(tenant.limits["device_seconds_per_day"] or 0.0)
        left = _span(DAY - look.now % DAY)
        return (
            f"{whose} of {seconds} of device time a day is used up; {remedy}, or wait for the next "
            f"day (UTC), which begins in {left}."
        )
    if look.leases.present == 0:
        remedy = "start a worker" if operator else "the operator must start a worker"
        return f"No device is alive to run it; {remedy}."
    if study.counts["running"]:
        return ""
    return "No device is free for it yet: each runs what is expected to gain the most per second."


def _span(seconds: float) -> str:
    for unit, size in (("h", 3600.0), ("min", 60.0)):
        if seconds >= 2.0 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"


def _nothing(study: Study) -> str:
    if study.state == "closed":
        return f"The study is closed: {study.reason}."
    if study.state == "paused":
        return "The study is paused; resume it."
    if study.full:
        return "The study is at its limit of trials, counting running ones."
    return "Every model was tried or is running."


def _satisfied(pool: Pool, study: Study) -> str:
    """Return why what is left is not run, in words."""
    prospect = pool.scheduler.prospect(study.id)
    share = 100.0 * float(study.stop["gain_share"] or 0.0)
    return (
        f"All untried models together are expected to add {prospect.together:.2g}, less than "
        f"{share:g} % of the {prospect.gained:.3g} gained over the baseline. The study closes when "
        "its running trials have ended, unless they change that."
    )


def _why(pool: Pool, study: Study, first: First) -> str:
    gain, weighted = _gain(pool, study, first)
    figures = f"{short_number(gain)}{weighted} in about {short_span(first.cost)}"
    if first.reason is Reason.WARM_START:
        return (
            "Every study starts with a few models, and this is the next one, with an expected "
            f"improvement of {figures}."
        )
    if first.left == 1:
        return f"It is the only model left, with an expected improvement of {figures}."
    merit = _merit(pool)
    if merit == _RATE:
        figures = f"{short_number(gain / first.cost)} ({figures})"
    elif merit != _GAIN:
        figures = f"its expected improvement is {figures}"
    return f"Of {first.left} models left, it has {merit}: {figures}{_beyond(study, first)}."


def _gain(pool: Pool, study: Study, first: First) -> tuple[float, str]:
    """Return the expected improvement that the policy ranked by, and whether weights are in it."""
    assert pool.created is not None
    if first.value is None or pool.created.policy not in _BY_GAIN:
        return first.expected_improvement, ""
    weighted = " (weighted)" if study.weight * study.tenant.weight != 1.0 else ""
    return first.value * first.cost**pool.created.cost_exponent, weighted


def _merit(pool: Pool) -> str:
    """Return what the policy maximises, in words."""
    assert pool.created is not None
    policy, exponent = pool.created.policy, pool.created.cost_exponent
    if policy == "gp-ucb":
        return _BOUND
    if policy not in _BY_GAIN or exponent == 0.0:
        return _GAIN
    return _RATE if exponent == 1.0 else f"{_GAIN} relative to its cost"


def _beyond(study: Study, first: First) -> str:
    """Return what else was taken into account, in words."""
    counted = []
    if any(other.served and other is not study for other in study.shared.studies):
        counted.append("the other studies on the same data")
    if first.running:
        counted.append("the possible scores of running trials")
    return f", taking into account {' and '.join(counted)}" if counted else ""
