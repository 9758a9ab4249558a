"""Policies by name."""

from collections.abc import Callable

from bentham.core.policies.base import Option, Policy, rank_within
from bentham.core.policies.gp_ucb import GpUcb
from bentham.core.policies.highest_rate import HighestRate
from bentham.core.policies.independent import RandomStudy, RoundRobin
from bentham.core.policies.joint import Joint
from bentham.core.policies.mdmt import Mdmt
from bentham.errors import InvalidInput

__all__ = [
    "POLICIES",
    "HighestRate",
    "Option",
    "Policy",
    "PolicyMaker",
    "RoundRobin",
    "make_policy",
    "rank_within",
]

# Makes a policy from the seed. A policy caches results, so every scheduler needs its own.
PolicyMaker = Callable[[int], Policy]

POLICIES: dict[str, PolicyMaker] = {
    "joint": lambda seed: Joint(),  # noqa: ARG005
    "mdmt": lambda seed: Mdmt(),  # noqa: ARG005
    "round-robin": lambda seed: RoundRobin(),  # noqa: ARG005
    "random": RandomStudy,
    "gp-ucb": lambda seed: GpUcb(),  # noqa: ARG005
}


def make_policy(name: str, seed: int) -> Policy:
    """Return a new policy by its name."""
    if name not in POLICIES:
        raise InvalidInput(f"unknown policy {name!r}; choose one of {', '.join(POLICIES)}")
    return POLICIES[name](seed)
