"""`bentham reproduce`: the paper's evaluation made again, and its claims judged by the numbers."""

from bentham.reproduce.claims import Claim, Verdict
from bentham.reproduce.plan import FULL, QUICK, Scale
from bentham.reproduce.reproduction import Reproduction, reproduce

__all__ = ["FULL", "QUICK", "Claim", "Reproduction", "Scale", "Verdict", "reproduce"]
