"""The event stream, the audit log, the overview, history, and the end of a server."""

import json
import re
from typing import Any

import pytest
from support.service_app import NOON, Service, serving
from support.service_exchange import Exchange
from support.service_story import HISTORY, Story

from bentham.core import Scheduler
from bentham.core.problem import events as core


class Listener:
    def __init__(self, service: Service, token: str = "", last: int | None = None):
        self._service = service
        headers = {} if last is None else {"last-event-id": str(last)}
        self.exchange: Exchange = service.begin("GET", "/v1/events", token=token, headers=headers)
        service.until(lambda: bool(self.exchange.chunks))

    @property
    def text(self) -> str:
        return b"".join(self.exchange.chunks).decode()

    def until(self, words: str) -> "Listener":
        self._service.until(lambda: words in self.text)
        return self

    def events(self) -> list[tuple[int, str, Any]]:
        form = re.compile(r"id: (\d+)\nevent: (\S+)\ndata: (.*)\n\n")
        return [(int(n), kind, json.loads(data)) for n, kind, data in form.findall(self.text)]

    def close(self) -> None:
        self.exchange.hang_up()
        self._service.finish(self.exchange)


class TestStream:
    def test_an_operator_receives_all_events_in_order(self, service: Service) -> None:
        listener = Listener(service)
        assert listener.text == ": hello\n\n"
        Story(service, 1).go_on(30)
        service.tenant("last")
        listener.until('"last"').close()
        head = service.pool.sequence
        log = service.get("/v1/log", query="limit=1000")["items"]
        known = {record["sequence"]: record["kind"] for record in log}
        received = [(number, kind) for number, kind, _ in listener.events()]
        first = received[0][0]
        # The event of the last issued token may not have arrived yet.
        assert received == [(n, known[n]) for n in range(first, first + len(received))]
        assert head - received[-1][0] <= 1

    def test_a_reconnecting_listener_gets_missed_events(self, service: Service) -> None:
        token = service.tenant("a")
        listener = Listener(service, token)
        studies = [service.study(token, f"s{n}") for n in range(4)]
        listener.until(studies[-1]).close()
        numbers = [number for number, _, _ in listener.events()]
        assert numbers == list(range(numbers[0], numbers[0] + 4))
        again = Listener(service, token, last=numbers[1]).until(studies[-1])
        assert [(n, data["id"]) for n, _, data in again.events()] == [
            (numbers[2], studies[2]), (numbers[3], studies[3]),
        ]  # fmt: skip
        service.study(token, "more")
        again.until('"more"').close()
        assert again.events()[-1][0] == numbers[3] + 1

    def test_a_disconnect_before_the_start_leaves_no_listener(self, service: Service) -> None:
        class Disconnected(Exchange):
            async def send(self, message: Any) -> None:  # noqa: ARG002
                raise ConnectionResetError

        known = Listener(service)
        known.close()
        disconnected = Disconnected(known.exchange.scope, b"")
        with pytest.raises(ConnectionResetError):
            service.run(service.app(disconnected.scope, disconnected.receive, disconnected.send))
        context = service.app.state.context
        assert context.service.engine.feeds.listeners == context.service.listeners.total() == 0

    def test_events_no_longer_in_memory_cause_a_reset(self, service: Service) -> None:
        token = service.tenant("a")
        for number in range(3):
            service.study(token, f"s{number}")
        service.restart()
        reset = Listener(service, token, last=1)
        assert reset.text == "event: reset\ndata: {}\n\n"
        service.study(token, "after")
        reset.until('"after"').close()
        for text in ("x", "-1", "1" * 19, "¹"):
            answer = service.request(
                "GET", "/v1/events", token=token, headers={"last-event-id": text}
            )
            answer.refused(422, "Last-Event-ID")

    def test_a_revoked_token_receives_no_more_events(self, service: Service) -> None:
        token = service.tenant("a")
        other = service.token("tenant", tenant="a")
        listener = Listener(service, token)
        service.request("DELETE", f"/v1/tokens/{token.split('_')[1]}").ok()
        service.study(other, "not for revoked ears")
        service.finish(listener.exchange)  # the stream ends
        assert "not for revoked ears" not in listener.text

    def test_a_device_has_no_stream(self, service: Service) -> None:
        answer = service.request("GET", "/v1/events", token=service.token("device"))
        answer.refused(403)


class TestEnd:
    def test_stopping_ends_long_polls_and_streams(self) -> None:
        with serving() as service:
            device, token = service.device(), service.tenant("a")
            listener = Listener(service, token)
            poll = service.begin("POST", "/v1/devices/gpu/lease", {"wait": 30.0}, token=device)
            service.until(lambda: service.engine.working.leases.seen("gpu") is not None)
            service.engine.begin_stop()
            assert service.finish(poll).status in (204, 503)
            service.finish(listener.exchange)
            service.stop()
            service.request("GET", "/v1/studies").refused(503, "stopping")

    def test_a_request_after_the_engine_ended_is_refused(self) -> None:
        with serving() as service:
            service.engine.begin_stop()
            assert service.engine._task is not None
            service.until(service.engine._task.done)
            service.request("GET", "/v1/studies").refused(503, "stopping")

    def test_a_long_poll_returns_as_soon_as_there_is_work(self, service: Service) -> None:
        device, token = service.device(), service.tenant("a")
        poll = service.begin("POST", "/v1/devices/gpu/lease", {"wait": 30.0}, token=device)
        study = service.study(token)
        assert service.finish(poll).ok()["study"] == study


class TestAudit:
    def test_the_log_contains_actor_and_request_id(self, service: Service) -> None:
        token = service.tenant("a")
        service.request(
            "POST", "/v1/studies", {"name": "s", "models": ["m0"]}, token=token,
            headers={"x-request-id": "my-request"},
        ).ok(201)  # fmt: skip
        lease = service.lease(service.device())
        service.clock.advance(31.0)
        records = service.get("/v1/log", query="limit=1000")["items"]
        assert [record["sequence"] for record in records] == list(range(1, len(records) + 1))
        created = next(record for record in records if record["kind"] == "study-created")
        assert (created["actor"], created["request"]) == (token.split("_")[1], "my-request")
        assert (created["tenant"], created["time"]) == ("a", NOON)
        lost = next(record for record in records if record["kind"] == "trial-lost")
        assert (lost["actor"], lost["request"], lost["tenant"]) == ("server", "", "a")
        assert lost["body"] == {"id": lease["trial"], "reason": "the lease ran out"}
        text = json.dumps(records)
        for known in service.pool.tokens.values():
            assert known.hash not in text
        assert token not in text

    def test_pages_of_the_log_are_complete(self, service: Service) -> None:
        Story(service, 2).go_on(20)
        complete = service.get("/v1/log", query="limit=1000")["items"]
        page = service.get("/v1/log", query="limit=7")
        pages = list(page["items"])
        while page["next"] is not None:
            page = service.get("/v1/log", query=f"limit=7&after={page['next']}")
            pages += page["items"]
        assert pages == complete


class TestOverview:
    def test_figures(self, service: Service) -> None:
        one, two = service.tenant("one"), service.tenant("two", weight=3.0)
        service.study(one, "a", 4)
        service.study(two, "b", 4)
        a, b = service.device("a"), service.device("b")
        first = service.lease(a, "a")
        service.clock.advance(10.0)
        service.report(a, first, score=0.5).ok()
        second = service.lease(b, "b")
        service.clock.advance(20.0)
        shown = service.get("/v1/overview")
        used = {each["tenant"]: each["device_seconds"] for each in shown["tenants"]}
        expected = {"one": 0.0, "two": 0.0}
        expected[first["tenant"]] += 10.0
        expected[second["tenant"]] += 20.0
        assert used == expected
        assert {each["tenant"]: each["share"] for each in shown["tenants"]} == {
            name: seconds / 30.0 for name, seconds in expected.items()
        }
        assert shown["queue"] == {"open_studies": 2, "untried_arms": 6}
        assert shown["devices"] == {"present": 2, "busy": 1, "away": 0}
        assert (shown["decisions"], shown["leases_lost"]) == (2, 0)
        assert shown["throughput"] == {"last_ten_minutes": 1, "last_hour": 1}
        assert shown["regret_estimate"] > 0.0
        service.clock.advance(660.0)
        shown = service.get("/v1/overview")
        assert shown["throughput"] == {"last_ten_minutes": 1, "last_hour": 2}
        assert shown["leases_lost"] == 1
        page = service.request("GET", "/metrics")
        assert b"bentham_leases_lost 1.0" in page.body
        assert b'route="/v1/overview"' in page.body

    def test_metrics_of_an_instance_that_does_not_serve(self, service: Service) -> None:
        """It cannot check tokens, so it shows nothing of the pool or of the requests."""
        service.study(service.tenant("a"))
        assert b"bentham_ready 1.0" in service.request("GET", "/metrics").body
        service.engine.phase = "standby"
        for token in (service.admin, "unknown"):
            page = service.request("GET", "/metrics", token=token)
            assert page.status == 200
            lines = [line for line in page.body.splitlines() if not line.startswith(b"#")]
            assert lines == [b"bentham_ready 0.0"]
        service.request("GET", "/metrics", token=None).refused(401)
        service.engine.phase = "serving"
        assert b"bentham_ready 1.0" in service.request("GET", "/metrics").body

    def test_the_estimate_follows_an_imported_history(self, service: Service) -> None:
        service.study(service.tenant("a"), models=3)
        before = service.get("/v1/overview")["regret_estimate"]
        service.post("/v1/history", HISTORY).ok()
        assert service.get("/v1/overview")["regret_estimate"] != before


class TestHistory:
    def test_what_was_exported_can_be_imported(self, service: Service) -> None:
        token, device = service.tenant("a"), service.device()
        service.post("/v1/history", HISTORY).ok()
        service.post(
            "/v1/history", HISTORY
        ).ok()  # an identical second import is exported only once
        service.study(token, "mine, with a comma", ["m0", "m1"])
        service.run_all(device, "gpu", lambda lease: 0.25 + lease["fence"])
        exported = service.request("GET", "/v1/history")
        assert exported.headers["content-type"].startswith("text/csv")
        own = service.request("GET", "/v1/history", token=token).body.decode()
        assert "old" not in own
        assert own.count("\n") == 3
        with serving() as other:
            counts = other.post("/v1/history", exported.body).ok()
            assert counts == {"studies": 3, "models": 3, "runs": 6}
            again = other.request("GET", "/v1/history").body
            assert again == exported.body

    def test_it_sets_the_prior_as_in_the_core(self, service: Service) -> None:
        service.post("/v1/history", HISTORY).ok()
        service.study(service.tenant("a"), "s", ["m0", "m1", "m2"])
        device = service.device("gpu")
        core_scheduler = Scheduler()
        past: dict[str, dict[str, tuple[float, float | None]]] = {
            "old": {"m0": (0.4, 2.0), "m1": (0.7, 3.0)},
            "older": {"m1": (0.2, None), "m2": (0.3, 9.0)},
        }
        core_scheduler.apply(core.HistoryAdded(NOON, past))
        core_scheduler.add_study("s", ["m0", "m1", "m2"], dataset="a/s", tenant="a", time=NOON)
        core_scheduler.add_device("gpu", time=NOON)
        for score in (0.3, 0.1, 0.9):
            lease = service.lease(device)
            expected = core_scheduler.ask("gpu", time=service.clock.now)
            assert expected is not None
            shown = service.get(f"/v1/decisions/{lease['trial']}")
            for name in ("model", "value", "cost", "rate", "expected_improvement"):
                assert shown[name] == getattr(expected, name), name
            service.clock.advance(2.5)
            service.report(device, lease, score=score).ok()
            core_scheduler.tell(expected.trial, score, time=service.clock.now)

    @pytest.mark.parametrize(
        "text", [b"", b"study,model\na,b\n", b"study,model,score\na,b,nan\n", b"\xff\xfe", b"\0"]
    )
    def test_invalid_history_is_refused(self, service: Service, text: bytes) -> None:
        head = service.pool.sequence
        service.post("/v1/history", text).refused(422)
        assert service.pool.sequence == head
