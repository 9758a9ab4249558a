"""Fixtures of the tests in this directory."""

from support.service_app import service

__all__ = ["service"]
