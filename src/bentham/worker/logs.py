"""The worker's log on standard error: text on a terminal, otherwise JSON lines."""

import os
import sys
from typing import TextIO

import structlog

from bentham.worker.context import Log


def make_log(stream: TextIO | None = None) -> Log:
    """Return a logger, without changing global configuration."""
    out = sys.stderr if stream is None else stream
    processors: list[structlog.typing.Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if out.isatty():
        processors[-1] = structlog.processors.TimeStamper(fmt="%H:%M:%S", utc=False)
        colors = not os.environ.get("NO_COLOR")
        processors.append(
            structlog.dev.ConsoleRenderer(colors=colors, pad_event_to=16, pad_level=False)
        )
    else:
        processors.append(structlog.processors.JSONRenderer())
    return structlog.wrap_logger(
        structlog.WriteLogger(out), processors=processors, wrapper_class=structlog.BoundLogger
    ).bind()
