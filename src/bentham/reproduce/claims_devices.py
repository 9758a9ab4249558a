"""The claims of Section 6.3: more than one device."""

import itertools

import numpy as np

from bentham.core.gaussian.sums import contract
from bentham.reproduce.claims import (
    DECIDED,
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

EFFICIENT, WASTEFUL = 0.75, 0.5  # speed-up divided by the number of devices
NO_GROWTH = 0.1  # an exponent below this counts as no growth
EARLY = 0.03  # the regret that the paper mentions for AZURE


def more_devices(evidence: Evidence) -> Claim:
    """Judge that regret falls faster with more devices (Figure 3)."""
    measured, verdicts = [], []
    for table in evidence.compared:
        levels = evidence.curves(table, "paper", 1).levels()
        for few, many in itertools.pairwise(DEVICES):
            faster = speed_up(
                evidence.curves(table, "paper", few), evidence.curves(table, "paper", many), levels
            ).typical
            measured.append(
                Measurement.of(f"{TITLES[table]}: speed-up from {few} to {many} devices", faster)
            )
            verdicts.append(above(faster, 1.0))
    verdict = together(verdicts)
    clear = sum(verdict is Verdict.HOLDS for verdict in verdicts)
    why = f"{clear} of {len(verdicts)} doublings of devices clearly make the regret fall faster."
    return Claim(
        "more-devices-faster",
        "Section 6.3, Figure 3",
        "The more devices, the faster the instantaneous regret drops.",
        "One condition for every available table and every doubling of devices: the mean regret "
        f"reaches the same levels earlier (mean over levels). {DECIDED}",
        tuple(measured),
        verdict,
        explained(verdict, why),
    )


def more_studies(evidence: Evidence) -> Claim:
    """Judge that the speed-up is larger with more studies (Figure 3, compared between tables)."""
    found = {
        table: _eight_devices_speed_up(evidence, table)
        for table in (*evidence.compared, *STUDY_TABLES)
    }
    counts = np.log([evidence.served(table) for table in STUDY_TABLES])
    centred = counts - counts.mean()
    logs = np.array([found[table].logs for table in STUDY_TABLES])
    growth = estimate(
        contract("tb,t->b", logs, centred) / (centred**2).sum(), evidence.scale.probes
    )
    measured = [
        *(
            Measurement.of(f"{TITLES[table]}: speed-up from 1 to 8 devices", found[table].typical)
            for table in evidence.compared
        ),
        *(
            Measurement.of(
                f"{evidence.served(table)} studies of oboe, drawn again in every run: speed-up "
                "from 1 to 8 devices",
                found[table].typical,
            )
            for table in STUDY_TABLES
        ),
        Measurement.of("oboe: exponent of the speed-up in the number of studies", growth),
    ]
    name, where = "larger-speed-up-with-more-studies", "Section 6.3, Figure 3"
    statement = (
        "The speed-up from more devices is larger on DEEPLEARNING than on AZURE, since more "
        "studies are served there (14 instead of 9)."
    )
    rule = (
        "Two conditions: the speed-up from 1 to 8 devices is larger on DEEPLEARNING than on the "
        "stand-in; and it grows with the number of studies drawn from oboe, with an exponent above "
        f"0 (one below {NO_GROWTH:g} counts as no growth). {DECIDED}"
    )
    if not evidence.has_deeplearning:
        return Claim(name, where, statement, rule, tuple(measured), Verdict.UNTESTED, SUPPLY)
    ratio = ratio_estimate(found[DEEPLEARNING].logs - found[STANDIN].logs, evidence.scale.repeats)
    measured.insert(2, Measurement.of("ratio of these two", ratio))
    grows = above(growth, 0.0)
    if grows is not Verdict.HOLDS and growth.high < NO_GROWTH:
        grows = Verdict.FAILS
    verdict = together([above(ratio, 1.0), grows])
    why = (
        f"The speed-up on DEEPLEARNING is {in_words(ratio, 'x')} that on the stand-in. With "
        f"studies drawn from oboe, it changes with their number with exponent {in_words(growth)}."
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
    """Judge that the speed-up on AZURE is largest in reaching a regret of 0.03 (Figure 3)."""
    one = evidence.curves(STANDIN, "paper", 1)
    runs = evidence.scale.repeats
    level = np.array([EARLY])
    measured = []
    for devices in DEVICES[1:]:
        faster = speed_up(one, evidence.curves(STANDIN, "paper", devices), level)
        measured.append(
            Measurement.of(
                f"stand-in: speed-up from 1 to {devices} devices in reaching regret {EARLY:g}",
                faster.typical,
            )
        )
    typical = _eight_devices_speed_up(evidence, STANDIN)
    ratio = ratio_estimate(faster.logs - typical.logs, runs)
    measured += [
        Measurement.of("stand-in: speed-up from 1 to 8 devices, mean over levels", typical.typical),
        Measurement.of("ratio of the last two", ratio),
    ]
    verdict = above(ratio, 1.0)
    why = (
        f"The speed-up from 1 to 8 devices in reaching {EARLY:g} is "
        f"{in_words(faster.typical, 'x')}. This is {in_words(ratio, 'x')} the mean over all levels."
    )
    return Claim(
        "early-on-azure",
        "Section 6.3, Figure 3",
        "On AZURE, the speed-up from more devices is especially large in reaching an instantaneous "
        "regret of 0.03.",
        f"On the stand-in: holds if the speed-up from 1 to 8 devices in reaching {EARLY:g} is "
        "larger than the mean over all levels, and does not hold if it is smaller (for the whole "
        "interval). The cause that the paper suggests, that there are almost as many devices as "
        "studies, is not tested.",
        tuple(measured),
        verdict,
        explained(verdict, why),
    )


def _eight_devices_speed_up(evidence: Evidence, table: str) -> SpeedUp:
    one = evidence.curves(table, "paper", 1)
    return speed_up(one, evidence.curves(table, "paper", 8), one.levels())


def up_to_four_devices(evidence: Evidence) -> Claim:
    """Judge that mdmt beats round robin with two and with four devices (Figure 4)."""
    measured, verdicts, words = [], [], []
    for rival, reading in READINGS.items():
        for devices in (2, 4):
            less = gain(evidence, STANDIN, rival, devices)
            measured.append(
                Measurement.of(
                    f"stand-in, {devices} devices: cumulative regret, round robin {reading} / mdmt",
                    less,
                )
            )
            verdicts.append(above(less, 1.0))
            words.append(f"{in_words(less, 'x')} {reading} with {devices} devices")
    verdict = together(verdicts)
    return Claim(
        "better-with-four-devices",
        "Section 6.3, Figure 4",
        "With up to four devices, mdmt is significantly better than round robin on AZURE.",
        "On the stand-in, one condition for each of two and four devices and each reading of round "
        f"robin: round robin has more cumulative regret than mdmt. {DECIDED}",
        tuple(measured),
        verdict,
        explained(verdict, f"Cumulative regret, round robin / mdmt: {', '.join(words)}."),
    )


def eight_devices(evidence: Evidence) -> Claim:
    """Judge that mdmt and round robin are about equal: 8 devices, 9 studies (Section 6.3)."""
    measured, verdicts, words = [], [], []
    for rival, reading in READINGS.items():
        less = gain(evidence, STANDIN, rival, 8)
        measured.append(
            Measurement.of(f"stand-in: cumulative regret, round robin {reading} / mdmt", less, 1.0)
        )
        bounds = {below(less, MARGIN), above(less, 1.0 / MARGIN)}
        verdicts.append(
            Verdict.FAILS
            if Verdict.FAILS in bounds
            else (Verdict.UNTESTED if Verdict.UNTESTED in bounds else Verdict.HOLDS)
        )
        words.append(f"{in_words(less, 'x')} {reading}")
    verdict = together(verdicts)
    return Claim(
        "equal-with-eight-devices",
        "Section 6.3",
        "With eight devices and nine studies, mdmt and round robin are almost equal on AZURE.",
        "On the stand-in, one condition for each of the two readings of round robin: the ratio of "
        f"cumulative regrets is within a factor of {MARGIN:g} of 1. {DECIDED}",
        tuple(measured),
        verdict,
        explained(verdict, f"Cumulative regret, round robin / mdmt: {', '.join(words)}."),
    )


def near_linear(evidence: Evidence) -> Claim:
    """Judge that the speed-up on the synthetic problem is nearly linear (Figure 5)."""
    measured, verdicts, words = [], [], []
    most = SYNTHETIC_DEVICES[-1]
    for variant, name in (
        ("paper", "mdmt, prior from 8 studies"),
        ("told", "mdmt, true prior"),
        ("default", "learned defaults"),
    ):
        one, many = (evidence.cutoff_times(variant, devices) for devices in (1, most))
        weights = resamples(len(one))
        logs = np.log(contract("br,r->b", weights, one) / contract("br,r->b", weights, many))
        efficiency = ratio_estimate(logs - np.log(most), len(one))
        measured.append(
            Measurement.of(f"{name}: (speed-up from 1 to {most} devices) / {most}", efficiency, 1.0)
        )
        words.append(f"{efficiency.value:.2f} ({name})")
        if variant != "default":  # the default goes beyond the paper
            verdict = Verdict.FAILS if efficiency.high < WASTEFUL else Verdict.PART
            verdicts.append(Verdict.HOLDS if efficiency.low >= EFFICIENT else verdict)
    verdict = together(verdicts)
    return Claim(
        "near-linear-on-synthetic",
        "Section 6.3, Figure 5",
        "On the synthetic problem, the average time to reach an instantaneous regret of 0.01 falls "
        "nearly linearly with the number of devices.",
        "Two conditions: one for mdmt under the paper's protocol (8 of the studies set the prior), "
        f"one for mdmt with the true prior. Each is met if the speed-up from 1 to {most} devices, "
        f"divided by {most}, is at least {EFFICIENT:g} (for the whole interval), fails if it is "
        f"below {WASTEFUL:g} (for the whole interval), and is met in part otherwise. {JOINED}",
        tuple(measured),
        verdict,
        explained(
            verdict,
            f"The speed-up from 1 to {most} devices, divided by {most}, is {', '.join(words)}. "
            "The learned defaults account for running trials, which mdmt ignores.",
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
