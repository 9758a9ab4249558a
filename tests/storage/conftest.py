"""What the tests of this room are given."""

from support.commands import bentham
from support.storage_contract import store

__all__ = ["bentham", "store"]
