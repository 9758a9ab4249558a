"""The engine: takes requests in batches, commits what they changed, then answers."""
