"""HTTP responses: JSON, files and problems."""

import asyncio
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from starlette.responses import Response, StreamingResponse

from bentham.service import Refusal
from bentham.wire.datasets import CONTENT_TYPES

PROBLEM = "application/problem+json"


def encoded(body: Any) -> bytes:
    """Encode as JSON. NaN and infinity raise, since they would be a bug."""
    return json.dumps(body, allow_nan=False, separators=(",", ":")).encode()


def answered(body: Any, status: int = 200) -> Response:
    """Return plain data as a JSON response."""
    return Response(encoded(body), status, media_type="application/json")


async def answered_in_pieces(body: Mapping[str, Any], name: str, size: int) -> Response:
    """Return a response whose list `name` is long, encoded in batches: other tasks run between."""
    rest = {key: value for key, value in body.items() if key != name}
    pieces = []
    for start in range(0, len(body[name]), size):
        pieces.append(encoded(body[name][start : start + size])[1:-1])
        await asyncio.sleep(0)
    whole = b'%s,"%s":[%s]}' % (encoded(rest)[:-1], name.encode(), b",".join(pieces))
    return Response(whole, media_type="application/json")


def streamed(parts: Iterator[bytes], shape: str) -> Response:
    """Stream a file as it was uploaded."""
    kind = next(kind for kind, each in CONTENT_TYPES.items() if each == shape)
    return StreamingResponse(parts, media_type=kind)


def attached(parts: Iterator[bytes], name: str) -> Response:
    """Stream a file that browsers save, and never show."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingResponse(parts, headers=headers, media_type="application/zip")


def file_stem(name: str) -> str:
    """Return a name as the safe beginning of a file name."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-")[:60] or "model"


def problem(
    status: int,
    title: str,
    detail: str,
    request: str = "",
    errors: tuple[str, ...] = (),
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return a problem (RFC 9457): what is wrong, and what to do."""
    body = {
        "type": "about:blank",
        "title": title,
        "status": status,
        "detail": detail,
        "request": request,
        "errors": list(errors),
    }
    return Response(encoded(body), status, dict(headers or {}), media_type=PROBLEM)


def refused(refusal: Refusal, request: str) -> Response:
    """Return a refusal as a problem."""
    headers = {}
    if refusal.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if refusal.retry_after is not None:
        headers["Retry-After"] = str(max(1, round(refusal.retry_after)))
    # A name in the text comes from the URL and may contain anything.
    detail = str(refusal).encode("utf-8", "replace").decode()
    return problem(refusal.status, refusal.title, detail, request, refusal.errors, headers)
