"""Bentham shares a pool of devices among many model-selection studies.

Scheduler                               ask what to run on a free device, tell what came of it
LearnedPrior                            what is believed of scores, learned: the default
SharedPrior, ProductPrior, JointPrior   what is believed of scores: three layouts of a Gaussian
sample_prior, kernel_prior              priors estimated from past studies
"""

__version__ = "0.1.0"

from bentham.core import (
    Decision,
    JointPrior,
    LearnedPrior,
    ProductPrior,
    Scheduler,
    SharedPrior,
    kernel_prior,
    sample_prior,
)
from bentham.errors import BenthamError

__all__ = [
    "BenthamError",
    "Decision",
    "JointPrior",
    "LearnedPrior",
    "ProductPrior",
    "Scheduler",
    "SharedPrior",
    "__version__",
    "kernel_prior",
    "sample_prior",
]
