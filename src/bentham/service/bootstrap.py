"""The first token, which opens a new pool: written where only its owner can read it."""

import os
from pathlib import Path

import structlog

from bentham.service.engine.tokens import hash_of, new_token
from bentham.service.fold.events import TokenIssued

logger = structlog.get_logger("bentham.admin")


def write_admin_token(path: Path) -> TokenIssued:
    """Make an admin's token, write it to a file of mode 0600, and return its event."""
    name, token = new_token()
    partial = path.with_name(path.name + ".partial")
    partial.unlink(missing_ok=True)
    handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(token + "\n")
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)
    logger.info("wrote the token of the first admin", file=str(path))
    return TokenIssued(name, "admin", None, "made at the first start", hash_of(token), None)
