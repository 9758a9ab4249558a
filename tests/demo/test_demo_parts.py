"""Parts of the demo: figures, comparison and screen."""

import io

import pytest
from rich.console import Console

from bentham import wire
from bentham.core.problem.study import ModelDescription
from bentham.core.theory.regret import Regret
from bentham.demo.comparison import (
    Comparison,
    EarlyEnd,
    compare,
    early_in_words,
    in_words,
    mean_regret,
    measured_table,
    orders,
    real_regret,
)
from bentham.demo.look import RunProgress
from bentham.demo.record import Measured, MeasuredArm, fingerprint, study_row
from bentham.demo.report import comparison_grid, results
from bentham.demo.screen import WIDTH, Screen, curve, marks

EARLY = EarlyEnd(0.5, (0.001, 0.003))


def study(name: str, index: int, models: int = 2, score: float = 0.9) -> wire.StudyView:
    counts = wire.TrialCounts(running=0, complete=models, failed=0, lost=0)
    best = wire.Incumbent(model="forest", score=score, metrics={"rmse": 12.345678})
    return wire.StudyView(
        id=name, tenant="tenant", name=name, dataset="", metric="rmse", state="open", reason="",
        weight=1.0, floor=0.0, rows=100, columns=5, stop=wire.StopRules(), created=100.0 + index,
        models=models, untried=0, trials=counts, device_seconds=3.0, incumbent=best,
        gained=wire.Gained(last_hour=0.1, last_day=0.1),
    )  # fmt: skip


def measured() -> Measured:
    """Return a run of one device; both studies have a quick bad model and a slow good one."""
    arms = (
        MeasuredArm("a", "bad", 0.4, 100.0, 101.0),
        MeasuredArm("b", "bad", 0.6, 101.0, 102.0),
        MeasuredArm("a", "good", 0.8, 102.0, 106.0),
        MeasuredArm("b", "good", 0.8, 106.0, 110.0),
    )
    descriptions = {"bad": ModelDescription("x"), "good": ModelDescription("y", {"depth": 0.5})}
    return Measured((study("a", 0), study("b", 0)), arms, descriptions)


def test_the_regret_of_the_run_follows_from_its_records() -> None:
    regret = real_regret(measured())
    steps = [(0.0, 0.8), (1.0, 0.6), (2.0, 0.3), (6.0, 0.1), (10.0, 0.0)]
    assert [time for time, _ in regret.curve] == [time for time, _ in steps]
    assert [mean for _, mean in regret.curve] == pytest.approx([mean for _, mean in steps])
    # a: 0.8 for 1 s, 0.4 for 5 s; b: 0.8 for 2 s, 0.2 for 8 s
    assert regret.cumulative == pytest.approx(0.8 + 2.0 + 1.6 + 1.6)


@pytest.mark.outside
def test_replays_use_the_measured_scores_and_times() -> None:
    table = measured_table(measured())
    assert table.scores.tolist() == [[0.4, 0.8], [0.6, 0.8]]
    assert table.costs.tolist() == [[1.0, 4.0], [1.0, 4.0]]
    assert table.sizes == ((100, 5), (100, 5))
    comparison = compare(measured(), devices=1, replays=2)
    # In any order, one device takes 10 s, and finally every best model is found.
    for run in (comparison.real, comparison.joint, comparison.round_robin):
        assert run.end_time == pytest.approx(10.0)
        assert run.curve[-1][1] == pytest.approx(0.0)
    assert comparison.times(0.5)[0] == 2.0  # 0.3 is below half of 0.8
    assert comparison.times(1.0)[0] == 10.0
    assert comparison.early == EarlyEnd(0.0, (0.0, 0.0))  # both are worth all their models


def test_the_mean_of_runs_at_every_time() -> None:
    one = Regret(2.0, 4.0, ((0.0, 1.0), (2.0, 0.0)))
    other = Regret(4.0, 8.0, ((0.0, 1.0), (1.0, 0.5), (7.0, 0.0)))
    mean = mean_regret([one, other])
    assert mean == Regret(3.0, 8.0, ((0.0, 1.0), (1.0, 0.75), (2.0, 0.25), (7.0, 0.0)))
    assert orders(4, 3)[0] == (0, 1, 2, 3)
    assert [sorted(order) for order in orders(4, 3)] == [[0, 1, 2, 3]] * 3
    assert orders(4, 3) == orders(4, 3)


def test_the_sentence_names_the_slower_policy() -> None:
    slow, quick = real_regret(measured()), real_regret(twice_as_fast(measured()))
    text = in_words(Comparison(slow, quick, slow, EARLY))
    assert text == (
        "Round robin takes 2.0 times as long to reach 90% of the happiness, 2.0 times for 98%, "
        "2.0 times for 99% and 2.0 times for 100%. Its cumulative regret is 2.0 times Bentham's."
    )
    text = in_words(Comparison(slow, slow, quick, EARLY))
    assert text.startswith("Round robin takes 0.5 times as long")
    assert text.endswith("Bentham reaches 90%, 98%, 99% and 100% later than round robin.")


def test_what_ending_early_saves_is_said() -> None:
    text = early_in_words(EARLY)
    assert text.endswith(
        "less than 0.1% of its gain over the baseline. In these replays this saves 50% of the "
        "device time and loses 0.20% of the happiness on average (0.30% in the worst order)."
    )


def twice_as_fast(original: Measured) -> Measured:
    """Return the same run in half the time."""
    arms = tuple(
        MeasuredArm(
            arm.study, arm.model, arm.score, 50.0 + arm.started / 2.0, 50.0 + arm.ended / 2.0
        )
        for arm in original.arms
    )
    return Measured(original.studies, arms, original.descriptions)


def test_the_fingerprint_depends_on_scores_only() -> None:
    original = measured()
    reversed_run = Measured(original.studies, original.arms[::-1], original.descriptions)
    assert (
        fingerprint(original) == fingerprint(twice_as_fast(original)) == fingerprint(reversed_run)
    )
    first = original.arms[0]
    other = MeasuredArm(first.study, first.model, first.score + 1e-16, first.started, first.ended)
    assert other.score != first.score
    assert fingerprint(Measured(original.studies, (other, *original.arms[1:]), {})) != fingerprint(
        original
    )


def trial(number: int, study: str, score: float | None) -> wire.TrialView:
    return wire.TrialView(
        id=f"t{number}", tenant="tenant", study=study, dataset="", model="a-model-with-a-long-name",
        device=f"device-{number % 2}", kind="cpu", state="running" if score is None else "complete",
        attempt=1, cost=2.0, started=float(number), ended=None if score is None else number + 1.0,
        score=score, reason="",
    )  # fmt: skip


def overview() -> wire.Overview:
    return wire.Overview(
        time=190.0, regret_estimate=0.25, regret_low=0.2, regret_high=0.3, happiness=0.5,
        tenants=[], latency=None,
        queue=wire.Queue(open_studies=1, untried_arms=1),
        throughput=wire.ThroughputView(last_ten_minutes=1, last_hour=1),
        devices=wire.DeviceCounts(present=2, busy=2, away=0), no_device=False,
        decisions=3, leases_lost=0,
    )  # fmt: skip


def test_the_screen_fits_a_small_terminal() -> None:
    studies = [study(f"study {index}", index, models=20) for index in range(14)]
    trials = [trial(index, "study 3", index / 30.0) for index in range(20)]
    trials += [trial(30, "study 5", None), trial(31, "study 6", None)]
    console = Console(width=WIDTH, record=True, file=io.StringIO(), highlight=False)
    progress = RunProgress(studies, trials, overview(), ["device-0", "device-1", "device-2"])
    console.print(Screen("http://127.0.0.1:12345").picture(progress))
    lines = console.export_text().splitlines()
    assert len(lines) <= 23
    assert max(map(len, lines)) <= WIDTH
    assert "14 studies of 1 tenant " in lines[0]
    assert lines[0].endswith("1:30")
    assert any("study 5: a-model" in line for line in lines)
    assert any("280 of 280 models" in line for line in lines)
    assert any(line.split() == ["device-2", "idle"] for line in lines)


def test_marks_show_each_score_and_improvements() -> None:
    text = marks([trial(0, "s", 0.5), trial(1, "s", 0.4), trial(2, "s", 0.9)], study("s", 0, 5))
    assert len(text.plain) == 5
    assert text.plain[2:] == "█··"
    assert text.plain[0] > text.plain[1]
    assert [str(span.style) for span in text.spans[:3]] == ["bold green", "cyan", "bold green"]
    assert curve([4.0, 1.0, 0.0]) == "█▅▁"
    assert curve([]) == ""


def test_the_tables() -> None:
    console = Console(width=WIDTH, record=True, file=io.StringIO(), highlight=False)
    console.print(results([study_row(study("a", 0)), study_row(study("b", 1))]))
    regret = real_regret(measured())
    console.print(comparison_grid(Comparison(regret, regret, regret, EARLY)))
    text = console.export_text()
    assert "rmse 12.35" in text
    assert text.count("0.9000") == 2
    assert "10.0 s" in text
