"""What the tests of this room are given."""

from support.commands import bentham, small

__all__ = ["bentham", "small"]
