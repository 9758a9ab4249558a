"""What would be run for a study first, and why, in words."""

from bentham.core import First, Reason
from bentham.service.fold.entities import Study
from bentham.service.fold.pool import Pool
from bentham.service.views.entities import View

_WAITS = {
    "running-trials": "The tenant runs as many trials as it may, so this waits for one to end. ",
    "device-time": "The tenant has used its device time of the day, so this waits for the next "
    "(UTC). ",
}
_BOUND = "the highest upper confidence bound for its cost"
_GAIN = "the highest expected improvement"


def next_view(pool: Pool, study: Study, now: float) -> View:
    """The model that the policy would run for a study; what others run first is not told.

    Takes as long as a decision within the study, a millisecond or two.
    """
    first = pool.scheduler.first(study.id) if study.served else None
    figures: View = dict.fromkeys(("model", "expected_improvement", "cost", "rate", "value"))
    if first is None:
        return {"study": study.id, **figures, "reason": _nothing(study)}
    figures = {
        "model": first.model,
        "expected_improvement": first.expected_improvement,
        "cost": first.cost,
        "rate": first.expected_improvement / first.cost,
        "value": first.value,
    }
    waits = _WAITS.get(study.tenant.reached_limit(now) or "", "")
    return {"study": study.id, **figures, "reason": waits + _why(pool, study, first)}


def _nothing(study: Study) -> str:
    if study.state == "closed":
        return f"The study is closed: {study.reason}."
    if study.state == "paused":
        return "The study is paused; resume it."
    if study.full:
        return "As many trials run or ended as the study wants in all."
    return "Every model was tried, or runs now."


def _why(pool: Pool, study: Study, first: First) -> str:
    seconds = f"{first.cost:,.0f}" if first.cost >= 1000.0 else f"{first.cost:.3g}"
    figures = f"{first.expected_improvement:.3g} in about {seconds} s"
    if first.reason is Reason.WARM_START:
        return f"Every study begins with a few models, and this is its next: {figures}."
    if first.left == 1:
        return f"It is the only model left, with an expected improvement of {figures}."
    return f"Of {first.left} models left it has {_merit(pool)}: {figures}{_beyond(study, first)}."


def _merit(pool: Pool) -> str:
    """What the policy looks for."""
    assert pool.created is not None
    policy, exponent = pool.created.policy, pool.created.cost_exponent
    if policy == "gp-ucb":
        return _BOUND
    if policy not in ("joint", "mdmt") or exponent == 0.0:
        return _GAIN
    return f"{_GAIN} per second" if exponent == 1.0 else f"{_GAIN} for its cost"


def _beyond(study: Study, first: First) -> str:
    """What else counted."""
    counted = []
    if any(other.served and other is not study for other in study.shared.studies):
        counted.append("the other studies over the same data")
    if first.running:
        counted.append("what the trials that run there may bring")
    return f", counting {' and '.join(counted)}" if counted else ""
