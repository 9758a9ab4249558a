"""Regret, and the paper's bounds on it."""
