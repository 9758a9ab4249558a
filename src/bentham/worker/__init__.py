"""The worker: drives devices, which lease trials from the server, run them and report."""

from bentham.worker.worker import Worker

__all__ = ["Worker"]
