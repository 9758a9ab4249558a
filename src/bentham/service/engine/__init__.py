"""The engine: handles requests in batches, commits their events, then replies."""
