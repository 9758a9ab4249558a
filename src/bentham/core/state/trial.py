"""A trial that runs."""

from dataclasses import dataclass

from bentham.core.problem.decision import DeviceName
from bentham.core.state.blocks import Block
from bentham.core.state.study_state import StudyState
from bentham.core.state.warm_start import Pick


@dataclass(frozen=True, slots=True)
class Trial:
    """One run of an arm on a device."""

    number: int
    device: DeviceName
    dataset: str
    block: Block
    column: int
    planned: tuple[Pick, StudyState] | None
