"""Fixtures of the tests in this directory."""

from support.boards import board
from support.browsers import chromium, page, visits
from support.commands import bentham
from support.sites import site

__all__ = ["bentham", "board", "chromium", "page", "site", "visits"]
