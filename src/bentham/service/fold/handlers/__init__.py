"""Handlers: how each event changes the state, grouped by entity."""
