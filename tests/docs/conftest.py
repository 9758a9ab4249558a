"""Fixtures of the tests in this directory."""

from support.commands import bentham
from support.sites import site

__all__ = ["bentham", "site"]
