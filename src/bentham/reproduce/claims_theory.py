"""The claims of Section 5: the bound, MIU, and where the average regret goes to zero."""

import functools
from collections.abc import Sequence

import numpy as np

from bentham.core.gaussian.validation import Matrix, Vector
from bentham.core.theory.uncertainty import miu_scores, miu_total, top_diagonal_bound
from bentham.reproduce.claims import (
    DECIDED,
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
    "independent-even": "uniform",
    "independent-needle": "one arm above all others",
}
FLAT = 0.1  # an exponent this close to 0 counts as constant, to 1 as linear
STEEP = -0.75  # an exponent below this counts as about -1
ROUNDING = 1e-9
# Variances of independent arms for which the paper's bound by the diagonal is too low.
UNEQUAL = (0.98, 0.0025, 0.0025)


def under_the_bound(evidence: Evidence) -> Claim:
    """Judge the main theorem and the lemma that it follows from."""
    cells = dict.fromkeys(  # some cells belong to two series
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
        "The theorem leaves its constant open, but its proof does not. Two conditions, for all "
        "runs that meet the theorem's assumptions: the regret is at most the explicit bound of the "
        "lemma in the proof; and the sum of the uncertainties of the trials is at most "
        "MIU(T, K) + M, which leads from the lemma to the theorem. Holds if both are met, in part "
        "if one is. Also reported: how tight the bound is, and the constant that the theorem's own "
        "expression would need."
    )
    if not runs:
        return Claim(
            name, where, statement, rule, (), Verdict.UNTESTED,
            "No run meets the assumptions of the theorem.",
        )  # fmt: skip
    explicit = max(result["cumulative_regret"] / result["lemma"] for _, result in runs)
    step = max(
        result["uncertainty"] / (result["miu_upper"] + cell.devices) for cell, result in runs
    )
    constant = max(result["cumulative_regret"] / result["theorem_lower"] for _, result in runs)
    empty = sum(result["lemma"] >= result["idle"] for _, result in runs) / len(runs)
    growth = {grows: _steepest(evidence, grows) for grows in ("T", "M", "N")}
    measured = (
        Measurement("runs that meet the assumptions", len(runs)),
        Measurement("largest ratio of regret / explicit bound", explicit, claimed=1.0),
        Measurement("largest ratio of summed uncertainties / (MIU + M)", step, claimed=1.0),
        Measurement(
            "share of runs whose explicit bound is above the regret of running no trial", empty
        ),
        Measurement("constant that the theorem's expression needs", constant),
        *(
            Measurement.of(f"exponent of this constant in {grows}, worst case", power)
            for grows, power in growth.items()
        ),
    )
    why = f"The explicit bound is above the regret of running no trial in {empty:.0%} of runs"
    why += ": there it holds for any policy and says nothing about this one." if empty else "."
    if growth["M"].low > 0.0:
        why += (
            " The theorem's expression falls faster with the number of devices than the regret "
            f"does: the constant that it needs grows with M, with exponent {in_words(growth['M'])}."
        )
    verdict = both(explicit <= 1.0, step <= 1.0 + ROUNDING)
    return Claim(name, where, statement, rule, measured, verdict, why)


def _steepest(evidence: Evidence, grows: str) -> IntervalEstimate:
    """Return the largest exponent, over cases, of regret / the theorem's expression."""
    found = []
    for case in BOUND_CASES:
        cells = growing(case)[grows]
        ratio = evidence.column(cells, "cumulative_regret") / evidence.column(
            cells, "theorem_lower"
        )
        found.append(slope(growth_of(cells, grows), ratio))
    return max(found, key=lambda one: one.value)


def factor_of_devices(evidence: Evidence) -> Claim:
    """Judge the remark on near-linear speed-up."""
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
            Measurement.of(f"{case}: exponent of the regret in M", falls[-1], -1.0),
            Measurement.of(f"{case}: the same, accounting for running trials (joint)", counting),
            Measurement(
                f"{case}, {DEVICES[-1]} devices: share of the regret before first scores", waiting
            ),
        ]
        words.append(
            f"{case.capitalize()}: the exponent is {in_words(falls[-1])}, or {in_words(counting)} "
            f"when accounting for running trials; with {DEVICES[-1]} devices, {waiting:.0%} of the "
            "regret is from before the studies' first scores"
        )
    verdict = together([below(fall, STEEP) for fall in falls])
    return Claim(
        "regret-falls-by-m",
        "Section 5.2, after the theorem",
        "With M devices the regret is roughly M times lower than with one, as long as M is "
        "dominated by MIU(T, K).",
        f"Problems of 8 studies x 16 models (MIU is about 120) with 1 to 8 devices, started as in "
        f"Algorithm 1. One condition for Matern and one for independent scores: the exponent of "
        f"the regret in M is below {STEEP:g}. {DECIDED}",
        tuple(measured),
        verdict,
        explained(verdict, f"{'. '.join(words)}."),
    )


@functools.cache  # used by a claim and a figure
def miu_growth(case: str) -> tuple[tuple[int, float, float], ...]:
    """Return (arms, lower, upper) bounds of MIU with half of the arms tried, for MIU_SIZES arms."""
    grown = []
    for arms in MIU_SIZES:
        rng = np.random.default_rng([arms, MIU_CASES.index(case)])
        total = miu_total(miu_scores(covariance_of(case, arms, rng)), arms // 2)
        grown.append((arms, total.lower, total.upper))
    return tuple(grown)


def exponent(sizes: Vector, values: Vector) -> float:
    """Return the exponent with which values grow, over the larger half of the sizes."""
    first, last = len(sizes) // 2, len(sizes) - 1
    return float(np.log(values[last] / values[first]) / np.log(sizes[last] / sizes[first]))


def miu_by_case(evidence: Evidence) -> Claim:
    """Judge the special cases of MIU."""
    measured, powers = [], {}
    for case in MIU_CASES:
        sizes, lower, upper = np.array(miu_growth(case)).T
        powers[case] = exponent(sizes, lower), exponent(sizes, upper)
        measured += [
            Measurement(f"{case}: exponent of MIU in T, lower bound", powers[case][0]),
            Measurement(f"{case}: exponent of MIU in T, upper bound", powers[case][1]),
        ]
    cells = growing("matern")["N"]
    met = slope(growth_of(cells, "N"), evidence.column(cells, "uncertainty"))
    measured.append(
        Measurement.of("matern: exponent of the summed uncertainties of the trials", met)
    )
    why = (
        "One might expect kernels such as Matern to lie in between. Their exponent is between "
        f"{powers['matern'][0]:.2f} and {powers['matern'][1]:.2f}."
    )
    if powers["matern"][0] > 1.0 - FLAT:
        why += (
            " MIU_s is a maximum over all sets S': the s - 1 arms may all lie at one end of the "
            "interval and say almost nothing about an arm at the other end. The summed "
            f"uncertainties of the trials that were run grow with exponent {in_words(met)}."
        )
    return Claim(
        "miu-in-special-cases",
        "Section 5.2, special cases",
        "MIU(T, K) is bounded if the models are combinations of finitely many latent ones, and "
        "linear in T if they are independent.",
        f"64 to 256 arms, half of which are tried. Holds if the exponent of MIU in T is below "
        f"{FLAT:g} for finite rank (upper bound) and above {1 - FLAT:g} for independent models "
        "(lower bound); in part if one of the two. Matern is reported in addition.",
        tuple(measured),
        both(powers["finite-rank"][1] < FLAT, powers["independent"][0] > 1.0 - FLAT),
        why,
    )


def miu_diagonal(evidence: Evidence) -> Claim:  # noqa: ARG001
    """Judge the bound of MIU by the diagonal of K; it needs no runs."""
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
        "one that is added last, so every MIU_s equals its standard deviation. With equal "
        "variances the stated bound is correct; in general, the largest standard deviation times "
        "the number of arms is a bound."
    )
    names = ", ".join(f"{variance:g}" for variance in UNEQUAL)
    return Claim(
        "miu-under-the-diagonal",
        "Section 5.2",
        "MIU(T, K) is at most the sum of the square roots of the |L(T)| largest diagonal entries "
        "of K.",
        "This is a statement about every K, so one counterexample refutes it. Two examples of "
        "three independent arms are computed exactly, with unequal and with equal variances.",
        (
            Measurement(f"variances {names}: MIU, exactly", total.lower, claimed=stated),
            Measurement("equal variances: MIU, exactly", equal_total.lower, claimed=equal_stated),
        ),
        verdict,
        explained(verdict, why),
    )


def average_regret(evidence: Evidence, case: str) -> tuple[Vector, Matrix]:
    """Return T and, with a row per run, the average regret after the studies' first scores."""
    cells = rate_cells(case, evidence.scale)
    times = evidence.column(cells, "until")
    regret = evidence.column(cells, "cumulative_regret") - evidence.column(cells, "waiting")
    return times[0], regret / times


def rate(evidence: Evidence, case: str) -> IntervalEstimate:
    """Return the exponent of the average regret in T."""
    return slope(*average_regret(evidence, case))


def converges(evidence: Evidence) -> Claim:
    """Judge that the average regret goes to zero if MIU grows slower than T."""
    ranked, smooth = rate(evidence, "finite-rank"), rate(evidence, "matern")
    verdict = below(ranked, STEEP)
    if verdict is not Verdict.HOLDS:  # it may still go to zero, but more slowly
        verdict = Verdict.PART if ranked.high < -FLAT else below(ranked, -FLAT)
    why = f"With finite rank the exponent is {in_words(ranked)}, with Matern {in_words(smooth)}."
    if smooth.high < -FLAT:
        why += " Matern's MIU is linear, but its average regret falls: the bound is loose there."
    return Claim(
        "average-regret-goes-to-zero",
        "Section 5.2",
        "If MIU(T, K) grows slower than T, the average regret goes to zero; if MIU is bounded, it "
        "does so like 1/T.",
        "Problems of growing size, half of whose arms are tried; regret counts from the studies' "
        "first scores. Judged by the exponent of the average regret in T with finite rank: holds "
        f"if it is below {STEEP:g}, in part if below -{FLAT:g}, and does not hold if above that "
        "(for the whole interval).",
        (
            Measurement.of("finite rank: exponent of the average regret in T", ranked, -1.0),
            Measurement.of("Matern: exponent of the average regret in T", smooth),
        ),
        verdict,
        explained(verdict, why) or why,
    )


def does_not_converge(evidence: Evidence) -> Claim:
    """Judge that the average regret does not go to zero if models are independent."""
    powers = {case: rate(evidence, case) for case in INDEPENDENT}
    verdicts = [above(power, -FLAT) for power in powers.values()]
    words = ", ".join(f"{INDEPENDENT[case]} {in_words(power)}" for case, power in powers.items())
    why = (
        f"The exponent depends on the distribution of the scores: {words}. No arm says anything "
        "about another, but the best of many draws may still be close to the best of all. The "
        "theorem bounds the worst case."
    )
    verdict = together(verdicts)
    return Claim(
        "no-convergence-if-independent",
        "Section 5.2, special cases",
        "If all models are independent, the regret is of order T and the average regret does not "
        "go to zero.",
        "Problems of growing size, half of whose arms are tried; regret counts from the studies' "
        "first scores. One condition for each of three distributions of independent scores: the "
        f"average regret is flat (its exponent in T is above -{FLAT:g}). {DECIDED}",
        tuple(
            Measurement.of(
                f"independent, {INDEPENDENT[case]}: exponent of the average regret in T",
                power,
                0.0,
            )
            for case, power in powers.items()
        ),
        verdict,
        explained(verdict, why),
    )


def growth_of(cells: Sequence[TheoryCell], grows: str) -> Vector:
    """Return the value of the growing quantity in each cell."""
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
