"""The server's log on standard error: text for people or JSON for programs; never a token."""

import logging
import os
import re
import sys
from collections.abc import MutableMapping
from typing import Any, TextIO

import structlog

from bentham.errors import InvalidInput
from bentham.wording import choose

LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}
FORMATS = ("auto", "text", "json")
_TOKEN = re.compile(r"bth_[0-9A-Za-z]+_[0-9A-Za-z]+")
_PASSWORD = re.compile(r"(://[^/@\s:]+:)[^@\s]+@")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")

Fields = MutableMapping[str, Any]


def without_secrets(_: Any, __: str, event: Fields) -> Fields:
    """Mask tokens and passwords, in case any code logs one by mistake."""
    for name, value in event.items():
        if isinstance(value, str):
            event[name] = _PASSWORD.sub(r"\1***@", _TOKEN.sub("bth_***", value))
    return event


def without_control_characters(_: Any, __: str, event: Fields) -> Fields:
    """Escape characters that could move a terminal's cursor or forge a line.

    Clients choose paths and names. A traceback keeps its line breaks.
    """
    for name, value in event.items():
        if isinstance(value, str):
            parts = value.split("\n") if name == "exception" else [value]
            event[name] = "\n".join(_CONTROL.sub(_escaped, part) for part in parts)
    return event


def configure_logs(level: str = "info", log_format: str = "auto") -> None:
    """Send all logs, those of libraries included, to standard error in one format.

    `auto` is text on a terminal and JSON elsewhere.
    """
    if level not in LEVELS:
        raise InvalidInput(f"the log level is {level!r}; {choose(level, LEVELS)}")
    if log_format not in FORMATS:
        raise InvalidInput(f"the log format is {log_format!r}; {choose(log_format, FORMATS)}")
    as_text = sys.stderr.isatty() if log_format == "auto" else log_format == "text"
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        *(_TEXT_FIELDS if as_text else _JSON_FIELDS),
    ]
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
                # Before secrets are masked, and as a plain traceback: structlog's traceback for
                # terminals would show local variables, such as tokens and cookies.
                structlog.processors.format_exc_info,
                without_secrets,
                *(_text_renderers(sys.stderr) if as_text else _JSON_RENDERERS),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(LEVELS[level])
    for name in ("alembic", "sqlalchemy", "uvicorn.error"):
        logging.getLogger(name).setLevel(max(LEVELS[level], logging.WARNING))


def use_colors(stream: TextIO) -> bool:
    """Return whether to use colours: only on a terminal, and not with NO_COLOR (no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR")


_TEXT_FIELDS: tuple[Any, ...] = (
    structlog.processors.TimeStamper(fmt="%Y-%m-%d %H:%M:%S", utc=False),
)
_JSON_FIELDS: tuple[Any, ...] = (
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
)
_JSON_RENDERERS: tuple[Any, ...] = (structlog.processors.JSONRenderer(),)


def _text_renderers(stream: TextIO) -> tuple[Any, ...]:
    return (
        without_control_characters,
        structlog.dev.ConsoleRenderer(
            colors=use_colors(stream),
            sort_keys=False,
            pad_event_to=0,
            exception_formatter=structlog.dev.plain_traceback,
        ),
    )


def _escaped(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")
