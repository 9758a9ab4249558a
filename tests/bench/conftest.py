"""What the tests of this room are given."""

from support.commands import bentham

__all__ = ["bentham"]
