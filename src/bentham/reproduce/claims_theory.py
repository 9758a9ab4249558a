"""The claims of Section 5: the bound, MIU, and where the average regret goes to zero."""

import functools
from collections.abc import Sequence

import numpy as np

from bentham.core.gaussian.validation import Matrix, Vector
from bentham.core.theory.uncertainty import miu_scores, miu_total, top_diagonal_bound
from bentham.reproduce.claims import (
    JOINED,
    Claim,
    Measurement,
    Verdict,
    above,
    below,
    both,
    explained,
    in_words,
    together,
)
from bentham.reproduce.curves import IntervalEstimate, slope
from bentham.reproduce.evidence import Evidence
from bentham.reproduce.plan import (
    BOUND_CASES,
    DEVICES,
    SPEED_UP_CASES,
    growing,
    rate_cells,
    speed_up_cells,
)
from bentham.reproduce.problems import TheoryCell, covariance_of

MIU_SIZES = (16, 32, 64, 128, 256)
MIU_CASES = ("finite-rank", "matern", "independent")
INDEPENDENT = {
    "independent": "Gaussian",
    "independent-even": "evenly distributed",
    "independent-needle": "one arm above all others",
}
FLAT = 0.1  # a power within this of 0 is none, of 1 is linear
STEEP = -0.75  # a power below this is about -1
ROUNDING = 1e-9
# Independent arms of unequal variance, for which the bound by the diagonal is too low.
UNEQUAL = (0.98, 0.0025, 0.0025)


def under_the_bound(evidence: Evidence) -> Claim:
    """The main theorem and the lemma that it follows from."""
    cells = dict.fromkeys(  # some belong to two of the series
        cell for case in BOUND_CASES for grown in growing(case).values() for cell in grown
    )
    runs = [
        (cell, result)
        for cell in cells
        for result in evidence.results[cell]
        if not result["broken"]
    ]
    name, where = "regret-under-the-bound", "Section 5.2, main theorem"
    statement = (
        "The regret is at most a constant times (MIU(T, K) + M) N^2 / M times the mean cost of the "
        "best models."
    )
    rule = (
        "The theorem leaves its constant open; its proof does not. Holds if in no run that meets "
        "the suppositions the regret is above the explicit bound of the lemma in the proof, nor "
        "the sum of the doubts met by trials above MIU(T, K) + M, the step from there to the "
        "theorem; in part if one of the two. What the bound says, and the constant that the "
        "theorem's own expression would need, is reported."
    )
    if not runs:
        return Claim(
            name, where, statement, rule, (), Verdict.UNTESTED,
            "No run meets the suppositions of the theorem.",
        )  # fmt: skip
    explicit = max(result["cumulative_regret"] / result["lemma"] for _, result in runs)
    step = max(
        result["uncertainty"] / (result["miu_upper"] + cell.devices) for cell, result in runs
    )
    constant = max(result["cumulative_regret"] / result["theorem_lower"] for _, result in runs)
    empty = sum(result["lemma"] >= result["idle"] for _, result in runs) / len(runs)
    growth = {grows: _steepest(evidence, grows) for grows in ("T", "M", "N")}
    measured = (
        Measurement("runs that meet the suppositions", len(runs)),
        Measurement("largest regret over the explicit bound", explicit, claimed=1.0),
        Measurement("largest sum of doubts over MIU + M", step, claimed=1.0),
        Measurement(
            "share of runs whose explicit bound is above the regret of running nothing", empty
        ),
        Measurement("constant that the theorem's expression needs", constant),
        *(
            Measurement.of(f"that constant changes with {grows} as this power, at worst", power)
            for grows, power in growth.items()
        ),
    )
    why = f"The explicit bound is above the regret of running nothing at all in {empty:.0%} of runs"
    why += ": where it is, it holds for any policy, and says nothing of this one." if empty else "."
    if growth["M"].low > 0.0:
        why += (
            " The theorem's expression falls faster with the number of devices than the regret "
            f"does: the constant that it needs grows as M to the power {in_words(growth['M'])}."
        )
    verdict = both(explicit <= 1.0, step <= 1.0 + ROUNDING)
    return Claim(name, where, statement, rule, measured, verdict, why)


def _steepest(evidence: Evidence, grows: str) -> IntervalEstimate:
    """How regret over the theorem's expression changes, where it grows most."""
    found = []
    for case in BOUND_CASES:
        cells = growing(case)[grows]
        ratio = evidence.column(cells, "cumulative_regret") / evidence.column(
            cells, "theorem_lower"
        )
        found.append(slope(growth_of(cells, grows), ratio))
    return max(found, key=lambda one: one.value)


def factor_of_devices(evidence: Evidence) -> Claim:
    """The remark on near-linear speed-up."""
    measured, falls, words = [], [], []
    devices = np.array(DEVICES, dtype=float)
    for case in SPEED_UP_CASES:
        cells = speed_up_cells(case, "mdmt")
        regret = evidence.column(cells, "cumulative_regret")
        falls.append(slope(devices, regret))
        waiting = float((evidence.column(cells, "waiting") / regret)[:, -1].mean())
        joint = evidence.column(speed_up_cells(case, "joint"), "cumulative_regret")
        counting = slope(devices, joint)
        measured += [
            Measurement.of(f"{case}: regret changes with M as this power", falls[-1], -1.0),
            Measurement.of(f"{case}: the same if running trials count (joint)", counting),
            Measurement(
                f"{case}, {DEVICES[-1]} devices: share of the regret before first scores", waiting
            ),
        ]
        words.append(
            f"{case.capitalize()}: the power is {in_words(falls[-1])}, with running trials counted "
            f"{in_words(counting)}; {waiting:.0%} of the regret with {DEVICES[-1]} devices is from "
            "before studies' first scores"
        )
    verdict = together([below(fall, STEEP) for fall in falls])
    return Claim(
        "regret-falls-by-m",
        "Section 5.2, after the theorem",
        "With more devices the regret falls roughly by their number M, as long as M is dominated "
        "by MIU(T, K).",
        f"Problems of 8 studies x 16 models (MIU is about 120) with 1 to 8 devices, begun as "
        f"Algorithm 1 has it; scores are Matern or independent. For each: the regret falls as a "
        f"power of M below {STEEP:g}, or less steeply, if the whole interval says so, and else it "
        f"is open. {JOINED}",
        tuple(measured),
        verdict,
        explained(verdict, f"{'. '.join(words)}."),
    )


@functools.cache  # a claim and a figure ask for it
def miu_growth(case: str) -> tuple[tuple[int, float, float], ...]:
    """(arms, lower, upper) of MIU with half of the arms tried, as the number of arms grows."""
    grown = []
    for arms in MIU_SIZES:
        rng = np.random.default_rng([arms, MIU_CASES.index(case)])
        total = miu_total(miu_scores(covariance_of(case, arms, rng)), arms // 2)
        grown.append((arms, total.lower, total.upper))
    return tuple(grown)


def exponent(sizes: Vector, values: Vector) -> float:
    """The power with which values grow, over the larger half of the sizes."""
    first, last = len(sizes) // 2, len(sizes) - 1
    return float(np.log(values[last] / values[first]) / np.log(sizes[last] / sizes[first]))


def miu_by_case(evidence: Evidence) -> Claim:
    """The special cases."""
    measured, powers = [], {}
    for case in MIU_CASES:
        sizes, lower, upper = np.array(miu_growth(case)).T
        powers[case] = exponent(sizes, lower), exponent(sizes, upper)
        measured += [
            Measurement(
                f"{case}: MIU grows with T as this power, bound from below", powers[case][0]
            ),
            Measurement(f"{case}: the same, bound from above", powers[case][1]),
        ]
    cells = growing("matern")["N"]
    met = slope(growth_of(cells, "N"), evidence.column(cells, "uncertainty"))
    measured.append(
        Measurement.of("matern: the doubts that trials met, summed, grow as this power", met)
    )
    why = (
        "One might expect kernels such as Matern in between. Their power lies between "
        f"{powers['matern'][0]:.2f} and {powers['matern'][1]:.2f}."
    )
    if powers["matern"][0] > 1.0 - FLAT:
        why += (
            " MIU_s is a maximum over all sets S': the s - 1 arms may all lie at one end of the "
            "interval and tell next to nothing about an arm at the other end. The doubts that "
            f"trials really met, summed, grow as the power {in_words(met)}."
        )
    return Claim(
        "miu-in-special-cases",
        "Section 5.2, special cases",
        "MIU(T, K) is bounded if the models are combinations of finitely many hidden ones, and "
        "linear in T if they are independent.",
        f"Half of the arms tried, 64 to 256 arms. Holds if the power of T is below {FLAT:g} for "
        f"finite rank (bound from above) and above {1 - FLAT:g} for independent models (bound from "
        "below); in part if one of the two. Matern is reported besides.",
        tuple(measured),
        both(powers["finite-rank"][1] < FLAT, powers["independent"][0] > 1.0 - FLAT),
        why,
    )


def miu_diagonal(evidence: Evidence) -> Claim:  # noqa: ARG001
    """The bound by the diagonal; it takes no runs."""
    covariance = np.diag(UNEQUAL)
    total = miu_total(miu_scores(covariance), len(UNEQUAL))
    stated = top_diagonal_bound(covariance, len(UNEQUAL))
    equal = np.eye(len(UNEQUAL)) * UNEQUAL[0]
    equal_total = miu_total(miu_scores(equal), len(UNEQUAL))
    equal_stated = top_diagonal_bound(equal, len(UNEQUAL))
    holds = total.upper <= stated and equal_total.upper <= equal_stated
    verdict = Verdict.HOLDS if holds else Verdict.FAILS
    why = (
        "With independent arms of unequal variance, the arm of largest variance can always be the "
        "one that is added last, so every MIU_s is its deviation. With equal variances the stated "
        "bound is right; in general, the largest deviation times the number of arms is."
    )
    names = ", ".join(f"{variance:g}" for variance in UNEQUAL)
    return Claim(
        "miu-under-the-diagonal",
        "Section 5.2",
        "MIU(T, K) is at most the sum of the square roots of the |L(T)| largest diagonal entries "
        "of K.",
        "A statement about every K: one counterexample refutes it. Two examples of three "
        "independent arms are computed exactly, with unequal and with equal variances.",
        (
            Measurement(f"variances {names}: MIU, exactly", total.lower, claimed=stated),
            Measurement("equal variances: MIU, exactly", equal_total.lower, claimed=equal_stated),
        ),
        verdict,
        explained(verdict, why),
    )


def average_regret(evidence: Evidence, case: str) -> tuple[Vector, Matrix]:
    """(T, average regret after studies' first scores, a row per run) as problems grow."""
    cells = rate_cells(case, evidence.scale)
    times = evidence.column(cells, "until")
    regret = evidence.column(cells, "cumulative_regret") - evidence.column(cells, "waiting")
    return times[0], regret / times


def rate(evidence: Evidence, case: str) -> IntervalEstimate:
    """The power of T with which the average regret changes."""
    return slope(*average_regret(evidence, case))


def converges(evidence: Evidence) -> Claim:
    """The average regret goes to zero where MIU grows slower than T."""
    ranked, smooth = rate(evidence, "finite-rank"), rate(evidence, "matern")
    verdict = below(ranked, STEEP)
    if verdict is not Verdict.HOLDS:  # slower than that, it still goes to zero
        verdict = Verdict.PART if ranked.high < -FLAT else below(ranked, -FLAT)
    why = f"With finite rank the power of T is {in_words(ranked)}, with Matern {in_words(smooth)}."
    if smooth.high < -FLAT:
        why += (
            " Matern's MIU is linear, and yet its average regret falls: the bound is loose there."
        )
    return Claim(
        "average-regret-goes-to-zero",
        "Section 5.2",
        "Where MIU(T, K) grows slower than T, the average regret goes to zero; like 1/T where MIU "
        "is bounded.",
        "Problems grow and half of their arms are tried; regret counts from studies' first scores. "
        f"Holds if with finite rank the average regret falls as a power of T below {STEEP:g} (the "
        f"whole interval), in part if below -{FLAT:g}, does not if above.",
        (
            Measurement.of("finite rank: average regret changes as this power of T", ranked, -1.0),
            Measurement.of("Matern: average regret changes as this power of T", smooth),
        ),
        verdict,
        explained(verdict, why) or why,
    )


def does_not_converge(evidence: Evidence) -> Claim:
    """No convergence where models are independent."""
    powers = {case: rate(evidence, case) for case in INDEPENDENT}
    verdicts = [above(power, -FLAT) for power in powers.values()]
    words = ", ".join(f"{INDEPENDENT[case]} {in_words(power)}" for case, power in powers.items())
    why = (
        f"The power of T depends on how scores are distributed: {words}. Nothing is learned from "
        "one arm for another, but the best of many draws may come near the best of all without. "
        "The theorem bounds the worst case."
    )
    verdict = together(verdicts)
    return Claim(
        "no-convergence-if-independent",
        "Section 5.2, special cases",
        "Where all models are independent, the regret is of order T and the average regret does "
        "not go to zero.",
        "Problems grow and half of their arms are tried; regret counts from studies' first scores. "
        "For three distributions of independent scores: the average regret is flat (the power of T "
        f"is above -{FLAT:g}), or falls, if the whole interval says so, and else it is open. "
        f"{JOINED}",
        tuple(
            Measurement.of(
                f"independent, {INDEPENDENT[case]}: average regret changes as this power of T",
                power,
                0.0,
            )
            for case, power in powers.items()
        ),
        verdict,
        explained(verdict, why),
    )


def growth_of(cells: Sequence[TheoryCell], grows: str) -> Vector:
    """What grows from cell to cell."""
    key = {"T": "share", "M": "devices", "N": "studies"}[grows]
    return np.array([float(getattr(cell, key)) for cell in cells])


THEORY_CLAIMS = (
    under_the_bound,
    factor_of_devices,
    miu_by_case,
    miu_diagonal,
    converges,
    does_not_converge,
)
