"""Regret, and the bounds that the paper proves for it."""
