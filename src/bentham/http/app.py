"""The app: routes, problems and the gate around the engine."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from bentham import __version__
from bentham.errors import BenthamError
from bentham.http import (
    pages,
    routes_admin,
    routes_datasets,
    routes_devices,
    routes_overview,
    routes_session,
    routes_studies,
    routes_whatif,
    stream,
)
from bentham.http.answers import answered, problem, refused
from bentham.http.context import Context, context_of, look, request_id
from bentham.http.documents import describe
from bentham.http.gate import Bounds, Gate
from bentham.http.metrics import Metrics
from bentham.http.sessions import Sessions
from bentham.service.engine import Engine
from bentham.service.refusals import Refusal
from bentham.service.whatifs import Forecaster
from bentham.storage import Files
from bentham.training.catalog import Catalog
from bentham.wire.base import complaints

logger = structlog.get_logger("bentham.http")
SETTLE_SECONDS = 0.5


def create_app(
    engine: Engine,
    metrics: Metrics,
    files: Files,
    catalog: Catalog,
    bounds: Bounds | None = None,
    secure_cookies: bool = False,
    forecaster: Forecaster | None = None,
) -> FastAPI:
    """An app around an engine, which lives as long as the app does.

    `forecaster` answers what-ifs; without one they are refused.
    """
    sessions = Sessions(engine.clock, secure_cookies)

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        engine.start()
        settling = asyncio.create_task(_settle(app.state.context))
        yield
        settling.cancel()
        await app.state.context.whatifs.close()
        await engine.stop()
        files.close()
        app.state.context.replays.close()

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
    app.state.context = Context(engine, metrics, files, catalog, sessions, forecaster)
    routes = (
        routes_devices, routes_studies, routes_overview, routes_datasets, routes_admin,
        routes_session, routes_whatif, stream,
    )  # fmt: skip
    for module in routes:
        # As they are: to include a router makes all its routes again, at the first request.
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
        Gate, bounds=bounds or Bounds(), metrics=metrics, engine=engine, sessions=sessions
    )
    describe(app)
    return app


async def _settle(context: Context) -> None:
    """Clear up once, when this instance leads."""
    while not context.engine.ready:
        await asyncio.sleep(SETTLE_SECONDS)
    try:
        await context.intake.reconcile(context.engine.ledger.pool)
    except (Refusal, BenthamError) as error:  # the next start will
        logger.warning("left-over contents stay for now", reason=str(error))


async def healthz() -> Response:
    """The process lives."""
    return answered({"status": "alive"})


async def readyz(request: Request) -> Response:
    """Whether this instance serves, and how far it is while it reads its log."""
    engine = context_of(request).engine
    body: dict[str, object] = {"status": engine.phase}
    if engine.phase == "replaying":
        body["replayed"], body["events"] = engine.progress
    return answered(body, 200 if engine.ready else 503)


async def show_metrics(request: Request) -> Response:
    """What Prometheus reads, with an operator's token: numbers tell a tenant of others."""
    context = context_of(request)
    metrics, engine, estimates = context.metrics, context.engine, context.estimates
    page = await look(request, lambda *_: metrics.page(engine, estimates), "admin", "device")
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
        "the request cannot be used as it is; see errors, and the API at /v1/openapi.json",
        request_id(request),
        tuple(errors),
    )


async def _on_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    texts = {
        404: "there is nothing at this address; see /v1/openapi.json",
        405: "this address does not take that method; see /v1/openapi.json",
    }
    detail = texts.get(error.status_code, str(error.detail))
    title = "Not found" if error.status_code == 404 else "Bad request"
    headers = dict(error.headers or {})
    if error.status_code == 405:
        headers["Allow"] = _allowed(request) or headers.get("Allow", "GET")
    return problem(error.status_code, title, detail, request_id(request), headers=headers)


def _allowed(request: Request) -> str:
    """The methods of an address; a route knows its own only."""
    for template, operations in request.app.openapi()["paths"].items():
        if re.fullmatch(re.sub(r"\{[^}]*\}", "[^/]+", template), request.url.path):
            return ", ".join(sorted(method.upper() for method in operations))
    return ""


async def _on_error(request: Request, error: Exception) -> Response:
    logger.error("an error of ours", request=request_id(request), exc_info=error)
    return problem(
        500,
        "An error of ours",
        "this should not happen; the server's log has the details under this request's id",
        request_id(request),
    )
