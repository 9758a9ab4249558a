"""What the tests of this room are given."""

from support.commands import bentham
from support.service_app import service

__all__ = ["bentham", "service"]
