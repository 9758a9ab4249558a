"""Forecasts of mean regret with more or fewer devices, simulated from the current posterior.

A layer above the core and the service: it reads the pool and never changes it.
"""

from bentham.forecast.forecast import forecast

__all__ = ["forecast"]
