"""The client of the live service: every call of its API, typed, with safe retries."""

from bentham.client.client import Client
from bentham.client.events import StreamedEvent

__all__ = ["Client", "StreamedEvent"]
