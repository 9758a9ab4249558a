"""Bentham shares a pool of devices among many model-selection studies.

Scheduler                               ask which arm to run on a free device, tell its score
LearnedPrior                            a prior over scores that is learned; the default
ModelDescription                        family and features of a model, to relate similar models
SharedPrior, ProductPrior, JointPrior   fixed Gaussian priors over scores, in three layouts
sample_prior, kernel_prior              priors estimated from past studies
Client                                  HTTP client of the live service
"""

__version__ = "0.1.0"

from importlib import import_module
from typing import TYPE_CHECKING, Any

from bentham.errors import BenthamError

if TYPE_CHECKING:
    from bentham.client import Client
    from bentham.core import (
        Decision,
        JointPrior,
        LearnedPrior,
        ModelDescription,
        ProductPrior,
        Scheduler,
        SharedPrior,
        kernel_prior,
        sample_prior,
    )

__all__ = [
    "BenthamError",
    "Client",
    "Decision",
    "JointPrior",
    "LearnedPrior",
    "ModelDescription",
    "ProductPrior",
    "Scheduler",
    "SharedPrior",
    "__version__",
    "kernel_prior",
    "sample_prior",
]


def __getattr__(name: str) -> Any:
    """Import on first use: the client does not load the numerics, nor the scheduler the client."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("bentham.client" if name == "Client" else "bentham.core"), name)
