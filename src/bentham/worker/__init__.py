"""The worker: drives devices, which ask the server what to run, run it and report."""

from bentham.worker.worker import Worker

__all__ = ["Worker"]
