"""Tokens: `bth_ID_SECRET`. The id finds it, the secret opens it, and only its hash is kept.

A secret has 256 random bits, so that a plain hash of it tells nothing; what protects passwords
against guessing would only make every request slower.
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping

from bentham.service.engine.scope import Caller
from bentham.service.fold.entities import Token
from bentham.service.refusals import Unauthenticated

_FORM = re.compile(r"bth_([0-9a-f]{12})_([0-9a-f]{64})")
NO_TOKEN = "send a token: Authorization: Bearer bth_..."
UNKNOWN = "the token is unknown, expired or revoked; ask the operator for another one"
# A hash of nothing: an unknown id costs as much as a wrong secret.
_NOBODY = Token("", "", None, "", "0" * 64, 0.0, None)


def new_token() -> tuple[str, str]:
    """A token's id, and the whole of it."""
    name = secrets.token_hex(6)
    return name, f"bth_{name}_{secrets.token_hex(32)}"


def hash_of(token: str) -> str:
    """What is kept of a token."""
    return hashlib.sha256(token.encode()).hexdigest()


def caller_of(tokens: Mapping[str, Token], token: str, now: float) -> Caller:
    """Who asks, by a token that is good now."""
    form = _FORM.fullmatch(token)
    known = tokens.get(form.group(1), _NOBODY) if form else _NOBODY
    if not hmac.compare_digest(hash_of(token), known.hash) or not known.good(now):
        raise Unauthenticated(UNKNOWN)
    return Caller(known.id, known.role, known.tenant)
