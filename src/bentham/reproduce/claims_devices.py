"""The claims of Section 6.3: more than one device."""

import itertools

import numpy as np

from bentham.reproduce.claims import Claim, Measured, Verdict, shares, together
from bentham.reproduce.comparisons import READINGS, SUPPLY, gain
from bentham.reproduce.curves import SpeedUp, estimate, resamples, speed_up
from bentham.reproduce.evidence import TITLES, Evidence
from bentham.reproduce.plan import DEEPLEARNING, DEVICES, STUDY_TABLES, SYNTHETIC_DEVICES
from bentham.tables import Table
from bentham.tables.standin import STANDIN

MARGIN = 1.25  # within this factor either way: about equal
NEAR_LINEAR, HALF_LINEAR = 0.75, 0.5  # efficiency: speed-up over the number of devices


def more_devices(evidence: Evidence) -> Claim:
    """Figure 3."""
    measured, supported = [], []
    for table in evidence.compared:
        levels = evidence.curves(table, "paper", 1).levels()
        for few, many in itertools.pairwise(DEVICES):
            faster = speed_up(
                evidence.curves(table, "paper", few), evidence.curves(table, "paper", many), levels
            )
            measured.append(
                Measured.of(
                    f"{TITLES[table]}: speed-up of {many} devices over {few}", faster.typical
                )
            )
            supported.append(faster.typical.low > 1.0)
    return Claim(
        "more-devices-faster",
        "Section 6.3, Figure 3",
        "The more devices, the faster the instantaneous regret drops.",
        "Holds if every doubling of devices brings the mean regret earlier to the same levels "
        "(intervals above 1; the mean over levels), on every table at hand.",
        tuple(measured),
        shares(supported),
        "" if evidence.has_deeplearning else SUPPLY,
    )


def more_studies(evidence: Evidence) -> Claim:
    """Figure 3, one table beside the other."""
    measured, trend = [], []
    counts = np.log([evidence.served(table) for table in STUDY_TABLES])
    for table in STUDY_TABLES:
        faster = _of_eight(evidence, table)
        trend.append(np.concatenate([[np.log(faster.typical.value)], faster.logs]))
        measured.append(
            Measured.of(
                f"speed-up of 8 devices over 1, {evidence.served(table)} studies of oboe",
                faster.typical,
            )
        )
    centred = counts - counts.mean()
    growth = estimate(np.einsum("tb,t->b", np.array(trend), centred) / (centred**2).sum())
    measured.append(Measured.of("growth: speed-up as this power of the number of studies", growth))
    name, where = "larger-speed-up-with-more-studies", "Section 6.3, Figure 3"
    statement = (
        "The speed-up by devices is larger on the table with more studies (DEEPLEARNING serves 14, "
        "AZURE 9)."
    )
    rule = (
        "Holds if the speed-up of 8 devices over one is larger on DEEPLEARNING than on the "
        "stand-in (interval of the ratio above 1), and grows with the number of studies cut from "
        "oboe (interval above 0); in part if one of the two."
    )
    if not evidence.has_deeplearning:
        return Claim(name, where, statement, rule, tuple(measured), Verdict.UNTESTED, SUPPLY)
    ours, theirs = _of_eight(evidence, DEEPLEARNING), _of_eight(evidence, STANDIN)
    logs = np.concatenate([[np.log(ours.typical.value)], ours.logs]) - np.concatenate(
        [[np.log(theirs.typical.value)], theirs.logs]
    )
    ratio = estimate(np.exp(logs))
    measured = [
        Measured.of(f"speed-up of 8 devices over 1, {TITLES[DEEPLEARNING]}", ours.typical),
        Measured.of(f"speed-up of 8 devices over 1, {TITLES[STANDIN]}", theirs.typical),
        Measured.of("ratio of the two", ratio),
        *measured,
    ]
    verdict = shares([ratio.low > 1.0, growth.low > 0.0])
    longest = {table: _longest_best(evidence.tables[table]) for table in evidence.compared}
    measured += [
        Measured(f"longest trial of a best model, share of all device time, {TITLES[table]}", share)
        for table, share in longest.items()
    ]
    why = (
        "On tables cut from oboe the speed-up does not depend much on the number of studies. What "
        "sets the paper's two tables apart here are their costs: in the stand-in a single trial "
        f"of a best model takes {longest[STANDIN]:.2f} of all device time, and the regret of its "
        "study stays until it ends, however many devices there are; in DEEPLEARNING the longest "
        f"takes {longest[DEEPLEARNING]:.2f}."
    )
    return Claim(
        name, where, statement, rule, tuple(measured), verdict,
        "" if verdict is Verdict.HOLDS else why,
    )  # fmt: skip


def _longest_best(table: Table) -> float:
    """The longest trial that some study cannot do without, as a share of all device time."""
    best = np.nanargmax(table.scores, axis=1)
    return float(table.costs[np.arange(len(best)), best].max() / np.nansum(table.costs))


def _of_eight(evidence: Evidence, table: str) -> SpeedUp:
    one = evidence.curves(table, "paper", 1)
    return speed_up(one, evidence.curves(table, "paper", 8), one.levels())


def four_devices(evidence: Evidence) -> Claim:
    """Figure 4."""
    measured, supported = [], []
    for rival, reading in READINGS.items():
        less = gain(evidence, STANDIN, rival, 4)
        measured.append(
            Measured.of(f"cumulative regret of round robin {reading} over mdmt's", less)
        )
        supported.append(less.low > 1.0)
    verdict = shares(supported)
    why = (
        "A round robin that divides by cost, too, does as well with four devices: with 9 studies, "
        "4 of which are always being served, there is little to choose among. With more studies "
        "per device there is: see the figure on the number of studies."
    )
    return Claim(
        "better-with-four-devices",
        "Section 6.3, Figure 4",
        "With four devices mdmt is significantly better than round robin on AZURE.",
        "Holds for a reading of round robin if its cumulative regret is above mdmt's (interval "
        "above 1). The verdict joins both readings.",
        tuple(measured),
        verdict,
        "" if verdict is Verdict.HOLDS else why,
    )


def eight_devices(evidence: Evidence) -> Claim:
    """Section 6.3: 8 devices, 9 studies."""
    measured, verdicts = [], []
    for rival, reading in READINGS.items():
        less = gain(evidence, STANDIN, rival, 8)
        measured.append(
            Measured.of(f"cumulative regret of round robin {reading} over mdmt's", less, 1.0)
        )
        if less.low > 1.0 / MARGIN and less.high < MARGIN:
            verdicts.append(Verdict.HOLDS)
        elif less.low >= MARGIN or less.high <= 1.0 / MARGIN:
            verdicts.append(Verdict.FAILS)
        else:
            verdicts.append(Verdict.PART)
    return Claim(
        "equal-with-eight-devices",
        "Section 6.3",
        "With eight devices and nine studies, mdmt and round robin do almost the same on AZURE.",
        f"Holds for a reading of round robin if the interval of the ratio of cumulative regrets "
        f"lies within a factor of {MARGIN:g} of 1; does not if it lies outside. The verdict joins "
        "both readings.",
        tuple(measured),
        together(verdicts),
    )


def near_linear(evidence: Evidence) -> Claim:
    """Figure 5."""
    measured, verdicts = [], []
    most = SYNTHETIC_DEVICES[-1]
    for variant, prior in (("paper", "sample prior"), ("told", "true prior")):
        one, many = (evidence.cutoff_times(variant, devices) for devices in (1, most))
        weights = resamples(len(one))
        ratios = np.einsum("br,r->b", weights, one) / np.einsum("br,r->b", weights, many)
        efficiency = estimate(ratios / most)
        measured.append(
            Measured.of(f"{prior}: speed-up of {most} devices, over {most}", efficiency, 1.0)
        )
        if efficiency.low >= NEAR_LINEAR:
            verdicts.append(Verdict.HOLDS)
        else:
            verdicts.append(Verdict.FAILS if efficiency.high < HALF_LINEAR else Verdict.PART)
    return Claim(
        "near-linear-on-synthetic",
        "Section 6.3, Figure 5",
        "On the synthetic problem, the average time to an instantaneous regret of 0.01 falls "
        "nearly linearly with the number of devices.",
        f"Holds if the speed-up of {most} devices is at least {NEAR_LINEAR:g} of {most} (the whole "
        f"interval), does not if it is below {HALF_LINEAR:g} of it. The verdict joins the paper's "
        "protocol (8 of the studies set the prior) and mdmt that is told the true prior.",
        tuple(measured),
        together(verdicts),
    )


DEVICE_CLAIMS = (more_devices, more_studies, four_devices, eight_devices, near_linear)
