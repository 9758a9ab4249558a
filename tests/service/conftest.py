"""Fixtures of the tests in this directory."""

from support.inspections import in_processes
from support.service_app import memory_folder, places, service

__all__ = ["in_processes", "memory_folder", "places", "service"]
