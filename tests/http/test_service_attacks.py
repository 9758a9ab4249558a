"""Attacks: cookies of another port, slow readers, expensive queries, secrets in a traceback."""

import asyncio
import os
import pty
import subprocess
import sys
import time
from typing import Any

import pytest
from support.service_app import Service
from support.service_browser import Browser
from support.service_exchange import Exchange

from bentham.service import queries
from bentham.service.engine import engine
from bentham.service.fold.entities import Study
from bentham.service.fold.pool import Pool
from bentham.service.views.entities import View
from bentham.service.views.heatmap import heatmap_items, in_turns

DEAD = f"bentham_session={'0' * 64}"


class TestCookiesOfAnotherPort:
    """Browsers send a cookie of another port with a longer path before our cookie."""

    def test_an_unknown_session_does_not_hide_the_valid_one(self, service: Service) -> None:
        browser = Browser(service, service.admin)
        valid = browser.cookie
        for planted in (f"{DEAD}; {valid}", f"{valid}; {DEAD}", f"{DEAD};{DEAD}; {valid}; {valid}"):
            browser.cookie = planted
            browser.get().ok()
            browser.request("POST", f"/v1/studies/{planted}/pause").refused(404)

    def test_two_valid_sessions_are_refused(self, service: Service) -> None:
        browser, planted = Browser(service, service.admin), Browser(service, service.tenant("evil"))
        for cookies in (f"{planted.cookie}; {browser.cookie}",
                        f"{browser.cookie}; {planted.cookie}"):  # fmt: skip
            headers = {"cookie": cookies}
            for path in ("/v1/session", "/v1/studies", "/v1/events"):
                response = browser.request("GET", path, headers=headers)
                response.refused(401, "several sessions", "remove the host's cookies")
            browser.request("POST", "/v1/tenants", {"name": "b"}, headers=headers).refused(401)
        browser.get().ok()
        planted.request("DELETE", "/v1/session").ok(204)
        browser.request("GET", "/v1/session", headers={"cookie": cookies}).ok()


@pytest.mark.parametrize("cause", ["signed out", "revoked"])
def test_a_slow_reader_gets_no_events_after_its_session_ended(
    service: Service, cause: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = service.tenant("a")
    for number in range(3):
        service.study(token, f"s{number}")
    browser = Browser(service, token)
    taken, send = asyncio.Event(), Exchange.send

    async def slowly(exchange: Exchange, message: Any) -> None:
        await send(exchange, message)
        if b"event: study-created" in message.get("body", b""):
            await taken.wait()

    monkeypatch.setattr(Exchange, "send", slowly)
    exchange = browser.begin("GET", "/v1/events", headers={"last-event-id": "1"})
    service.until(lambda: b"study-created" in b"".join(exchange.chunks))
    if cause == "signed out":
        browser.request("DELETE", "/v1/session").ok(204)
    else:
        service.request("DELETE", f"/v1/tokens/{token.split('_')[1]}").ok()
    taken.set()
    service.finish(exchange)
    assert b"".join(exchange.chunks).count(b"event: study-created") == 1


class TestLooksWithoutEnd:
    def test_other_requests_run_between_long_queries(self, service: Service) -> None:
        turns = 0

        def long(*_: object) -> int:
            time.sleep(1.1 * engine.TURN_SECONDS)
            return turns

        async def ask() -> list[int]:
            nonlocal turns
            pending = [asyncio.ensure_future(service.engine.ask(None, long)) for _ in range(4)]
            while not all(each.done() for each in pending):
                await asyncio.sleep(0)
                turns += 1
            return [each.result() for each in pending]

        results = service.run(ask())
        assert sorted(set(results)) == results

    def test_a_heatmap_of_many_models_is_computed_in_parts(
        self, service: Service, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        tenant = service.tenant("a")
        for number in range(5):
            service.study(tenant, f"s{number}", number + 2)
        complete = service.get("/v1/heatmap", tenant)
        studies = [service.pool.studies[item["study"]] for item in complete["items"]]
        parts = in_turns(studies, 7)  # of 6, 5, 4, 3 and 2 models
        names = [study.id for study in studies]
        assert parts == [names[:1], names[1:2], names[2:4], names[4:]]
        assert in_turns(studies, 1) == [[name] for name in names]
        assert in_turns([], 7) == []
        monkeypatch.setattr(
            queries, "in_turns", lambda studies_of_part: in_turns(studies_of_part, 7)
        )
        computed: list[list[str]] = []

        def recorded(
            pool: Pool, studies_of_part: list[Study], models: dict[str, int]
        ) -> list[View]:
            computed.append([study.id for study in studies_of_part])
            return heatmap_items(pool, studies_of_part, models)

        monkeypatch.setattr(queries, "heatmap_items", recorded)
        assert service.get("/v1/heatmap", tenant) == complete
        assert computed == parts
        chosen = ",".join(names)
        assert service.get("/v1/heatmap", tenant, f"studies={chosen}") == complete


@pytest.mark.outside
def test_a_traceback_on_a_terminal_shows_no_secret() -> None:
    program = """
import structlog
from bentham.http.logs import configure_logs

def fail(token, csrf):
    raise KeyError(token)

configure_logs()
try:
    fail("bth_0123456789ab_" + 21 * "5ec", 16 * "c5rf")
except KeyError as error:
    structlog.get_logger("x").error("internal server error", exc_info=error)
"""
    ours, terminal = pty.openpty()
    with os.fdopen(ours, "rb", buffering=0) as shown:
        subprocess.run([sys.executable, "-W", "error", "-c", program], stderr=terminal, check=True)
        os.close(terminal)
        text = b""
        try:
            while piece := shown.read(4096):
                text += piece
        except OSError:  # the end of the output of a terminal
            pass
    assert b"in fail" in text
    assert b"bth_***" in text
    assert b"5ec5ec" not in text
    assert b"c5rfc5rf" not in text
