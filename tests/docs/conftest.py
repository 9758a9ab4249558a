"""Fixtures of the tests in this directory."""

from support.commands import bentham
from support.service_app import service
from support.sites import site

__all__ = ["bentham", "service", "site"]
