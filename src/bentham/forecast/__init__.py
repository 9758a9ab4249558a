"""What if there were more devices, or fewer: simulated from what is believed now.

A layer above the core and the service: it reads the pool, and never changes it.
"""

from bentham.forecast.forecast import Question, forecast

__all__ = ["Question", "forecast"]
