"""Fixtures of the tests in this directory."""

from support.commands import bentham
from support.storage_contract import store

__all__ = ["bentham", "store"]
