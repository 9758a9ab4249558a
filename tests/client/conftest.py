"""What the tests of this room are given."""

from support.service_app import service

__all__ = ["service"]
