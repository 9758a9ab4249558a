"""Experiments that compare policies and priors, with confidence intervals."""

from bentham.experiments.regret import DEFAULT_TABLES, bench_regret
from bentham.experiments.variants import DEFAULT_VARIANTS, VARIANTS

__all__ = ["DEFAULT_TABLES", "DEFAULT_VARIANTS", "VARIANTS", "bench_regret"]
