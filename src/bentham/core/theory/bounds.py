"""The regret bounds of Section 5 and App. C, for a finished run.

    symbol    meaning
    R         the smallest R with |z(x) - mu_t(x)| <= R sigma_t(x) for all arms and times
    C_R       upper bound on |z(x)| and on every study's gap to its best score
    sigma^    sigma_t(x) of a tested arm at the time its trial started
    lemma     (tau(R) N (R+1) / (tau(-R) M) sum sigma^ + C_R + tau(R)/tau(-R) N C_R) sum c(x_i*)
    theorem   (MIU(T, K) + M) N^2 / M * mean c(x_i*), which holds up to an unstated constant

Both assume that `mdmt` chose every trial with known costs, no warm start and all weights 1; that
every trial completed; that no score is below the floor; that sigma(x) <= 1; and that R is finite.
A run may violate this. `broken` lists the violations that the events show; if there are any,
nothing is guaranteed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bentham.core.gaussian.acquisition import tau
from bentham.core.gaussian.prior import Prior
from bentham.core.gaussian.validation import Integers, Vector
from bentham.core.learning.prior import LearnedPrior
from bentham.core.problem.decision import DeviceName, Reason
from bentham.core.problem.events import (
    ArmFailed,
    ArmLost,
    ArmObserved,
    ArmStarted,
    DeviceAdded,
    Event,
    StudyAdded,
    StudyRemoved,
)
from bentham.core.problem.study import Arm, StudySpec
from bentham.core.state.blocks import Block
from bentham.core.state.state import State
from bentham.core.state.warm_start import WarmStart
from bentham.core.theory.uncertainty import Bounds, miu_scores, miu_scores_of_blocks, miu_total
from bentham.errors import InvalidInput

# A block with the columns that at least one study lists.
Listed = tuple[Block, Integers]

# Rounding may make a known score differ from its posterior mean by this much.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class RunBounds:
    """The paper's bounds on the regret of a run, and what they are computed from.

    Attributes:
        lemma: The bound of the lemma.
        theorem: The bound of the theorem, which holds up to an unstated constant.
        radius: R.
        score_bound: C_R.
        uncertainty: Sum of sigma^ over the tested arms.
        miu: MIU(T, K).
        broken: Assumptions that the run violates; if there are any, nothing is guaranteed.
    """

    lemma: float
    theorem: Bounds
    radius: float
    score_bound: float
    uncertainty: float
    miu: Bounds
    broken: tuple[str, ...]


def bounds_of_run(
    prior: Prior | LearnedPrior, scores: Mapping[Arm, float], events: Iterable[Event]
) -> RunBounds:
    """Replay the events of a run and evaluate both bounds.

    Args:
        prior: The fixed prior of the run.
        scores: True score of every arm that a study lists.
        events: All events of the run, in order.

    Raises:
        InvalidInput: The prior is a learned one, or the run has no studies or no devices.
    """
    if isinstance(prior, LearnedPrior):
        raise InvalidInput(
            "the paper's bounds do not hold for a learned prior, which changes; give a fixed one"
        )
    state = State(prior, WarmStart.parse("none"), attempts=1 << 30)
    studies: dict[str, StudySpec] = {}
    broken: set[str] = set()
    blocks: dict[int, Block] = {}
    truths: dict[int, Vector] = {}
    devices: set[DeviceName] = set()
    tested: set[Arm] = set()
    uncertainty = radius = 0.0
    for event in events:
        if isinstance(event, ArmStarted):
            arm = Arm(event.decision.dataset, event.decision.model)
            if event.decision.reason is Reason.WARM_START:
                broken.add("a warm start chose trials")
            if arm not in tested:  # an arm that runs again after a loss counts once
                block, column = _arm(state, event)
                uncertainty += float(np.sqrt(block.belief.posterior.variance[column]))
                tested.add(arm)
        touched = state.apply(event)
        if isinstance(event, DeviceAdded):
            devices.add(event.device)
        elif isinstance(event, ArmFailed | ArmLost):
            broken.add("trials failed or were lost")
        elif isinstance(event, StudyRemoved):
            broken.add("a study was removed")
        elif isinstance(event, StudyAdded):
            studies[event.study.name] = event.study
            block = touched[0]
            blocks[block.order] = block
            truth = truths.setdefault(block.order, np.full(block.prior.size, np.nan))
            columns = prior.columns(event.study.dataset)
            for model in event.study.costs:
                truth[columns[model]] = scores[Arm(event.study.dataset, model)]
        if isinstance(event, StudyAdded | ArmObserved):
            radius = max(radius, _radius(touched[0], truths[touched[0].order]))
    listed = [(blocks[order], np.flatnonzero(np.isfinite(truths[order]))) for order in blocks]
    if not studies or not devices:
        raise InvalidInput("a run without studies or devices has no bounds; give one with both")
    evaluated = _evaluate(
        list(studies.values()), scores, listed, len(devices), len(tested), uncertainty, radius
    )
    return replace(evaluated, broken=(*sorted(broken), *evaluated.broken))


def _evaluate(
    studies: Sequence[StudySpec],
    scores: Mapping[Arm, float],
    blocks: Sequence[Listed],
    devices: int,
    tested: int,
    uncertainty: float,
    radius: float,
) -> RunBounds:
    broken = [] if np.isfinite(radius) else ["a score was excluded by the prior"]
    best_costs, score_bound = 0.0, 0.0
    for study in studies:
        known = {model: scores[Arm(study.dataset, model)] for model in study.costs}
        best = max(known, key=known.__getitem__)
        best_costs += study.cost(best)
        gap = known[best] - min(study.floor, *known.values())
        if study.floor > min(known.values()):
            broken.append(f"study {study.name!r} has scores below its floor")
        if study.weight != 1.0:
            broken.append(f"study {study.name!r} has a weight other than 1")
        score_bound = max(score_bound, gap, *(abs(score) for score in known.values()))
    number = len(studies)
    ratio = _ratio(radius)
    spread = ratio * number * (radius + 1.0) / devices * uncertainty
    lemma = (spread + score_bound + ratio * number * score_bound) * best_costs
    miu = _miu(blocks, tested)
    factor = number**2 / devices * (best_costs / number)
    theorem = Bounds((miu.lower + devices) * factor, (miu.upper + devices) * factor)
    deviation = max(
        float(np.sqrt(block.prior.variance[columns].max())) for block, columns in blocks
    )
    if deviation > 1.0:
        broken.append("a prior standard deviation is above 1")
    return RunBounds(lemma, theorem, radius, score_bound, uncertainty, miu, tuple(broken))


def _ratio(radius: float) -> float:
    if not np.isfinite(radius):
        return float("inf")
    above, below = (float(tau(np.array(value))) for value in (radius, -radius))
    return above / below if below > 0.0 else float("inf")


def _arm(state: State, event: ArmStarted) -> tuple[Block, int]:
    study = state.study(event.decision.study)
    return study.block, state.prior.columns(study.dataset)[event.decision.model]


def _radius(block: Block, truth: Vector) -> float:
    miss = np.abs(truth - block.belief.posterior.mean)
    sigma = np.sqrt(block.belief.posterior.variance)
    uncertain = np.isfinite(truth) & (sigma > 0.0)
    known = np.isfinite(truth) & (sigma <= 0.0)
    # A variance below the resolution counts as 0, so a known score may differ by that much, too.
    allowed = np.sqrt(block.prior.resolution) + _ROUNDING * (
        1.0 + np.abs(block.belief.posterior.mean)
    )
    if np.any(miss[known] > allowed[known]):
        return float("inf")
    return float((miss[uncertain] / sigma[uncertain]).max(initial=0.0))


def _miu(blocks: Sequence[Listed], tested: int) -> Bounds:
    """Return MIU(T, K), with K over the arms that at least one study lists."""
    scores: dict[tuple[int, bytes], list[Bounds]] = {}
    times: dict[tuple[int, bytes], int] = {}
    for block, columns in blocks:
        key = id(block.prior), columns.tobytes()  # blocks of a shared prior share one object
        times[key] = times.get(key, 0) + 1
        if key not in scores:
            scores[key] = miu_scores(np.array([block.prior.row(int(i))[columns] for i in columns]))
    combined = miu_scores_of_blocks([(scores[key], times[key]) for key in scores], tested)
    return miu_total(combined, tested)
