"""Fixtures of the tests in this directory."""

from support.commands import bentham

__all__ = ["bentham"]
