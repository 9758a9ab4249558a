"""What the tests of this room are given."""

from support.canned import canned
from support.commands import bentham, small

__all__ = ["bentham", "canned", "small"]
