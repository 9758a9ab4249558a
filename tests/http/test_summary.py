"""Requests in the server's log: each at debug level, and a line a minute about all of them."""

import structlog
from support.service_app import serving

from bentham.http.summary import RequestSummary


def test_requests_are_summed_up() -> None:
    with structlog.testing.capture_logs() as lines, serving() as service:
        device = service.device()
        for _ in range(3):
            service.lease(device)
        service.request("GET", "/v1/nothing").refused(404)
        service.stop()
    levels = {line["log_level"] for line in lines if line["event"] == "request"}
    assert levels == {"debug"}
    (summary,) = [line for line in lines if line["event"] == "requests"]
    assert summary["log_level"] == "info"
    assert (summary["count"], summary["refused"], summary["errors"]) == (6, 1, 0)
    assert 0.0 < summary["p50_milliseconds"] <= summary["p99_milliseconds"]


def test_times_leave_out_what_waits_on_purpose() -> None:
    summary = RequestSummary()
    with structlog.testing.capture_logs() as lines:
        summary.write()  # no requests, no line
        for number in range(1, 101):
            summary.add("/v1/studies", 503 if number == 100 else 200, number / 1e3)
        summary.add("/v1/devices/gpu/lease", 204, 7.5)
        summary.add("/v1/events", 200, 900.0)
        summary.write()
        summary.write()
    (line,) = lines
    assert (line["count"], line["errors"], line["statuses"]) == (102, 1, "1 with 503")
    assert (line["p50_milliseconds"], line["p99_milliseconds"]) == (50.0, 99.0)
