"""A running trial."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from bentham.core.problem.decision import DeviceName
from bentham.core.state.blocks import Block
from bentham.core.state.study_state import StudyState
from bentham.core.state.warm_start import Pick


@dataclass(frozen=True, slots=True)
class ActiveTrial:
    """One run of an arm on a device."""

    number: int
    device: DeviceName
    dataset: str
    block: Block
    column: int
    planned: tuple[Pick, StudyState] | None

    def copy(self, block: Block, studies: Mapping[int, StudyState]) -> "ActiveTrial":
        """Return the same trial over copies of its block and of the studies, by order."""
        planned = None
        if self.planned is not None and self.planned[1].order in studies:
            planned = self.planned[0], studies[self.planned[1].order]
        return replace(self, block=block, planned=planned)
