"""What the service refuses, with the status that HTTP has for it.

Whatever is not yours is refused in the same words as what does not exist.
"""

from bentham.errors import BenthamError


class Refusal(BenthamError):
    """A request that is not carried out; nothing was changed."""

    status = 400
    title = "Bad request"

    def __init__(self, detail: str, errors: tuple[str, ...] = (), retry_after: float | None = None):
        super().__init__(detail)
        self.errors = errors
        self.retry_after = retry_after


class Unauthenticated(Refusal):
    """No token, or one that is good for nothing."""

    status, title = 401, "Not authenticated"


class Forbidden(Refusal):
    """The token's role does not allow this, whatever it is asked for."""

    status, title = 403, "Not allowed"


class Missing(Refusal):
    """There is no such thing, or none of yours."""

    status, title = 404, "Not found"


class Conflicting(Refusal):
    """It does not fit the state of things."""

    status, title = 409, "Conflict"


class Invalid(Refusal):
    """A value that cannot be used."""

    status, title = 422, "Invalid"


class TooMany(Refusal):
    """More requests than a token may make."""

    status, title = 429, "Too many requests"


class Unready(Refusal):
    """Not now: the server starts, stands by, stops, or its storage is gone."""

    status, title = 503, "Not available"
