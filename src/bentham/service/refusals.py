"""The errors that requests are refused with, each with its HTTP status.

What belongs to another tenant is refused with the same message as what does not exist.
"""

from bentham.errors import BenthamError


class Refusal(BenthamError):
    """A request was refused; nothing was changed."""

    status = 400
    title = "Bad request"

    def __init__(self, detail: str, errors: tuple[str, ...] = (), retry_after: float | None = None):
        super().__init__(detail)
        self.errors = errors
        self.retry_after = retry_after


class Unauthenticated(Refusal):
    """The token is missing or invalid."""

    status, title = 401, "Not authenticated"


class Forbidden(Refusal):
    """The token's role does not allow this request."""

    status, title = 403, "Not allowed"


class Missing(Refusal):
    """The entity does not exist, or belongs to another tenant."""

    status, title = 404, "Not found"


class Conflicting(Refusal):
    """The request conflicts with the current state."""

    status, title = 409, "Conflict"


class Invalid(Refusal):
    """A value in the request is invalid."""

    status, title = 422, "Invalid"


class TooMany(Refusal):
    """Too many requests at a time."""

    status, title = 429, "Too many requests"


class Unready(Refusal):
    """The server is starting, on standby or stopping, or its storage is unavailable."""

    status, title = 503, "Not available"
