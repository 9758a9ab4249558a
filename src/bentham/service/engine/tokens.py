"""Tokens: `bth_ID_SECRET`. The id identifies a token, the secret proves it; only a hash is stored.

A secret has 256 random bits, so a plain hash does not reveal it. A slow password hash would only
make every request slower.
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
# No token has this hash. With it, an unknown id takes as long to refuse as a wrong secret.
_NOBODY = Token("", "", None, "", "0" * 64, 0.0, None)


def new_token() -> tuple[str, str]:
    """Return the id of a new token, and the whole token."""
    name = secrets.token_hex(6)
    return name, f"bth_{name}_{secrets.token_hex(32)}"


def hash_of(token: str) -> str:
    """Return the hash of a token, which is stored."""
    return hashlib.sha256(token.encode()).hexdigest()


def caller_of(tokens: Mapping[str, Token], token: str, now: float) -> Caller:
    """Return the caller of a token; refuse a token that is not valid now."""
    form = _FORM.fullmatch(token)
    known = tokens.get(form.group(1), _NOBODY) if form else _NOBODY
    if not hmac.compare_digest(hash_of(token), known.hash) or not known.good(now):
        raise Unauthenticated(UNKNOWN)
    return Caller(known.id, known.role, known.tenant)
