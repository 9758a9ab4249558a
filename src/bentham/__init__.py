"""Bentham shares a pool of devices among many model-selection studies.

Scheduler                               ask what to run on a free device, tell what came of it
LearnedPrior                            what is believed of scores, learned: the default
ModelDescription                        which models are alike: what is learned of one helps others
SharedPrior, ProductPrior, JointPrior   what is believed of scores: three layouts of a Gaussian
sample_prior, kernel_prior              priors estimated from past studies
Client                                  speaks to the live service
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
    """Everything on first use: who only asks a server does not load numerics, nor the other way."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("bentham.client" if name == "Client" else "bentham.core"), name)
