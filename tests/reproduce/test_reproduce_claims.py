"""Verdicts follow from the numbers: invented results must change the verdict."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from bentham.reproduce.claims import Claim, Measurement, Verdict, above, below, rounded, together
from bentham.reproduce.claims_devices import (
    early_on_azure,
    eight_devices,
    more_devices,
    more_studies,
    near_linear,
    up_to_four_devices,
)
from bentham.reproduce.claims_one_device import (
    because_of_spread,
    because_of_studies,
    five_times,
    no_speed_up,
)
from bentham.reproduce.claims_theory import (
    converges,
    does_not_converge,
    factor_of_devices,
    miu_by_case,
    under_the_bound,
)
from bentham.reproduce.curves import IntervalEstimate
from bentham.reproduce.evidence import Evidence
from bentham.reproduce.plan import (
    DEEPLEARNING,
    SPREAD_TABLES,
    STUDY_TABLES,
    SYNTHETIC,
    Scale,
    plan,
    tables_of,
)
from bentham.reproduce.problems import TheoryCell
from bentham.reproduce.runs import Result, TableCell
from bentham.tables import Table, load_table
from bentham.tables.standin import STANDIN

SCALE = Scale("made up", 8, 8, 8, 8, 8, 8, (16, 32, 64))
Pace = Callable[[TableCell], float]
Theory = Callable[[TheoryCell], float]
LEVELS = 0.5 * 0.8 ** np.arange(40.0)


@pytest.fixture(scope="module")
def tables() -> dict[str, Table]:
    names = [name for name in tables_of(plan(SCALE, deeplearning=True)) if name != DEEPLEARNING]
    complete = load_table("classifiers:418")
    loaded = {name: complete if name in STUDY_TABLES else load_table(name) for name in names}
    return loaded | {DEEPLEARNING: load_table("classifiers:22")}


def invented_evidence(
    tables: dict[str, Table], pace: Pace, theory: Theory | None = None
) -> Evidence:
    """Return results of all cells; regret falls in steps, slower by the factor `pace(cell)`."""
    results: dict[TableCell | TheoryCell, list[Result]] = {}
    for cell, runs in plan(SCALE, DEEPLEARNING in tables).items():
        rng = np.random.default_rng(0)
        results[cell] = []
        for seed in range(runs):
            noise = float(np.exp(rng.normal(0.0, 0.01)))
            if isinstance(cell, TableCell):
                factor = pace(cell) * noise
                curve = np.column_stack([factor * np.arange(41.0), [*LEVELS, 0.0]]).tolist()
                results[cell].append(
                    {"seed": seed, "curve": curve, "regret_then": 0.25, "cumulative_regret": factor}
                )
            else:
                regret = (1.0 if theory is None else theory(cell)) * noise
                results[cell].append(
                    {
                        "seed": seed, "until": cell.models, "cumulative_regret": regret,
                        "waiting": 0.0, "lemma": 100.0, "theorem_lower": 50.0,
                        "broken": [], "uncertainty": cell.studies**0.5, "miu_upper": 10.0,
                        "idle": 1000.0,
                    }
                )  # fmt: skip
    return Evidence(results, tables, SCALE)


def slower(*names: str, by: float) -> Pace:
    return lambda cell: by if cell.variant in names else 1.0


BOTH = ("round-robin", "round-robin-rate")


@pytest.mark.parametrize(
    ("pace", "verdict"),
    [
        (slower(*BOTH, "random", by=6.0), Verdict.HOLDS),
        (slower(*BOTH, "random", by=3.0), Verdict.PART),
        (slower("round-robin", "random", by=6.0), Verdict.PART),
        (slower(*BOTH, "random", by=0.8), Verdict.FAILS),
    ],
)
def test_five_times(tables: dict[str, Table], pace: Pace, verdict: Verdict) -> None:
    claim = five_times(invented_evidence(tables, pace))
    assert claim.verdict is verdict


def test_five_times_takes_random_into_account(tables: dict[str, Table]) -> None:
    pace = {"round-robin": 6.0, "round-robin-rate": 6.0, "random": 0.1}
    claim = five_times(invented_evidence(tables, lambda cell: pace.get(cell.variant, 1.0)))
    assert claim.verdict is Verdict.PART


@pytest.mark.parametrize(
    ("pace", "verdict"),
    [
        (slower(*BOTH, by=3.0), Verdict.HOLDS),
        (slower("round-robin-rate", by=3.0), Verdict.PART),
        (slower("round-robin", by=3.0), Verdict.PART),
        (slower(*BOTH, by=0.8), Verdict.FAILS),
        # Dividing by cost explains it, so the choice of the study cannot be judged.
        (slower("round-robin", "paper-without-cost", by=3.0), Verdict.UNTESTED),
    ],
)
def test_because_studies_are_prioritised(
    tables: dict[str, Table], pace: Pace, verdict: Verdict
) -> None:
    claim = because_of_studies(invented_evidence(tables, pace))
    assert claim.verdict is verdict
    if verdict is Verdict.UNTESTED:
        assert "dividing by cost gains 3.00x (3.00 to 3.00)" in claim.why


def test_early_on_azure(tables: dict[str, Table]) -> None:
    def evidence(kink: float) -> Evidence:
        changed = invented_evidence(tables, lambda cell: 1.0 / cell.devices)
        for result in changed.results[TableCell(STANDIN, "paper", 8)]:
            for point in result["curve"]:  # change the speed in the second half
                point[0] *= kink if point[1] <= 0.03 else 1.0
        return changed

    assert early_on_azure(evidence(0.5)).verdict is Verdict.HOLDS
    assert early_on_azure(evidence(2.0)).verdict is Verdict.FAILS


@pytest.mark.parametrize(
    ("pace", "verdict"),
    [
        (slower(by=1.0), Verdict.HOLDS),
        (slower("round-robin", by=2.0), Verdict.PART),
        (slower(*BOTH, by=2.0), Verdict.FAILS),
    ],
)
def test_no_speed_up(tables: dict[str, Table], pace: Pace, verdict: Verdict) -> None:
    claim = no_speed_up(invented_evidence(tables, pace))
    assert claim.verdict is verdict
    assert ("divides by cost, as mdmt does, the claim holds" in claim.why) is (
        verdict is Verdict.PART
    )


def test_claims_on_deeplearning_cannot_be_tested_without_it(tables: dict[str, Table]) -> None:
    without = {name: table for name, table in tables.items() if name != DEEPLEARNING}
    evidence = invented_evidence(without, slower(by=1.0))
    for claim in (no_speed_up(evidence), more_studies(evidence)):
        assert claim.verdict is Verdict.UNTESTED
        assert "--deeplearning FILE" in claim.why
    assert five_times(evidence).verdict is Verdict.PART  # no speed-up, equal regrets
    assert "DEEPLEARNING" not in str(five_times(evidence).measured)


def test_wide_intervals_do_not_support_the_absence_of_an_effect(tables: dict[str, Table]) -> None:
    """A wide interval around 2 is no evidence for 1."""
    evidence = invented_evidence(tables, slower(by=1.0))
    for rival in BOTH:
        cell = TableCell(DEEPLEARNING, rival, 1)
        for result, regret in zip(evidence.results[cell], (0.3, 20.0) * 4, strict=True):
            result["cumulative_regret"] = regret
    assert no_speed_up(evidence).verdict is Verdict.UNTESTED


@pytest.mark.slow
def test_because_of_the_spread(tables: dict[str, Table]) -> None:
    def growing(cell: TableCell) -> float:
        index = SPREAD_TABLES.index(cell.table) if cell.table in SPREAD_TABLES else 0
        return 1.0 + index / 5.0 if cell.variant in BOTH else 1.0

    assert because_of_spread(invented_evidence(tables, growing)).verdict is Verdict.HOLDS
    falling = because_of_spread(invented_evidence(tables, lambda cell: 1.0 / growing(cell)))
    assert falling.verdict is Verdict.FAILS
    assert falling.why


@pytest.mark.slow
def test_more_devices(tables: dict[str, Table]) -> None:
    assert (
        more_devices(invented_evidence(tables, lambda cell: 1.0 / cell.devices)).verdict
        is Verdict.HOLDS
    )
    assert more_devices(invented_evidence(tables, lambda _: 1.0)).verdict is Verdict.UNTESTED
    worse = more_devices(invented_evidence(tables, lambda cell: float(cell.devices)))
    assert worse.verdict is Verdict.FAILS
    stops = more_devices(invented_evidence(tables, lambda cell: 1.0 / min(cell.devices, 4)))
    assert stops.verdict is Verdict.PART


@pytest.mark.slow
def test_more_studies(tables: dict[str, Table]) -> None:
    def pace(power: float) -> Pace:
        def of(cell: TableCell) -> float:
            if cell.devices == 1:
                return 1.0
            if cell.table in STUDY_TABLES:
                return math.pow(1 + STUDY_TABLES.index(cell.table), -power)
            return 0.2 if cell.table == DEEPLEARNING else 0.5

        return of

    assert more_studies(invented_evidence(tables, pace(1.0))).verdict is Verdict.HOLDS
    for power in (0.0, -1.0):
        claim = more_studies(invented_evidence(tables, pace(power)))
        assert claim.verdict is Verdict.PART
        assert "the number of studies does not explain it" in claim.why


def test_four_and_eight_devices(tables: dict[str, Table]) -> None:
    ahead, level = (
        invented_evidence(tables, slower(*BOTH, by=2.0)),
        invented_evidence(tables, slower(by=1.0)),
    )
    assert up_to_four_devices(ahead).verdict is Verdict.HOLDS
    assert eight_devices(ahead).verdict is Verdict.FAILS
    assert up_to_four_devices(level).verdict is not Verdict.HOLDS
    assert eight_devices(level).verdict is Verdict.HOLDS
    one = invented_evidence(tables, slower("round-robin", by=2.0))
    assert up_to_four_devices(one).verdict is Verdict.PART
    assert eight_devices(one).verdict is Verdict.PART


def test_near_linear(tables: dict[str, Table]) -> None:
    def pace(power: float) -> Pace:
        return lambda cell: math.pow(cell.devices, -power) if cell.table == SYNTHETIC else 1.0

    assert near_linear(invented_evidence(tables, pace(1.0))).verdict is Verdict.HOLDS
    assert near_linear(invented_evidence(tables, pace(0.8))).verdict is Verdict.PART
    assert near_linear(invented_evidence(tables, pace(0.5))).verdict is Verdict.FAILS


def test_one_run_above_the_bound_breaks_it(tables: dict[str, Table]) -> None:
    assert under_the_bound(invented_evidence(tables, slower(by=1.0))).verdict is Verdict.HOLDS
    above = invented_evidence(
        tables, slower(by=1.0), lambda cell: 120.0 if cell.devices == 8 else 1.0
    )
    assert under_the_bound(above).verdict is Verdict.PART
    for cell, results in above.results.items():
        if isinstance(cell, TheoryCell):
            results[0]["uncertainty"] = 1000.0
    assert under_the_bound(above).verdict is Verdict.FAILS


def test_runs_that_violate_assumptions_do_not_count(tables: dict[str, Table]) -> None:
    evidence = invented_evidence(tables, slower(by=1.0), lambda _: 120.0)
    assert under_the_bound(evidence).verdict is Verdict.PART
    for cell, results in evidence.results.items():
        for result in results:
            if isinstance(cell, TheoryCell):
                result["broken"] = ["a score was excluded by the prior"]
    assert under_the_bound(evidence).verdict is Verdict.UNTESTED


def test_a_bound_above_the_regret_of_running_nothing_is_vacuous(
    tables: dict[str, Table],
) -> None:
    evidence = invented_evidence(tables, slower(by=1.0))
    assert "in 0% of runs" in under_the_bound(evidence).why
    for cell, results in evidence.results.items():
        for result in results:
            if isinstance(cell, TheoryCell):
                result["idle"] = 60.0
    assert "says nothing about this one" in under_the_bound(evidence).why


def test_the_factor_of_devices(tables: dict[str, Table]) -> None:
    linear = invented_evidence(tables, slower(by=1.0), lambda cell: 1.0 / cell.devices)
    assert factor_of_devices(linear).verdict is Verdict.HOLDS
    flat = factor_of_devices(invented_evidence(tables, slower(by=1.0)))
    assert flat.verdict is Verdict.FAILS
    assert flat.why


def test_convergence(tables: dict[str, Table]) -> None:
    bounded = invented_evidence(
        tables, slower(by=1.0)
    )  # total regret stays constant: 1/T on average
    assert converges(bounded).verdict is Verdict.HOLDS
    assert does_not_converge(bounded).verdict is Verdict.FAILS
    linear = invented_evidence(tables, slower(by=1.0), lambda cell: float(cell.models))
    assert converges(linear).verdict is Verdict.FAILS
    assert does_not_converge(linear).verdict is Verdict.HOLDS


@pytest.mark.slow
def test_miu_in_the_special_cases(tables: dict[str, Table]) -> None:
    claim = miu_by_case(invented_evidence(tables, slower(by=1.0)))
    assert claim.verdict is Verdict.HOLDS
    powers = {number.name.split(":")[0]: number.value for number in claim.measured[:6:2]}
    assert powers["finite-rank"] == pytest.approx(0.0, abs=0.01)
    assert powers["independent"] == pytest.approx(1.0, abs=0.05)
    assert powers["matern"] == pytest.approx(1.0, abs=0.05)  # and not in between
    assert claim.measured[-1].value == pytest.approx(0.5)
    assert "at one end of the interval" in claim.why


def test_a_claim_that_does_not_hold_needs_an_explanation() -> None:
    with pytest.raises(ValueError, match="but `why` is empty"):
        Claim("x", "there", "so it is", "rule", (), Verdict.PART)


def test_verdicts_are_combined() -> None:
    assert together([Verdict.HOLDS, Verdict.HOLDS]) is Verdict.HOLDS
    assert together([Verdict.FAILS, Verdict.FAILS]) is Verdict.FAILS
    assert together([Verdict.HOLDS, Verdict.FAILS]) is Verdict.PART
    assert together([Verdict.PART, Verdict.PART]) is Verdict.PART
    assert together([Verdict.UNTESTED, Verdict.UNTESTED]) is Verdict.UNTESTED
    assert together([Verdict.HOLDS, Verdict.UNTESTED]) is Verdict.PART


def test_intervals_that_contain_the_limit_decide_nothing() -> None:
    for low, high, verdict in ((1.1, 2.0, "holds"), (0.5, 0.9, "does not hold")):
        assert above(IntervalEstimate(1.0, low, high), 1.0).value == verdict
        assert below(IntervalEstimate(-1.0, -high, -low), -1.0).value == verdict
    assert above(IntervalEstimate(1.3, 0.9, 2.0), 1.0) is Verdict.UNTESTED
    assert below(IntervalEstimate(1.3, 0.9, 2.0), 1.0) is Verdict.UNTESTED


def test_numbers_are_rounded() -> None:
    assert rounded(1.23456789) == 1.235
    assert "low" not in Measurement.of("x", IntervalEstimate(1.0, 0.0, float("inf"))).plain()
    assert Measurement("x", 2.0 / 3.0).plain() == {"what": "x", "value": 0.6667}


def test_a_claim_is_plain_data(tables: dict[str, Table]) -> None:
    claim = five_times(invented_evidence(tables, slower(*BOTH, "random", by=6.0)))
    assert isinstance(claim, Claim)
    plain = claim.plain()
    assert plain["verdict"] == "holds"
    assert all("stand-in" in one["what"] for one in plain["measured"])
    assert all({"what", "value", "low", "high"} <= set(one) for one in plain["measured"])
