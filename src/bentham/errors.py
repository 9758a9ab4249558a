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
`- SequenceConflict    another instance has written or leads: this one must stop leading
"""

__all__ = [
    "BenthamError",
    "IllegalEvent",
    "InvalidInput",
    "InvalidPrior",
    "InvalidRecording",
    "InvalidSnapshot",
    "InvalidTable",
    "SchemaMismatch",
    "SequenceConflict",
    "StorageUnavailable",
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
