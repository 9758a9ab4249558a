"""The FastAPI app: routes, error handlers and middleware around the service."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from bentham import __version__
from bentham.http import pages
from bentham.http.context import Context, context_of, request_id, token_of
from bentham.http.metrics import Metrics
from bentham.http.middleware import Gate, RequestLimits
from bentham.http.openapi import describe
from bentham.http.responses import answered, problem, refused
from bentham.http.routes import admin as routes_admin
from bentham.http.routes import datasets as routes_datasets
from bentham.http.routes import devices as routes_devices
from bentham.http.routes import overview as routes_overview
from bentham.http.routes import session as routes_session
from bentham.http.routes import stream
from bentham.http.routes import studies as routes_studies
from bentham.http.routes import whatif as routes_whatif
from bentham.http.sessions import Sessions
from bentham.http.summary import RequestSummary
from bentham.service import Refusal, Service, Unready
from bentham.wire.base import complaints

logger = structlog.get_logger("bentham.http")


def create_app(
    service: Service,
    metrics: Metrics,
    bounds: RequestLimits | None = None,
    secure_cookies: bool = False,
) -> FastAPI:
    """Create the app of a service; the service starts and stops with it."""
    sessions, summary = Sessions(service.engine.clock, secure_cookies), RequestSummary()

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        service.start()
        writing = asyncio.get_running_loop().create_task(summary.write_regularly())
        yield
        await service.stop()
        writing.cancel()
        with suppress(asyncio.CancelledError):
            await writing

    app = FastAPI(
        title="Bentham",
        version=__version__,
        lifespan=life,
        docs_url=None,
        redoc_url=None,
        openapi_url="/v1/openapi.json",
        redirect_slashes=False,
        telemetry={"tracing": False, "metrics": False, "logs": False},  # we have our own
    )
    bounds = bounds or RequestLimits()
    app.state.context = Context(service, metrics, sessions, bounds.dataset_bytes)
    routes = (
        routes_devices, routes_studies, routes_overview, routes_datasets, routes_admin,
        routes_session, routes_whatif, stream,
    )  # fmt: skip
    for module in routes:
        # Added directly: include_router would create all routes again, at the first request.
        app.router.routes += module.router.routes
    pages.add_to(app)
    app.add_api_route("/healthz", healthz, include_in_schema=False)
    app.add_api_route("/readyz", readyz, include_in_schema=False)
    app.add_api_route("/metrics", show_metrics, include_in_schema=False)
    app.add_exception_handler(Refusal, _on_refusal)
    app.add_exception_handler(RequestValidationError, _on_invalid)
    app.add_exception_handler(HTTPException, _on_http)
    app.add_exception_handler(Exception, _on_error)
    app.add_middleware(
        Gate,
        bounds=bounds,
        metrics=metrics,
        summary=summary,
        service=service,
        sessions=sessions,
    )
    describe(app)
    return app


async def healthz() -> Response:
    """Report that the process is alive."""
    return answered({"status": "alive"})


async def readyz(request: Request) -> Response:
    """Report whether this instance serves, and its progress while it reads its log."""
    service = context_of(request).service
    return answered(service.status(), 200 if service.ready else 503)


async def show_metrics(request: Request) -> Response:
    """Return the Prometheus metrics. Requires an admin or device token: they cover all tenants.

    An instance that does not serve cannot check the token. It only says what /readyz says, too.
    """
    context = context_of(request)
    try:
        page = context.metrics.page(await context.service.gauges(token_of(request)))
    except Unready:
        page = context.metrics.page_without_pool()
    return Response(page, media_type="text/plain; version=0.0.4; charset=utf-8")


async def _on_refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return refused(error, request_id(request))


async def _on_invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    errors = complaints(error.errors())
    return problem(
        422,
        "Invalid",
        "the request is invalid; see errors, and the API at /v1/openapi.json",
        request_id(request),
        tuple(errors),
    )


async def _on_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    texts = {
        404: "there is no such path; see /v1/openapi.json",
        405: "this path does not support that method; see /v1/openapi.json",
    }
    detail = texts.get(error.status_code, str(error.detail))
    title = "Not found" if error.status_code == 404 else "Bad request"
    headers = dict(error.headers or {})
    if error.status_code == 405:
        headers["Allow"] = _allowed(request) or headers.get("Allow", "GET")
    return problem(error.status_code, title, detail, request_id(request), headers=headers)


def _allowed(request: Request) -> str:
    """Return the methods of a path; a route knows only its own."""
    for template, operations in request.app.openapi()["paths"].items():
        if re.fullmatch(re.sub(r"\{[^}]*\}", "[^/]+", template), request.url.path):
            return ", ".join(sorted(method.upper() for method in operations))
    return ""


async def _on_error(request: Request, error: Exception) -> Response:
    logger.error("internal server error", request=request_id(request), exc_info=error)
    return problem(
        500,
        "Internal server error",
        "unexpected error; the server's log has the details under this request id",
        request_id(request),
    )
