"""The core: prior -> posterior -> acquisition -> policy -> decision.

No clock, no I/O, no threads, no global random state: events in, decisions out. Time enters only
as a field of an event. The core imports nothing from the simulator, the service or the CLI.
"""

from bentham.core.costs.learned import PastCosts
from bentham.core.gaussian.estimated_priors import DEFAULT_JITTER, kernel_prior, sample_prior
from bentham.core.gaussian.kernels import KERNELS
from bentham.core.gaussian.prior import JointPrior, Prior, ProductPrior, SharedPrior
from bentham.core.learning.layouts import prior_from
from bentham.core.learning.prior import LearnedPrior
from bentham.core.policies import POLICIES, Policy, PolicyMaker
from bentham.core.problem.decision import Change, Decision, DeviceName, Gain, Reason, RunnerUp
from bentham.core.problem.events import Event, event_from_dict, event_to_dict
from bentham.core.problem.study import Arm, ModelDescription, StudySpec
from bentham.core.scheduler.belief import Belief, Defaults, defaults_of
from bentham.core.scheduler.queries import Beliefs, First
from bentham.core.scheduler.replay import Difference, recover, verify
from bentham.core.scheduler.scheduler import DEFAULT_ATTEMPTS, Scheduler
from bentham.core.theory.bounds import RunBounds, bounds_of_run
from bentham.core.theory.regret import Regret, RegretMeter
from bentham.core.theory.uncertainty import (
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
    "StudySpec",
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
