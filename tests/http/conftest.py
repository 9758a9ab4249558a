"""Fixtures of the tests in this directory."""

from support.service_app import memory_folder, places, service

__all__ = ["memory_folder", "places", "service"]
