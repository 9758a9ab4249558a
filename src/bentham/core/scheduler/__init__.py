"""The scheduler: events in, decisions out."""
