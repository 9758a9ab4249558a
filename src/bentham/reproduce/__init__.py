"""`bentham reproduce`: repeat the paper's evaluation and check its claims against the results."""

from bentham.reproduce.claims import Claim, Verdict
from bentham.reproduce.plan import FULL, QUICK, Scale
from bentham.reproduce.reproduction import Reproduction, reproduce

__all__ = ["FULL", "QUICK", "Claim", "Reproduction", "Scale", "Verdict", "reproduce"]
