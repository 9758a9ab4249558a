"""Fixtures of the tests in this directory."""

from support.canned import canned
from support.commands import bentham, small

__all__ = ["bentham", "canned", "small"]
