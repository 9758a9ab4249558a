"""The paper's policy beside its rivals, and what the claims on tables have in common."""

from bentham.reproduce.curves import IntervalEstimate, SpeedUp, regret_ratio, speed_up
from bentham.reproduce.evidence import Evidence

# The paper's round robin lets "each user run their own GP-EI"; whether by EI or by EI per cost it
# does not say. Both are run.
READINGS = {"round-robin": "by EI", "round-robin-rate": "by EI per cost"}
MARGIN = 1.25  # within this factor either way: about equal
SUPPLY = (
    "DEEPLEARNING is not part of this project, since its licence is unknown. Supply it as a CSV "
    "file with the columns study,model,score,cost: bentham reproduce --deeplearning FILE"
)


def against(evidence: Evidence, table: str, rival: str, devices: int) -> SpeedUp:
    """How much faster the paper's policy is than a rival."""
    paper = evidence.curves(table, "paper", devices)
    return speed_up(evidence.curves(table, rival, devices), paper, paper.levels())


def gain(evidence: Evidence, table: str, rival: str, devices: int) -> IntervalEstimate:
    """The rival's cumulative regret over that of the paper's policy: above 1, the paper gains."""
    return regret_ratio(
        evidence.curves(table, rival, devices), evidence.curves(table, "paper", devices)
    )
