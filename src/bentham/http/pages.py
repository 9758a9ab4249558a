"""The dashboard's files, as they go to a browser. They are the same for everybody, and no secret.

All of them are read at the start, so that nothing but what was there by then can be had. A browser
asks each time whether it has the latest, and mostly hears that it has.
"""

import hashlib
import re
from pathlib import PurePosixPath

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

from bentham.dashboard import assets

# What is not of these is not served.
MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
}
POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        # No text can become markup or script, whatever a name holds.
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ]
)
_UNUSED = (
    "accelerometer", "camera", "clipboard-read", "display-capture", "geolocation", "gyroscope",
    "magnetometer", "microphone", "midi", "payment", "publickey-credentials-get", "serial", "usb",
)  # fmt: skip
HEADERS = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": ", ".join(
        [*(f"{name}=()" for name in _UNUSED), "clipboard-write=(self)"]
    ),
}
_TAG = re.compile(r'\*|"[^"]*"')


class File:
    """A file, its type and the tag by which a browser knows that it has it."""

    def __init__(self, name: str, content: bytes):
        self.content = content
        self.media_type = MEDIA_TYPES[PurePosixPath(name).suffix]
        self.tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'

    def answer(self, request: Request) -> Response:
        """The file, or that it is the one the browser has."""
        headers = {**HEADERS, "ETag": self.tag}
        known = _TAG.findall(request.headers.get("if-none-match", ""))
        if self.tag in known or "*" in known:
            return Response(status_code=304, headers=headers)
        response = Response(self.content, headers=headers, media_type=self.media_type)
        if request.method == "HEAD":  # with the length that it would have
            response.body = b""
        return response


def add_to(app: FastAPI) -> None:
    """Let an app serve the dashboard."""
    files = {
        name: File(name, content)
        for name, content in assets().items()
        if PurePosixPath(name).suffix in MEDIA_TYPES
    }

    async def page(request: Request) -> Response:
        """The page."""
        return files["index.html"].answer(request)

    async def asset(request: Request, name: str) -> Response:
        """One of its files."""
        if name not in files:
            raise HTTPException(404)
        return files[name].answer(request)

    for path, handler in (("/", page), ("/assets/{name:path}", asset)):
        app.add_api_route(path, handler, methods=["GET", "HEAD"], include_in_schema=False)
