"""Output of trials: reports are recognized, other output is ignored."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bentham.training.reports import LONGEST_LINE, Report, read_report
from bentham.wire.devices import MOST_METRICS


@pytest.mark.parametrize(
    ("line", "report"),
    [
        ('{"score": 0.91}', Report(0.91)),
        (b'  {"score": 1}\r\n', Report(1.0)),
        ('{"progress": 0.4, "score": 0.88}', Report(0.88, 0.4)),
        ('{"progress": 1}', Report(None, 1.0)),
        ('{"score": 2, "progress": 40}', Report(2.0)),
        ('{"score": 2, "metrics": {"rmse": 5.5, "ok": true}}', Report(2.0, None, {"rmse": 5.5})),
        ('{"score": 2, "metrics": [1]}', Report(2.0)),
        ('{"score": 2, "metrics": {"a\\u0000": 1, "": 1, " ": 1, "x": NaN}}', Report(2.0)),
        ('{"score": -Infinity}', Report(-math.inf)),
        ('{"score": 1e999}', Report(math.inf)),
        ('{"score": 1' + "0" * 400 + "}", Report(math.inf)),
        ('{"score": true}', None),
        ('{"score": "0.9"}', None),
        ('{"score": null}', None),
        ('{"score": 1' + "0" * 5000 + "}", None),
        ('{"epoch": 3}', None),
        ("{}", None),
        ("", None),
        ("0.9", None),
        ("epoch 3 of 5", None),
        ('{"score": 0.9', None),
        ('{"a":' * 20000 + "1", None),
        (b'{"score": 1, "\xff": 2}', None),
        ('{"score": 1, "x": "' + "y" * LONGEST_LINE + '"}', None),
    ],
)
def test_lines(line: str | bytes, report: Report | None) -> None:
    assert read_report(line) == report


def test_nan_is_read_as_nan() -> None:
    report = read_report('{"score": NaN}')
    assert report is not None
    assert report.score is not None
    assert math.isnan(report.score)


def test_metrics_are_bounded() -> None:
    metrics = {f"m{number}": 1.0 for number in range(100)}
    report = read_report(json.dumps({"score": 1, "metrics": metrics | {"x" * 201: 1.0}}))
    assert report is not None
    assert len(report.metrics) == MOST_METRICS


@given(st.binary() | st.text())
def test_no_output_raises_an_error(line: str | bytes) -> None:
    read_report(line)


@given(
    st.floats(allow_nan=False),
    st.none() | st.floats(0, 1),
    st.dictionaries(st.sampled_from(["rmse", "r2"]), st.floats(-1e9, 1e9)),
)
def test_written_reports_are_read(
    score: float, progress: float | None, metrics: dict[str, float]
) -> None:
    report = Report(score, progress, metrics)
    assert read_report(report.line()) == report
