"""Comparisons of the paper's policy with its rivals, shared by the claims about tables."""

from bentham.reproduce.curves import IntervalEstimate, SpeedUp, regret_ratio, speed_up
from bentham.reproduce.evidence import Evidence

# The paper's round robin lets "each user run their own GP-EI". It does not say whether by EI or by
# EI per cost, so both are run.
READINGS = {"round-robin": "by EI", "round-robin-rate": "by EI per cost"}
MARGIN = 1.25  # ratios within this factor of 1 count as about equal
SUPPLY = (
    "DEEPLEARNING is not part of this project, since its licence is unknown. Supply it as a CSV "
    "file with the columns study,model,score,cost: bentham reproduce --deeplearning FILE"
)


def against(evidence: Evidence, table: str, rival: str, devices: int) -> SpeedUp:
    """Return the speed-up of the paper's policy over a rival."""
    paper = evidence.curves(table, "paper", devices)
    return speed_up(evidence.curves(table, rival, devices), paper, paper.levels())


def gain(evidence: Evidence, table: str, rival: str, devices: int) -> IntervalEstimate:
    """Return the ratio of cumulative regrets, rival / paper: above 1, the paper's is better."""
    return regret_ratio(
        evidence.curves(table, rival, devices), evidence.curves(table, "paper", devices)
    )
