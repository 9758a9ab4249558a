"""Fixtures of the tests in this directory."""

from support.commands import bentham, small

__all__ = ["bentham", "small"]
