"""Resource limits of one trial, for all of its processes together."""

from dataclasses import dataclass
from math import isfinite

from bentham.errors import InvalidInput

MIB = 2**20


@dataclass(frozen=True, slots=True)
class TrialLimits:
    """Memory and files in bytes, times in seconds; a trial that exceeds a limit is killed."""

    memory: int = 2048 * MIB
    cpu_seconds: float = 3600.0
    wall_seconds: float = 7200.0
    processes: int = 64
    file_bytes: int = 2048 * MIB  # size of the largest file that it may write

    def __post_init__(self) -> None:
        if self.memory < 16 * MIB:
            raise InvalidInput(
                f"the memory limit of a trial is {self.memory:,} bytes, too small for any trial; "
                "give at least 16 MiB, for example --memory 2G"
            )
        for name in ("cpu_seconds", "wall_seconds", "processes", "file_bytes"):
            value = getattr(self, name)
            if not (isfinite(value) and value > 0):
                raise InvalidInput(f"the limit {name} is {value}; give a number above zero")
