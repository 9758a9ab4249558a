"""The demo: a real service, real training, and what round robin would have done with it."""

from bentham.demo.demo import Demo, run_demo

__all__ = ["Demo", "run_demo"]
