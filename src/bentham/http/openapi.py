"""Additions to the OpenAPI document that FastAPI generates from the handlers."""

from typing import Annotated, Any, Generic, TypeVar

from fastapi import FastAPI, Query
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel

from bentham import __version__, wire
from bentham.http.sessions import ADDRESS, COOKIE

Item = TypeVar("Item")
After = Annotated[str | None, Query(max_length=100, description="The `next` of the previous page.")]


class Page(BaseModel, Generic[Item]):
    """One page of a list; unless `next` is null, pass it as `after` to get the next page."""

    items: list[Item]
    next: str | None = None


def _problem(description: str) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/Problem"}
    return {"description": description, "content": {"application/problem+json": {"schema": schema}}}


PROBLEMS: dict[int | str, dict[str, Any]] = {
    400: _problem("The request is malformed."),
    401: _problem("The token is missing, unknown, expired or revoked."),
    403: _problem("The token's role does not allow this."),
    404: _problem("It does not exist, or belongs to another tenant."),
    408: _problem("The body did not arrive in time."),
    409: _problem("It conflicts with the current state; nothing was changed."),
    413: _problem("The body is too large."),
    422: _problem("A value is invalid; nothing was changed."),
    429: _problem("Too many requests; wait for Retry-After seconds."),
    503: _problem("Not available; retry after Retry-After seconds with the same Idempotency-Key."),
}

DESCRIPTION = """Shares a pool of devices among many model-selection studies.

Send `Authorization: Bearer TOKEN`. A browser signs in at /v1/session and sends its cookie instead,
with the header `X-CSRF-Token` on every request except GET and HEAD. A POST may have an
`Idempotency-Key`: a repeat with the same key gets the same response and changes nothing, except
that a repeat that would issue a token gets a 409, and heartbeats and sign-ins are executed again.
Times are seconds since 1970 (UTC)."""


def describe(app: FastAPI) -> None:
    """Add tokens, idempotency keys and problems to the OpenAPI document of the app."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = get_openapi(
                title="Bentham", version=__version__, description=DESCRIPTION, routes=app.routes
            )
            components = document.setdefault("components", {})
            components.setdefault("schemas", {})["Problem"] = wire.Problem.model_json_schema()
            components["securitySchemes"] = {
                "token": {"type": "http", "scheme": "bearer"},
                "session": {"type": "apiKey", "in": "cookie", "name": COOKIE},
            }
            for path, operations in document["paths"].items():
                for method, operation in operations.items():
                    signing_in = path == ADDRESS and method == "post"
                    if path.startswith("/v1"):
                        either: list[dict[str, list[str]]] = [{"token": []}, {"session": []}]
                        operation["security"] = [] if signing_in else either
                    if method == "post" and not signing_in:
                        operation.setdefault("parameters", []).append(_KEY)
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "Identifies this request; a repeat with the same key gets the same response.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[ -~]+$"},
    "example": "8e03978e-40d5-43e8-bc93-6894a57f9324",
}
