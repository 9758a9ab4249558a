"""What Bentham raises. Every message says what is wrong and what to do about it.

BenthamError
|- InvalidInput        a value was refused: nothing was changed
|  |- InvalidPrior     a mean, covariance or similarity that is no Gaussian prior
|  |- InvalidTable     a file of scores, costs or features that cannot be read
|  |- InvalidRecording a file of events that cannot be read back
|  |- InvalidSnapshot  a saved state that is damaged, hostile or made by other code
|  `- SchemaMismatch   a database that this version of Bentham cannot use as it is
|- IllegalEvent        a call that does not fit the state: an unknown study, a trial that has ended
|- StorageUnavailable  the database is gone or cannot write now: the same call may work later
|- SequenceConflict    another instance has written or leads: this one must stop leading
`- ServiceError        a server refused, or answered what was not promised
   |- NotAllowed       401, 403: the token is not good, or not good for this
   |- NotFound         404: there is no such thing, or it is somebody else's
   |- Conflict         409: too late, twice, or not in this state
   |- Refused          400, 413, 422: the request itself is wrong; nothing was changed
   `- Unavailable      no answer, or "not now" (429, 502, 503, 504), for as long as was waited
"""

from collections.abc import Mapping
from typing import Any

__all__ = [
    "BenthamError",
    "Conflict",
    "IllegalEvent",
    "InvalidInput",
    "InvalidPrior",
    "InvalidRecording",
    "InvalidSnapshot",
    "InvalidTable",
    "NotAllowed",
    "NotFound",
    "Refused",
    "SchemaMismatch",
    "SequenceConflict",
    "ServiceError",
    "StorageUnavailable",
    "Unavailable",
]


class BenthamError(Exception):
    """Anything that Bentham refuses to do; its text is meant for the person who asked."""


class InvalidInput(BenthamError, ValueError):
    """A value that cannot be used."""


class InvalidPrior(InvalidInput):
    """A prior that is not a Gaussian: wrong shape, not symmetric, not PSD, not finite."""


class InvalidTable(InvalidInput):
    """A table that cannot be read: the text names file, row and remedy."""


class InvalidRecording(InvalidInput):
    """A recording of events that cannot be read back."""


class InvalidSnapshot(InvalidInput):
    """A snapshot that cannot be used, or something that none can be made of: replay the log."""


class IllegalEvent(BenthamError):
    """An event that the current state does not allow."""


class SchemaMismatch(InvalidInput):
    """A database that is not migrated, newer than this Bentham, or not Bentham's at all."""


class StorageUnavailable(BenthamError):
    """The database is gone, full, locked or cut off: retry later, the outcome is unknown."""


class SequenceConflict(BenthamError):
    """The log is not where the writer believed: another instance has written, or leads."""


class ForecastFailed(BenthamError):
    """A forecast could not be computed."""


class ServiceError(BenthamError):
    """A server's refusal, or an answer that was not what was promised.

    `status` is that of HTTP (None: no answer), `problem` the body that explained it, if one did.
    """

    def __init__(
        self, message: str, status: int | None = None, problem: Mapping[str, Any] | None = None
    ):
        super().__init__(message)
        self.status = status
        self.problem = problem


class NotAllowed(ServiceError):
    """The token is unknown, expired, revoked, or of a role that may not do this."""


class NotFound(ServiceError):
    """There is no such thing, or it belongs to somebody else."""


class Conflict(ServiceError):
    """It is too late for this, it was done before, or the state does not allow it."""


class Refused(ServiceError):
    """The request is wrong in itself: nothing was changed, and a repeat will not help."""


class Unavailable(ServiceError):
    """The server gave no answer, or asked to come back later, for as long as was waited.

    `retry_after` is in how many seconds it asked to be tried again, if it did.
    """

    def __init__(
        self,
        message: str,
        status: int | None = None,
        problem: Mapping[str, Any] | None = None,
        retry_after: float | None = None,
    ):
        super().__init__(message, status, problem)
        self.retry_after = retry_after
