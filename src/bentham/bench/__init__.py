"""Benchmarks of the product itself. They live here so that anybody can run them."""

from bentham.bench.decisions import OBSERVATIONS_PER_STUDY, bench_decisions

__all__ = ["OBSERVATIONS_PER_STUDY", "bench_decisions"]
