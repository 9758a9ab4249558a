"""What the tests of this room are given."""

from support.commands import bentham
from support.sites import site

__all__ = ["bentham", "site"]
