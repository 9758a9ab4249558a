"""The simulator: drives the core in virtual time. It never imports the service."""

from bentham.core import POLICIES
from bentham.sim.oracle import Oracle
from bentham.sim.recording import Recording, read_recording, write_recording
from bentham.sim.simulator import ORACLE, Disturbances, Run, SimulatedTrial, simulate

# Policies that can be compared: those of the core, and the oracle.
POLICY_NAMES = (*POLICIES, ORACLE)

__all__ = [
    "ORACLE",
    "POLICY_NAMES",
    "Disturbances",
    "Oracle",
    "Recording",
    "Run",
    "SimulatedTrial",
    "read_recording",
    "simulate",
    "write_recording",
]
