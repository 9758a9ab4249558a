"""A simulated browser: it stores its cookie and sends the same headers as the pages."""

from collections.abc import Mapping
from http.cookies import Morsel, SimpleCookie
from typing import Any

from support.service_app import Service
from support.service_exchange import Answer, Exchange

HOST = "bentham.example:8642"
ORIGIN = f"http://{HOST}"


class Browser:
    def __init__(self, service: Service, token: str = "", **more: Any):
        """Sign in with the token, unless it is empty."""
        self._service = service
        self.cookie, self.csrf = "", ""
        if token:
            self.sign_in(token, **more).ok()

    def sign_in(self, token: str, **more: Any) -> Answer:
        answer = self.request("POST", "/v1/session", {"token": token, **more})
        if answer.status == 200:
            self.cookie = cookie_of(answer).OutputString([])
            self.csrf = answer.json["csrf"]
        return answer

    def request(self, method: str, path: str, body: Any = None, **options: Any) -> Answer:
        return self._service.finish(self.begin(method, path, body, **options))

    def begin(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        headers: Mapping[str, str | None] | None = None,
        **options: Any,
    ) -> Exchange:
        """Begin a request as a page does; `headers` are added or replaced, None removes one."""
        sent: dict[str, str | None] = {"host": HOST}
        if method != "GET":
            sent["origin"] = ORIGIN
            sent["x-csrf-token"] = self.csrf or None
        sent["cookie"] = self.cookie or None
        sent |= headers or {}
        present = {name: value for name, value in sent.items() if value is not None}
        options.setdefault("token", None)
        return self._service.begin(method, path, body, headers=present, **options)

    def get(self, path: str = "/v1/session") -> Answer:
        return self.request("GET", path)


def cookie_of(answer: Answer) -> "Morsel[str]":
    """The only cookie that a response sets."""
    (morsel,) = SimpleCookie(answer.headers["set-cookie"]).values()
    return morsel
