"""The claims of Section 6.2: policies on one device."""

import numpy as np

from bentham.reproduce.claims import Claim, Measured, Verdict, at_most, in_words, shares, together
from bentham.reproduce.comparisons import MARGIN, READINGS, SUPPLY, against, gain
from bentham.reproduce.curves import rank_correlation, regret_ratio
from bentham.reproduce.evidence import TITLES, Evidence
from bentham.reproduce.plan import DEEPLEARNING, SPREAD_TABLES, STUDY_TABLES
from bentham.tables.standin import STANDIN, spread

FIVE = 5.0
WHERE = "Section 6.2, Figure 2"


def five_times(evidence: Evidence) -> Claim:
    """Figure 2, AZURE."""
    measured, verdicts, largest = [], [], []
    random = gain(evidence, STANDIN, "random", 1)
    for rival, reading in READINGS.items():
        faster, less = against(evidence, STANDIN, rival, 1), gain(evidence, STANDIN, rival, 1)
        measured += [
            Measured.of(
                f"stand-in: largest speed-up over round robin {reading}, at regret {faster.at:.2g}",
                faster.largest,
                FIVE,
            ),
            Measured.of(
                f"stand-in: speed-up over round robin {reading}, mean over levels", faster.typical
            ),
            Measured.of(f"stand-in: cumulative regret of round robin {reading} over mdmt's", less),
        ]
        ahead = less.low > 1.0 and random.low > 1.0
        if ahead and faster.largest.value >= FIVE:
            verdicts.append(Verdict.HOLDS)
        else:
            verdicts.append(Verdict.PART if ahead else Verdict.FAILS)
        largest.append(f"{faster.largest.value:.2f}x over round robin {reading}")
    measured.append(Measured.of("stand-in: cumulative regret of random over mdmt's", random))
    verdict = together(verdicts)
    why = f"On the stand-in mdmt is faster by up to {' and by up to '.join(largest)}."
    return Claim(
        "five-times-on-azure",
        WHERE,
        "On AZURE with one device, mdmt reaches the same instantaneous regret up to 5 times "
        "earlier than round robin, and it beats random, too.",
        f"On the stand-in. For each reading of round robin: holds if the largest speed-up is "
        f"{FIVE:g} or more and round robin and random have more cumulative regret than mdmt "
        "(intervals above 1); in part if only the latter. The verdict joins both readings.",
        tuple(measured),
        verdict,
        "" if verdict is Verdict.HOLDS else why,
    )


def because_of_studies(evidence: Evidence) -> Claim:
    """The cause that the paper gives for AZURE."""
    with_cost = gain(evidence, STANDIN, "round-robin-rate", 1)
    without = regret_ratio(
        evidence.curves(STANDIN, "round-robin", 1),
        evidence.curves(STANDIN, "paper-without-cost", 1),
    )
    cost = gain(evidence, STANDIN, "paper-without-cost", 1)
    more = [gain(evidence, table, "round-robin-rate", 1) for table in STUDY_TABLES]
    counts = [evidence.served(table) for table in STUDY_TABLES]
    measured = [
        Measured.of("stand-in: gain by choosing the study, EI per cost on both sides", with_cost),
        Measured.of("stand-in: gain by choosing the study, EI on both sides", without),
        Measured.of("stand-in: gain of mdmt by dividing by cost", cost),
        *(
            Measured.of(f"{count} studies of oboe: gain by choosing the study, EI per cost", one)
            for count, one in zip(counts, more, strict=True)
        ),
    ]
    why = (
        f"Choosing the study gains {in_words(with_cost, 'x')} in cumulative regret if cost is "
        f"divided by on both sides, {in_words(without, 'x')} if on neither; dividing by cost gains "
        f"{in_words(cost, 'x')}. On tables of {counts[0]} to {counts[-1]} studies cut from oboe, "
        f"choosing the study gains {min(one.value for one in more):.2f}x to "
        f"{max(one.value for one in more):.2f}x."
    )
    return Claim(
        "because-studies-are-prioritised",
        "Section 6.2",
        "The cause of the speed-up on AZURE is that studies are prioritised by their expected "
        "improvement instead of being treated equally.",
        "On the stand-in, mdmt and round robin that differ in the choice of the study alone: holds "
        "if mdmt has less cumulative regret (interval above 1) both when cost is divided by on "
        "both sides and when on neither; in part if in one of the two.",
        tuple(measured),
        shares([with_cost.low > 1.0, without.low > 1.0]),
        why,
    )


def no_speed_up(evidence: Evidence) -> Claim:
    """Figure 2, DEEPLEARNING."""
    statement = "On DEEPLEARNING with one device there is no significant speed-up."
    rule = (
        f"For each reading of round robin: holds if its cumulative regret is at most {MARGIN:g} "
        "times mdmt's (the whole interval), does not if it is more (the whole interval). The "
        "verdict joins both readings."
    )
    name = "no-speed-up-on-deeplearning"
    if not evidence.has_deeplearning:
        return Claim(name, WHERE, statement, rule, (), Verdict.UNTESTED, SUPPLY)
    measured, verdicts, words = [], {}, []
    for rival, reading in READINGS.items():
        faster = against(evidence, DEEPLEARNING, rival, 1)
        less = gain(evidence, DEEPLEARNING, rival, 1)
        measured += [
            Measured.of(f"cumulative regret of round robin {reading} over mdmt's", less, 1.0),
            Measured.of(f"speed-up over round robin {reading}, mean over levels", faster.typical),
        ]
        verdicts[rival] = at_most(less, MARGIN)
        words.append(f"{in_words(less, 'x')} mdmt's regret if it chooses models {reading}")
    verdict = together(list(verdicts.values()))
    why = f"Round robin has {', and '.join(words)}."
    if (
        verdicts["round-robin-rate"] is Verdict.HOLDS
        and verdicts["round-robin"] is not Verdict.HOLDS
    ):
        why += " If the paper's round robin divides by cost, as mdmt does, the claim holds."
    why = "" if verdict is Verdict.HOLDS else why
    return Claim(name, WHERE, statement, rule, tuple(measured), verdict, why)


def because_of_spread(evidence: Evidence) -> Claim:
    """The cause that the paper gives for the difference of the two tables."""
    spreads = np.array([spread(evidence.tables[table]).mean() for table in SPREAD_TABLES])
    stated = {STANDIN: 0.12, DEEPLEARNING: 0.04}
    measured = [
        Measured(
            f"mean standard deviation over a study's models, {TITLES[table]}",
            float(spread(evidence.tables[table]).mean()),
            claimed=stated[table],
        )
        for table in evidence.compared
    ]
    supported = []
    for rival, reading in READINGS.items():
        gains = np.array([gain(evidence, table, rival, 1).value for table in SPREAD_TABLES])
        faster = [against(evidence, table, rival, 1).typical.value for table in SPREAD_TABLES]
        for what, values in (("gain in regret", gains), ("speed-up", np.array(faster))):
            correlation = rank_correlation(spreads, values)
            supported.append(correlation.low > 0.0)
            measured.append(
                Measured.of(
                    f"{len(spreads)} tables: rank correlation of spread and {what} over round "
                    f"robin {reading}",
                    correlation,
                )
            )
    verdict = shares(supported)
    why = (
        f"Over {len(spreads)} tables of 17 studies x 8 classifiers cut from oboe, whose spread "
        f"goes from {spreads.min():.3f} to {spreads.max():.3f}, {sum(supported)} of "
        f"{len(supported)} rank correlations are above 0 with their whole interval."
    )
    return Claim(
        "because-of-the-spread",
        "Section 6.2",
        "The two tables differ because of the spread: the standard deviation of accuracies over a "
        "study's models is 0.12 on average on AZURE and 0.04 on DEEPLEARNING, where two models "
        "already give a reasonable quality.",
        "Holds if what mdmt gains over round robin grows with a table's spread, both in cumulative "
        "regret and in the time to shares of the regret after the warm start: the intervals of the "
        "rank correlations lie above 0, for both readings of round robin; in part if some do.",
        tuple(measured),
        verdict,
        "" if verdict is Verdict.HOLDS else why,
    )


ONE_DEVICE_CLAIMS = (five_times, because_of_studies, no_speed_up, because_of_spread)
