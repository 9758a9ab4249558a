"""Fixtures of the tests in this directory."""

from support.commands import bentham
from support.service_app import service

__all__ = ["bentham", "service"]
