"""Logs: lines of JSON on standard error, readable ones on a terminal; never a token in them."""

import logging
import re
import sys
from collections.abc import MutableMapping
from typing import Any

import structlog

from bentham.errors import InvalidInput

LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}
_TOKEN = re.compile(r"bth_[0-9A-Za-z]+_[0-9A-Za-z]+")
_PASSWORD = re.compile(r"(://[^/@\s:]+:)[^@\s]+@")


def without_secrets(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Nothing here logs a secret; if anything ever does, it stops here."""
    for name, value in event.items():
        if isinstance(value, str):
            event[name] = _PASSWORD.sub(r"\1***@", _TOKEN.sub("bth_***", value))
    return event


def configure_logs(level: str = "info") -> None:
    """Send everything through one place, the libraries' own logs, too."""
    if level not in LEVELS:
        raise InvalidInput(f"the log level is {level!r}; choose one of {', '.join(LEVELS)}")
    terminal = sys.stderr.isatty()
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    renderer: Any = (
        structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
        if terminal
        else structlog.processors.JSONRenderer()
    )
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                # Before secrets are looked for, and as a plain traceback: a terminal's own would
                # show the variables, and among them tokens and cookies.
                structlog.processors.format_exc_info,
                without_secrets,
                renderer,
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(LEVELS[level])
    for name in ("alembic", "sqlalchemy", "uvicorn.error"):
        logging.getLogger(name).setLevel(max(LEVELS[level], logging.WARNING))
