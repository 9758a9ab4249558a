"""Signing in from a browser."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from bentham.wire.base import RequestBody, ResponseBody


class SignIn(RequestBody):
    """The token to sign in with; with `keep` the browser stays signed in for 30 days."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"token": f"bth_{'0' * 12}_{'0' * 64}", "keep": False}]}
    )

    token: Annotated[str, Field(max_length=200)]
    keep: bool = False


class SessionView(ResponseBody):
    """Who is signed in, and in which session; for a request with a token, `id` is the token's.

    `largest_upload` is the maximum size of a dataset's file in bytes, which the operator sets.
    Every change by cookie must send `csrf` as `X-CSRF-Token`. Only the response to the sign-in has
    it, so that a stolen cookie alone cannot change anything.
    """

    id: str
    role: Literal["admin", "tenant"]
    tenant: str | None
    csrf: str | None
    version: str
    largest_upload: int = 0
    events: list[str] = []  # the kinds of events and messages that a page can listen to
    no_device: bool = False  # whether work waits and no device is alive
