"""The exceptions that Bentham raises. Every message says what is wrong and what to do about it.

BenthamError
|- InvalidInput        a value was refused: nothing was changed
|  |- InvalidPrior     a mean, covariance or similarity that is not a Gaussian prior
|  |- InvalidTable     a file of scores, costs or features that cannot be read
|  |- InvalidRecording a file of events that cannot be read
|  |- InvalidSnapshot  a saved state that is damaged, malicious or from another version
|  `- SchemaMismatch   a database whose schema this version of Bentham cannot use
|- IllegalEvent        a call that the state does not allow: unknown study, trial already ended
|- StorageUnavailable  the database is unreachable or cannot write: retry later
|- SequenceConflict    another instance has written or leads: this one must stop leading
|- ForecastFailed      a forecast could not be computed
`- ServiceError        the server refused the request, or sent an unexpected response
   |- NotAllowed       401, 403: the token is invalid, or its role may not do this
   |- NotFound         404: it does not exist, or it belongs to another tenant
   |- Conflict         409: too late, a duplicate, or not allowed in this state
   |- Refused          400, 413, 422: the request itself is invalid; nothing was changed
   `- Unavailable      no response, or "retry later" (429, 502, 503, 504), until the timeout
"""

from collections.abc import Mapping
from typing import Any

__all__ = [
    "BenthamError",
    "Conflict",
    "ForecastFailed",
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
    """Base class of all errors that Bentham raises; the message is meant for the user."""


class InvalidInput(BenthamError, ValueError):
    """A value that cannot be used."""


class InvalidPrior(InvalidInput):
    """A prior that is not a Gaussian: wrong shape, not symmetric, not PSD, not finite."""


class InvalidTable(InvalidInput):
    """A table that cannot be read; the message names file, row and remedy."""


class InvalidRecording(InvalidInput):
    """A recording of events that cannot be read."""


class InvalidSnapshot(InvalidInput):
    """A snapshot that cannot be used, or a state that cannot be saved as one: replay the log."""


class IllegalEvent(BenthamError):
    """An event that the current state does not allow."""


class SchemaMismatch(InvalidInput):
    """A database that is not migrated, is newer than this version, or is not Bentham's."""


class StorageUnavailable(BenthamError):
    """The database is unreachable, full or locked: retry later; the outcome is unknown."""


class SequenceConflict(BenthamError):
    """The log's head is not what the writer expected: another instance has written, or leads."""


class ForecastFailed(BenthamError):
    """A forecast could not be computed."""


class ServiceError(BenthamError):
    """The server refused the request, or sent an unexpected response.

    `status` is the HTTP status (None: no response), `problem` the JSON body that explains it, if
    any.
    """

    def __init__(
        self, message: str, status: int | None = None, problem: Mapping[str, Any] | None = None
    ):
        super().__init__(message)
        self.status = status
        self.problem = problem


class NotAllowed(ServiceError):
    """The token is unknown, expired or revoked, or its role may not do this."""


class NotFound(ServiceError):
    """The requested object does not exist, or it belongs to another tenant."""


class Conflict(ServiceError):
    """Too late, already done, or not allowed in the current state."""


class Refused(ServiceError):
    """The request itself is invalid: nothing was changed, and a retry will not help."""


class Unavailable(ServiceError):
    """The server did not respond, or asked to retry later, until the timeout.

    `retry_after` is the number of seconds after which the server asked to retry, if it did.
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
