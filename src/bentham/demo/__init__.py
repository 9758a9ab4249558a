"""The demo: a real service, real training, and a comparison with round robin."""

from bentham.demo.demo import Demo, run_demo

__all__ = ["Demo", "run_demo"]
