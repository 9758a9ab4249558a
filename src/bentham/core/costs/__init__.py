"""Costs: expected durations of trials, learned from completed trials."""
