"""The first admin token of a pool, written to a file that only its owner can read."""

import os
from pathlib import Path

import structlog

from bentham.service.engine.scope import hash_of, new_token
from bentham.service.fold.events import TokenIssued

logger = structlog.get_logger("bentham.admin")


def write_admin_token(path: Path) -> TokenIssued:
    """Create an admin token, write it to a file of mode 0600, and return its event."""
    name, token = new_token()
    partial = path.with_name(path.name + ".partial")
    partial.unlink(missing_ok=True)
    handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(token + "\n")
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)
    logger.info("wrote an admin token", file=str(path))
    return TokenIssued(name, "admin", None, "created at server start", hash_of(token), None)
