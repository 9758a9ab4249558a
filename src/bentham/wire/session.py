"""Signing in from a browser."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from bentham.wire.base import RequestBody, ResponseBody


class SignIn(RequestBody):
    """A token, to be shown once; with `keep` the browser stays signed in for 30 days."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"token": f"bth_{'0' * 12}_{'0' * 64}", "keep": False}]}
    )

    token: Annotated[str, Field(max_length=200)]
    keep: bool = False


class SessionView(ResponseBody):
    """Who is signed in, and by which session.

    `csrf` is what every change by cookie sends as `X-CSRF-Token`. It is told at the sign-in and
    never again, so that the cookie alone, should it reach somebody else, changes nothing.
    """

    id: str
    role: Literal["admin", "tenant"]
    tenant: str | None
    csrf: str | None
    version: str
    events: list[str] = []  # the kinds of events that a page may listen to
