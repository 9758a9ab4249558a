"""What the tests of this room are given."""

from support.service_app import memory_folder, places, service

__all__ = ["memory_folder", "places", "service"]
