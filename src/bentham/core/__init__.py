"""The core: prior -> posterior -> acquisition -> policy -> decision.

No clock, no I/O, no threads, no global random state: events in, decisions out. Time enters only
as a field of an event. Imports point inwards; nothing here knows of simulator, service or CLI.
"""

from bentham.core.belief import Belief, Defaults, defaults_of
from bentham.core.bounds import RunBounds, bounds_of_run
from bentham.core.costs import PastCosts
from bentham.core.decision import Change, Decision, DeviceName, Gain, Reason, RunnerUp
from bentham.core.events import Event, event_from_dict, event_to_dict
from bentham.core.kernels import KERNELS
from bentham.core.layouts import prior_from
from bentham.core.learning.prior import LearnedPrior
from bentham.core.looks import Beliefs, First
from bentham.core.policies import POLICIES, Policy, PolicyMaker
from bentham.core.prior import JointPrior, Prior, ProductPrior, SharedPrior
from bentham.core.problem import Arm, ModelDescription, Study
from bentham.core.regret import Regret, RegretMeter
from bentham.core.replay import Difference, recover, verify
from bentham.core.scheduler import DEFAULT_ATTEMPTS, Scheduler
from bentham.core.sources import DEFAULT_JITTER, kernel_prior, sample_prior
from bentham.core.theory import (
    Bounds,
    miu_scores,
    miu_scores_of_blocks,
    miu_total,
    top_diagonal_bound,
)

__all__ = [
    "DEFAULT_ATTEMPTS",
    "DEFAULT_JITTER",
    "KERNELS",
    "POLICIES",
    "Arm",
    "Belief",
    "Beliefs",
    "Bounds",
    "Change",
    "Decision",
    "Defaults",
    "DeviceName",
    "Difference",
    "Event",
    "First",
    "Gain",
    "JointPrior",
    "LearnedPrior",
    "ModelDescription",
    "PastCosts",
    "Policy",
    "PolicyMaker",
    "Prior",
    "ProductPrior",
    "Reason",
    "Regret",
    "RegretMeter",
    "RunBounds",
    "RunnerUp",
    "Scheduler",
    "SharedPrior",
    "Study",
    "bounds_of_run",
    "defaults_of",
    "event_from_dict",
    "event_to_dict",
    "kernel_prior",
    "miu_scores",
    "miu_scores_of_blocks",
    "miu_total",
    "prior_from",
    "recover",
    "sample_prior",
    "top_diagonal_bound",
    "verify",
]
