"""What somebody might try: cookies of another port, slow ears, looks without end, a traceback."""

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
    """A browser sends what another port has set for a longer path before what is ours."""

    def test_one_that_names_nobody_keeps_nobody_out(self, service: Service) -> None:
        browser = Browser(service, service.admin)
        own = browser.cookie
        for planted in (f"{DEAD}; {own}", f"{own}; {DEAD}", f"{DEAD};{DEAD}; {own}; {own}"):
            browser.cookie = planted
            browser.get().ok()
            browser.request("POST", f"/v1/studies/{planted}/pause").refused(404)

    def test_nobody_works_as_somebody_else(self, service: Service) -> None:
        browser, planted = Browser(service, service.admin), Browser(service, service.tenant("evil"))
        for cookies in (f"{planted.cookie}; {browser.cookie}",
                        f"{browser.cookie}; {planted.cookie}"):  # fmt: skip
            headers = {"cookie": cookies}
            for path in ("/v1/session", "/v1/studies", "/v1/events"):
                answer = browser.request("GET", path, headers=headers)
                answer.refused(401, "several sessions", "remove the host's cookies")
            browser.request("POST", "/v1/tenants", {"name": "b"}, headers=headers).refused(401)
        browser.get().ok()
        planted.request("DELETE", "/v1/session").ok(204)
        browser.request("GET", "/v1/session", headers={"cookie": cookies}).ok()


@pytest.mark.parametrize("how", ["signed out", "revoked"])
def test_who_listens_slowly_hears_nothing_of_later(
    service: Service, how: str, monkeypatch: pytest.MonkeyPatch
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
    if how == "signed out":
        browser.request("DELETE", "/v1/session").ok(204)
    else:
        service.request("DELETE", f"/v1/tokens/{token.split('_')[1]}").ok()
    taken.set()
    service.finish(exchange)
    assert b"".join(exchange.chunks).count(b"event: study-created") == 1


class TestLooksWithoutEnd:
    def test_connections_have_their_turn_between_long_looks(self, service: Service) -> None:
        turns = 0

        def long(*_: object) -> int:
            time.sleep(1.1 * engine.TURN_SECONDS)
            return turns

        async def ask() -> list[int]:
            nonlocal turns
            asked = [asyncio.ensure_future(service.engine.ask(None, long)) for _ in range(4)]
            while not all(each.done() for each in asked):
                await asyncio.sleep(0)
                turns += 1
            return [each.result() for each in asked]

        seen = service.run(ask())
        assert sorted(set(seen)) == seen

    def test_a_heatmap_of_many_models_is_looked_up_in_turns(
        self, service: Service, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        tenant = service.tenant("a")
        for number in range(5):
            service.study(tenant, f"s{number}", number + 2)
        whole = service.get("/v1/heatmap", tenant)
        studies = [service.pool.studies[item["study"]] for item in whole["items"]]
        parted = in_turns(studies, 7)  # of 6, 5, 4, 3 and 2 models
        names = [study.id for study in studies]
        assert parted == [names[:1], names[1:2], names[2:4], names[4:]]
        assert in_turns(studies, 1) == [[name] for name in names]
        assert in_turns([], 7) == []
        monkeypatch.setattr(queries, "in_turns", lambda some: in_turns(some, 7))
        looked: list[list[str]] = []

        def noted(pool: Pool, some: list[Study], models: dict[str, int]) -> list[View]:
            looked.append([study.id for study in some])
            return heatmap_items(pool, some, models)

        monkeypatch.setattr(queries, "heatmap_items", noted)
        assert service.get("/v1/heatmap", tenant) == whole
        assert looked == parted
        chosen = ",".join(names)
        assert service.get("/v1/heatmap", tenant, f"studies={chosen}") == whole


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
        except OSError:  # how a terminal ends
            pass
    assert b"in fail" in text
    assert b"bth_***" in text
    assert b"5ec5ec" not in text
    assert b"c5rfc5rf" not in text
