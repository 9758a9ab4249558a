"""The claims of Section 6.3: more than one device."""

import itertools

import numpy as np

from bentham.core.gaussian.sums import contract
from bentham.reproduce.claims import (
    JOINED,
    Claim,
    Measurement,
    Verdict,
    above,
    below,
    explained,
    in_words,
    together,
)
from bentham.reproduce.comparisons import MARGIN, READINGS, SUPPLY, gain
from bentham.reproduce.curves import SpeedUp, estimate, ratio_estimate, resamples, speed_up
from bentham.reproduce.evidence import TITLES, Evidence
from bentham.reproduce.plan import DEEPLEARNING, DEVICES, STUDY_TABLES, SYNTHETIC_DEVICES
from bentham.tables.standin import STANDIN

EFFICIENT, WASTEFUL = 0.75, 0.5  # speed-up over the number of devices
NO_GROWTH = 0.1  # a power below this is none
EARLY = 0.03  # the regret that the paper names for AZURE


def more_devices(evidence: Evidence) -> Claim:
    """Figure 3."""
    measured, verdicts = [], []
    for table in evidence.compared:
        levels = evidence.curves(table, "paper", 1).levels()
        for few, many in itertools.pairwise(DEVICES):
            faster = speed_up(
                evidence.curves(table, "paper", few), evidence.curves(table, "paper", many), levels
            ).typical
            measured.append(
                Measurement.of(f"{TITLES[table]}: speed-up of {many} devices over {few}", faster)
            )
            verdicts.append(above(faster, 1.0))
    verdict = together(verdicts)
    sure = sum(one is Verdict.HOLDS for one in verdicts)
    why = f"{sure} of {len(verdicts)} doublings of devices surely bring it earlier."
    return Claim(
        "more-devices-faster",
        "Section 6.3, Figure 3",
        "The more devices, the faster the instantaneous regret drops.",
        "Every doubling of devices, on every table at hand, brings the mean regret earlier to the "
        "same levels (the mean over levels), or later, if the whole interval says so, and else it "
        f"is open. {JOINED}",
        tuple(measured),
        verdict,
        explained(verdict, why),
    )


def more_studies(evidence: Evidence) -> Claim:
    """Figure 3, one table beside the other."""
    found = {table: _of_eight(evidence, table) for table in (*evidence.compared, *STUDY_TABLES)}
    counts = np.log([evidence.served(table) for table in STUDY_TABLES])
    centred = counts - counts.mean()
    logs = np.array([found[table].logs for table in STUDY_TABLES])
    growth = estimate(
        contract("tb,t->b", logs, centred) / (centred**2).sum(), evidence.scale.probes
    )
    measured = [
        *(
            Measurement.of(f"{TITLES[table]}: speed-up of 8 devices over 1", found[table].typical)
            for table in evidence.compared
        ),
        *(
            Measurement.of(
                f"{evidence.served(table)} studies of oboe, drawn anew in every run: speed-up of 8 "
                "devices over 1",
                found[table].typical,
            )
            for table in STUDY_TABLES
        ),
        Measurement.of("oboe: the speed-up grows as this power of the number of studies", growth),
    ]
    name, where = "larger-speed-up-with-more-studies", "Section 6.3, Figure 3"
    statement = (
        "The speed-up by devices is larger on DEEPLEARNING, since more studies are served there "
        "(14) than on AZURE (9)."
    )
    rule = (
        "Two conditions: the speed-up of 8 devices over one is larger on DEEPLEARNING than on the "
        "stand-in; and it grows with the number of studies drawn from oboe, as a power above 0 "
        f"(none: below {NO_GROWTH:g}). Each is met, or not, if the whole interval says so, and "
        f"else open. {JOINED}"
    )
    if not evidence.has_deeplearning:
        return Claim(name, where, statement, rule, tuple(measured), Verdict.UNTESTED, SUPPLY)
    ratio = ratio_estimate(found[DEEPLEARNING].logs - found[STANDIN].logs, evidence.scale.repeats)
    measured.insert(2, Measurement.of("ratio of the two", ratio))
    grows = above(growth, 0.0)
    if grows is not Verdict.HOLDS and growth.high < NO_GROWTH:
        grows = Verdict.FAILS
    verdict = together([above(ratio, 1.0), grows])
    why = (
        f"The speed-up on DEEPLEARNING is {in_words(ratio, 'x')} that on the stand-in. With "
        f"studies drawn from oboe it changes as the power {in_words(growth)} of their number."
    )
    if ratio.low > 1.0 and grows is Verdict.FAILS:
        why += (
            " So the two tables differ as the paper says, but the number of studies does not "
            "explain it."
        )
    return Claim(
        name, where, statement, rule, tuple(measured), verdict,
        explained(verdict, why),
    )  # fmt: skip


def early_on_azure(evidence: Evidence) -> Claim:
    """Figure 3, AZURE, at a regret of 0.03."""
    one = evidence.curves(STANDIN, "paper", 1)
    runs = evidence.scale.repeats
    level = np.array([EARLY])
    measured = []
    for devices in DEVICES[1:]:
        faster = speed_up(one, evidence.curves(STANDIN, "paper", devices), level)
        measured.append(
            Measurement.of(
                f"stand-in: speed-up of {devices} devices over 1 to regret {EARLY:g}",
                faster.typical,
            )
        )
    typical = _of_eight(evidence, STANDIN)
    ratio = ratio_estimate(faster.logs - typical.logs, runs)
    measured += [
        Measurement.of("stand-in: speed-up of 8 devices over 1, mean over levels", typical.typical),
        Measurement.of("ratio of the last two", ratio),
    ]
    verdict = above(ratio, 1.0)
    why = (
        f"The speed-up of 8 devices to {EARLY:g} is {in_words(faster.typical, 'x')}, "
        f"{in_words(ratio, 'x')} that over all levels."
    )
    return Claim(
        "early-on-azure",
        "Section 6.3, Figure 3",
        "On AZURE the speed-up by devices to an instantaneous regret of 0.03 stands out.",
        f"On the stand-in: holds if 8 devices speed up reaching {EARLY:g} more than reaching all "
        "levels on average, does not if less (the whole interval). The reason that the paper "
        "supposes, almost as many devices as studies, is not tested.",
        tuple(measured),
        verdict,
        explained(verdict, why),
    )


def _of_eight(evidence: Evidence, table: str) -> SpeedUp:
    one = evidence.curves(table, "paper", 1)
    return speed_up(one, evidence.curves(table, "paper", 8), one.levels())


def up_to_four_devices(evidence: Evidence) -> Claim:
    """Figure 4."""
    measured, verdicts, words = [], [], []
    for rival, reading in READINGS.items():
        for devices in (2, 4):
            less = gain(evidence, STANDIN, rival, devices)
            measured.append(
                Measurement.of(
                    f"stand-in, {devices} devices: cumulative regret of round robin {reading} over "
                    "mdmt's",
                    less,
                )
            )
            verdicts.append(above(less, 1.0))
            words.append(f"{in_words(less, 'x')} {reading} with {devices} devices")
    verdict = together(verdicts)
    return Claim(
        "better-with-four-devices",
        "Section 6.3, Figure 4",
        "With up to four devices mdmt is significantly better than round robin on AZURE.",
        "On the stand-in, with two and with four devices and both readings of round robin: it has "
        "more cumulative regret than mdmt, or less, if the whole interval says so, and else it is "
        f"open. {JOINED}",
        tuple(measured),
        verdict,
        explained(verdict, f"Round robin's cumulative regret is, of mdmt's, {', '.join(words)}."),
    )


def eight_devices(evidence: Evidence) -> Claim:
    """Section 6.3: 8 devices, 9 studies."""
    measured, verdicts, words = [], [], []
    for rival, reading in READINGS.items():
        less = gain(evidence, STANDIN, rival, 8)
        measured.append(
            Measurement.of(
                f"stand-in: cumulative regret of round robin {reading} over mdmt's", less, 1.0
            )
        )
        sides = {below(less, MARGIN), above(less, 1.0 / MARGIN)}
        verdicts.append(
            Verdict.FAILS
            if Verdict.FAILS in sides
            else (Verdict.UNTESTED if Verdict.UNTESTED in sides else Verdict.HOLDS)
        )
        words.append(f"{in_words(less, 'x')} {reading}")
    verdict = together(verdicts)
    return Claim(
        "equal-with-eight-devices",
        "Section 6.3",
        "With eight devices and nine studies, mdmt and round robin do almost the same on AZURE.",
        "On the stand-in, for both readings of round robin: the ratio of cumulative regrets lies "
        f"within a factor of {MARGIN:g} of 1, or outside, if the whole interval says so, and else "
        f"it is open. {JOINED}",
        tuple(measured),
        verdict,
        explained(verdict, f"Round robin's cumulative regret is, of mdmt's, {', '.join(words)}."),
    )


def near_linear(evidence: Evidence) -> Claim:
    """Figure 5."""
    measured, verdicts, words = [], [], []
    most = SYNTHETIC_DEVICES[-1]
    for variant, name in (
        ("paper", "mdmt, prior of 8 studies"),
        ("told", "mdmt, true prior"),
        ("default", "learned defaults"),
    ):
        one, many = (evidence.cutoff_times(variant, devices) for devices in (1, most))
        weights = resamples(len(one))
        logs = np.log(contract("br,r->b", weights, one) / contract("br,r->b", weights, many))
        efficiency = ratio_estimate(logs - np.log(most), len(one))
        measured.append(
            Measurement.of(f"{name}: speed-up of {most} devices, over {most}", efficiency, 1.0)
        )
        words.append(f"{efficiency.value:.2f} ({name})")
        if variant != "default":  # which goes beyond the paper
            verdict = Verdict.FAILS if efficiency.high < WASTEFUL else Verdict.PART
            verdicts.append(Verdict.HOLDS if efficiency.low >= EFFICIENT else verdict)
    verdict = together(verdicts)
    return Claim(
        "near-linear-on-synthetic",
        "Section 6.3, Figure 5",
        "On the synthetic problem, the average time to an instantaneous regret of 0.01 falls "
        "nearly linearly with the number of devices.",
        f"Holds if the speed-up of {most} devices is at least {EFFICIENT:g} of {most} (the whole "
        f"interval), does not if it is below {WASTEFUL:g} of it, in part between; for mdmt with "
        "the paper's protocol (8 of the studies set the prior) and for mdmt that is told the true "
        f"prior. {JOINED}",
        tuple(measured),
        verdict,
        explained(
            verdict,
            f"The speed-up of {most} devices, as a share of {most}, is {', '.join(words)}. The "
            "learned defaults count what is running, which mdmt ignores.",
        ),
    )


DEVICE_CLAIMS = (
    more_devices,
    more_studies,
    early_on_azure,
    up_to_four_devices,
    eight_devices,
    near_linear,
)
