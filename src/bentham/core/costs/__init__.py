"""Costs: what trials are expected to take, learned from those that ended."""
