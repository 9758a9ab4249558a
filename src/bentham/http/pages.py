"""Serves the dashboard's files. They are the same for every user and public.

All files are read at startup, and only those are served. A browser revalidates a file each time it
needs it, and usually gets 304.
"""

import hashlib
import re
from pathlib import PurePosixPath

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

from bentham.dashboard import assets

# Other file types are not served.
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
        # No text can become markup or script, whatever a name contains.
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
    """A file, its media type and its ETag."""

    def __init__(self, name: str, content: bytes):
        self.content = content
        self.media_type = MEDIA_TYPES[PurePosixPath(name).suffix]
        self.tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'

    def answer(self, request: Request) -> Response:
        """Return the file, or 304 if the browser has it already."""
        headers = {**HEADERS, "ETag": self.tag}
        known = _TAG.findall(request.headers.get("if-none-match", ""))
        if self.tag in known or "*" in known:
            return Response(status_code=304, headers=headers)
        response = Response(self.content, headers=headers, media_type=self.media_type)
        if request.method == "HEAD":  # keeps the Content-Length of the file
            response.body = b""
        return response


def add_to(app: FastAPI) -> None:
    """Add the dashboard to an app."""
    files = {
        name: File(name, content)
        for name, content in assets().items()
        if PurePosixPath(name).suffix in MEDIA_TYPES
    }

    async def page(request: Request) -> Response:
        """Serve the page."""
        return files["index.html"].answer(request)

    async def asset(request: Request, name: str) -> Response:
        """Serve one of its files."""
        if name not in files:
            raise HTTPException(404)
        return files[name].answer(request)

    for path, handler in (("/", page), ("/assets/{name:path}", asset)):
        app.add_api_route(path, handler, methods=["GET", "HEAD"], include_in_schema=False)
