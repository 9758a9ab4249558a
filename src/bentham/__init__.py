"""Bentham shares a pool of devices among many model-selection studies."""

__version__ = "0.1.0"
