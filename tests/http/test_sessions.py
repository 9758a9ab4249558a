"""Browser sessions: cookies with at most the rights of their token, and no use to attackers."""

import hashlib
from collections.abc import Callable
from typing import Any

import pytest
from support.service_app import DAY, FakeClock, Service, serving
from support.service_browser import HOST, ORIGIN, Browser, cookie_of

from bentham import __version__
from bentham.http.middleware import RequestLimits
from bentham.http.routes import stream
from bentham.http.sessions import IDLE_SECONDS, Session, Sessions
from bentham.service import MESSAGES, shown_kinds

NEW = {"name": "new"}


def sessions_of(service: Service) -> Sessions:
    found: Sessions = service.app.state.context.sessions
    return found


def revoke(service: Service, token: str) -> None:
    service.request("DELETE", f"/v1/tokens/{token.split('_')[1]}").ok()


class TestSigningIn:
    def test_a_cookie_has_the_rights_of_its_token(self, service: Service) -> None:
        token = service.tenant("a")
        study = service.study(token)
        tenant, admin = Browser(service, token), Browser(service, f" {service.admin}\n")
        shown = tenant.get().ok()
        # The CSRF token is shown only at sign-in, so a stolen cookie alone does not reveal it.
        same = {
            "csrf": None, "version": __version__, "events": [*shown_kinds(), *MESSAGES],
            "no_device": False, "largest_upload": 64 * 2**20,
        }  # fmt: skip
        assert shown == {"id": shown["id"], "role": "tenant", "tenant": "a", **same}
        other = admin.get().ok()
        assert other.pop("id") not in (shown["id"], "")
        assert other == {"role": "admin", "tenant": None, **same}
        assert [each["id"] for each in tenant.get("/v1/studies").ok()["items"]] == [study]
        paused = tenant.request("POST", f"/v1/studies/{study}/pause").ok()
        assert paused["state"] == "paused"
        tenant.request("POST", "/v1/tenants", NEW).refused(403, "'tenant' may not")
        tenant.get("/metrics").refused(403)
        assert admin.get("/metrics").status == 200
        admin.request("POST", "/v1/tenants", NEW).ok(201)
        record = service.get("/v1/log", query="limit=1000")["items"][-1]
        assert record["actor"] == service.admin.split("_")[1]

    def test_refused_sign_ins(self, service: Service) -> None:
        wrong = service.admin[:-1] + ("0" if service.admin[-1] != "0" else "1")
        for token in ("", "nonsense", wrong):
            response = Browser(service).sign_in(token)
            response.refused(401, "unknown, expired or revoked")
            assert "set-cookie" not in response.headers
        device = Browser(service).sign_in(service.token("device"))
        device.refused(403, "a device token cannot sign in", "a tenant's token")
        bodies: list[Any] = [
            {},
            {"token": 1},
            {"token": "x" * 201},
            {"token": "", "x": 1},
            [],
            b"{",
        ]
        for body in bodies:
            headers = {"content-type": "application/json"}
            response = Browser(service).request("POST", "/v1/session", body, headers=headers)
            response.refused(422)
        assert len(sessions_of(service)) == 0

    @pytest.mark.parametrize("keep", [False, True])
    @pytest.mark.parametrize("secure", [False, True])
    def test_the_cookie(self, keep: bool, secure: bool) -> None:
        with serving(secure_cookies=secure) as service:
            browser = Browser(service)
            response = browser.sign_in(service.admin, keep=keep)
            cookie = cookie_of(response)
            assert cookie.key == ("__Host-bentham_session" if secure else "bentham_session")
            assert len(bytes.fromhex(cookie.value)) == 32
            assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "Strict", "/")
            assert (cookie["secure"] or False, cookie["domain"]) == (secure, "")
            assert cookie["max-age"] == (str(30 * 86400) if keep else "")
            assert response.headers["cache-control"] == "no-store"
            # The session id is stored only as a hash; neither secret is shown.
            assert service.admin not in response.body.decode() + cookie.value
            assert cookie.value not in response.body.decode()
            stored = sessions_of(service)._all
            assert set(stored) == {hashlib.sha256(cookie.value.encode()).digest()}
            assert service.admin not in repr(stored)
            assert browser.csrf not in repr(stored)
            deleted = cookie_of(browser.request("DELETE", "/v1/session"))
            assert (deleted.key, deleted.value, deleted["max-age"]) == (cookie.key, "", "0")

    def test_session_fixation(self, service: Service) -> None:
        browser, planted = Browser(service), "0" * 64
        browser.cookie = f"bentham_session={planted}"
        browser.get().refused(401, "sign in again")
        assert cookie_of(browser.sign_in(service.admin)).value != planted
        first = browser.cookie
        # Signing in again replaces the session.
        browser.sign_in(service.tenant("a")).ok()
        assert browser.cookie != first
        assert browser.get().ok()["tenant"] == "a"
        browser.cookie = first
        browser.get().refused(401)
        assert len(sessions_of(service)) == 1

    def test_the_cookie_is_found_among_others(self, service: Service) -> None:
        browser = Browser(service, service.admin)
        name, _, value = browser.cookie.partition("=")
        for cookies in (f"_xsrf=1; {browser.cookie}; a", f"{name}=planted;{browser.cookie}"):
            browser.request("GET", "/v1/session", headers={"cookie": cookies}).ok()
        for cookies in (f"x{browser.cookie}", f"{name}={value}0", f"{name}={value.upper()}",
                        f"{name}=", "", f'{name}="{value}"'):  # fmt: skip
            # Without a session cookie nobody is signed in, and asking is not an error.
            response = browser.request("GET", "/v1/session", headers={"cookie": cookies})
            assert (response.status, response.body) == (204, b""), cookies
            browser.request("GET", "/v1/studies", headers={"cookie": cookies}).refused(401)


class TestForgery:
    """Requests that a page of another site or port can make a browser send."""

    def test_a_change_needs_the_csrf_token_of_the_session(self, service: Service) -> None:
        browser, other = Browser(service, service.admin), Browser(service, service.admin)
        head = service.pool.sequence
        for forged in (None, "", "x", other.csrf, browser.csrf[:-1], browser.csrf.upper() + " "):
            for method, path in (("POST", "/v1/tenants"), ("DELETE", "/v1/session"),
                                 ("PATCH", "/v1/tenants/a"), ("OPTIONS", "/v1/studies"),
                                 ("POST", "/v1/nothing")):  # fmt: skip
                headers = {"x-csrf-token": forged}
                response = browser.request(method, path, NEW, headers=headers)
                response.refused(403, "X-CSRF-Token", "sign in again")
        assert service.pool.sequence == head
        browser.request("POST", "/v1/tenants", NEW).ok(201)

    def test_forgery_is_refused_before_the_body_is_read(self, service: Service) -> None:
        headers = {"x-csrf-token": None, "content-length": str(2**20)}
        browser = Browser(service, service.admin)
        exchange = browser.begin("POST", "/v1/datasets", b"a", headers=headers, open=True)
        service.finish(exchange).refused(403)

    @pytest.mark.parametrize(
        ("origin", "host", "own"),
        [
            (None, HOST, True),
            (ORIGIN, HOST, True),
            ("https://bentham.example", "bentham.example", True),
            ("https://Bentham.example", "bentham.example:443", True),
            ("http://bentham.example", "bentham.example:80", True),
            ("http://[::1]:8642", "[::1]:8642", True),
            (
                "http://bentham.example:8888",
                HOST,
                False,
            ),  # such as a notebook server: same site, other origin
            ("http://bentham.example", HOST, False),
            ("https://bentham.example", "bentham.example:80", False),
            ("http://evil.example", HOST, False),
            (f"http://evil.example@{HOST}", HOST, False),
            (f"{ORIGIN}.evil.example", HOST, False),
            (ORIGIN, None, False),
            ("null", HOST, False),
            ("", "", False),
            ("file://", "", False),
        ],
    )
    def test_origin(
        self, service: Service, origin: str | None, host: str | None, own: bool
    ) -> None:
        browser = Browser(service, service.admin)
        headers = {"origin": origin, "host": host}
        changed = browser.request("POST", "/v1/tenants", NEW, headers=headers)
        body = {"token": service.admin}
        signed_in = browser.request("POST", "/v1/session", body, headers=headers)
        if own:
            changed.ok(201)
            signed_in.ok()
        else:
            changed.refused(403, "Origin", "proxy")
            signed_in.refused(403, "Origin", "proxy")

    def test_a_form_cannot_sign_in(self, service: Service) -> None:
        body = b'{"token": "%s"}' % service.admin.encode()
        for kind in (
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data",
            None,
        ):
            headers = {"content-type": kind}
            response = Browser(service).request("POST", "/v1/session", body, headers=headers)
            response.refused(422, "Content-Type: application/json")

    def test_authorization_overrides_the_cookie(self, service: Service) -> None:
        token = service.tenant("a")
        admin = Browser(service, service.admin)
        bare = {"x-csrf-token": None, "origin": "http://evil.example"}
        study = {"name": "s", "models": ["m0"]}
        created = admin.request("POST", "/v1/studies", study, headers=bare, token=token).ok(201)
        assert created["tenant"] == "a"
        admin.request("GET", "/v1/studies", token="nonsense").refused(401)
        shown = admin.request("GET", "/v1/session", token=token).ok()
        assert (shown["id"], shown["tenant"]) == (token.split("_")[1], "a")
        assert shown["largest_upload"] == 64 * 2**20
        admin.request("DELETE", "/v1/session", token=token).refused(401)
        # Basic authentication belongs to a proxy; the session cookie is still used and checked.
        basic = {"authorization": "Basic eDp5"}
        admin.request("POST", "/v1/tenants", NEW, headers=basic).ok(201)
        admin.request("POST", "/v1/tenants", NEW, headers={**basic, **bare}).refused(403)


class TestEnds:
    def test_a_session_ends_with_its_token(self, service: Service) -> None:
        service.tenant("a")
        revoked = service.token("tenant", tenant="a")
        brief = service.token("tenant", tenant="a", expires_in=60.0)
        browsers = [Browser(service, token) for token in (revoked, brief)]
        revoke(service, revoked)
        service.clock.advance(61.0)
        for browser in browsers:
            browser.get("/v1/studies").refused(401, "sign in again")
        assert len(sessions_of(service)) == 0

    def test_unused_sessions_expire(self, service: Service) -> None:
        used, unused = Browser(service, service.admin), Browser(service, service.admin)
        kept = Browser(service, service.admin, keep=True)
        for _ in range(3):
            service.clock.advance(IDLE_SECONDS / 2)
            used.get().ok()
        unused.get().refused(401, "sign in again")
        kept.get().ok()
        service.clock.advance(30 * DAY - 1.0)
        kept.get().ok()
        service.clock.advance(30 * DAY)
        kept.get().refused(401)
        assert (
            len(sessions_of(service)) == 1
        )  # one unused session is left; the next sign-in removes it
        Browser(service, service.admin)
        assert len(sessions_of(service)) == 1

    @pytest.mark.parametrize("cause", ["signed out", "revoked", "pushed out"])
    def test_streams_end_with_their_session(
        self, service: Service, cause: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(
            stream, "ALIVE_SECONDS", 3600.0
        )  # so that only the end of the session can end the stream
        token = service.tenant("a")
        browser, other = Browser(service, token), Browser(service, token)
        streams = [each.begin("GET", "/v1/events") for each in (browser, other)]
        service.until(lambda: all(each.chunks for each in streams))
        if cause == "signed out":
            browser.request("DELETE", "/v1/session").ok(204)
        elif cause == "revoked":
            revoke(service, token)
            browser.get().refused(401)
        else:
            service.clock.advance(1.0)
            other.get().ok()
            for _ in range(49):
                Browser(service, token)
        service.finish(streams[0])
        browser.get().refused(401)
        if cause != "revoked":
            study = service.study(token)
            service.until(lambda: study.encode() in b"".join(streams[1].chunks))
            assert other.get().ok()["tenant"] == "a"
            streams[1].hang_up()
        else:
            other.get().refused(401)
        service.finish(streams[1])
        assert not service.app.state.context.service.listeners.total()

    def test_a_stream_keeps_the_session_in_use(self, service: Service) -> None:
        token = service.tenant("a")
        browser = Browser(service, token)
        listening = browser.begin("GET", "/v1/events")
        service.until(lambda: len(listening.chunks) == 1)
        for number in range(3):
            service.clock.advance(IDLE_SECONDS / 2)
            service.study(token, f"s{number}")
            service.until(lambda: any(b"study-created" in chunk for chunk in listening.chunks))
            listening.chunks.clear()
        browser.get().ok()
        listening.hang_up()
        service.finish(listening)

    def test_a_restart_ends_all_sessions(self, service: Service) -> None:
        browser = Browser(service, service.admin)
        service.restart()
        browser.get().refused(401, "sign in again")

    def test_while_the_server_is_not_ready(self, service: Service) -> None:
        browser = Browser(service, service.admin)
        service.engine.phase = "standby"
        for response in (browser.get(), browser.get("/v1/studies"), Browser(service).sign_in("x"),
                       browser.request("POST", "/v1/tenants", NEW),
                       Browser(service).sign_in(service.admin)):  # fmt: skip
            response.refused(503, "is on standby")
            assert response.headers["retry-after"] == "1"
        browser.request("POST", "/v1/tenants", NEW, headers={"x-csrf-token": "x"}).refused(403)
        Browser(service).get().ok(204)
        service.engine.phase = "serving"
        browser.get().ok()


class TestNumbers:
    def sessions(self, clock: FakeClock) -> tuple[Sessions, Callable[[str], Session]]:
        sessions = Sessions(clock, most=4, most_of_token=2)

        def begin(owner: str) -> Session:
            clock.advance(1.0)
            return sessions.begin(owner, f"token of {owner}")[0]

        return sessions, begin

    def test_the_longest_unused_session_is_removed_first(self) -> None:
        clock = FakeClock()
        sessions, begin = self.sessions(clock)
        a1, a2, b1, c1 = (begin(owner) for owner in "aabc")
        assert sessions.use(a1)
        a3 = begin("a")  # the third of two
        assert [each.ended for each in (a1, a2, a3, b1, c1)] == [False, True, False, False, False]
        assert sessions.use(b1)
        d1 = begin("d")  # the fifth of four
        assert [each.ended for each in (a1, a3, b1, c1, d1)] == [False, False, False, True, False]
        assert not sessions.use(c1)
        assert len(sessions) == 4
        for each in (a1, a3, b1, d1):
            sessions.end(each)
            sessions.end(each)
        assert (len(sessions), sessions._of) == (0, {})

    def test_requests_by_cookie_count_toward_the_limit_of_the_token(self) -> None:
        with serving(bounds=RequestLimits(requests_per_second=4.0)) as service:
            token = service.token("admin")  # costs one request
            browsers = [Browser(service, token) for _ in range(2)]  # counted for the address
            statuses = [browsers[n % 2].get().status for n in range(12)]
            assert statuses[:8] == [200] * 8
            assert 429 in statuses[8:]
            assert service.request("GET", "/v1/studies", token=token).status == 429
            service.get("/v1/studies")  # another token has its own limit
