"""Benchmarks of Bentham itself, part of the package so that anyone can run them."""

from bentham.bench.decisions import OBSERVATIONS_PER_STUDY, bench_decisions

__all__ = ["OBSERVATIONS_PER_STUDY", "bench_decisions"]
