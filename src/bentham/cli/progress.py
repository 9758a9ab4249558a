"""A progress bar on standard error, shown only on a terminal."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


class Bar:
    """Counts up to a total; cheap enough to call for every step."""

    def __init__(self, progress: Progress, total: int):
        self._progress = progress
        self._task = progress.add_task("", total=total)
        self._done = 0
        self._total = total
        self._stride = max(1, total // 500)

    def expect(self, total: int) -> None:
        """Set the total number of steps."""
        self._total, self._stride = total, max(1, total // 500)
        self._progress.update(self._task, total=total)

    def step(self, text: str) -> None:
        """Count one step and show its description."""
        self.describe(text)
        self.advance()

    def describe(self, text: str) -> None:
        """Show a description of the current step."""
        self._progress.update(self._task, description=text)

    def advance(self, step: int = 1) -> None:
        """Count steps; the screen is updated less often."""
        # Lost trials run again, so there may be more steps than planned.
        self._done = min(self._done + step, self._total)
        if self._done % self._stride == 0:
            self._progress.update(self._task, completed=self._done)

    def advance_to(self, done: int) -> None:
        """Set the number of steps done."""
        self._done = min(done, self._total)
        self._progress.update(self._task, completed=self._done)


@contextmanager
def progress_bar(total: int) -> Iterator[Bar]:
    """Show a bar until the block ends; show nothing if standard error is not a terminal."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    with Progress(
        *columns, console=console, transient=True, disable=not sys.stderr.isatty()
    ) as progress:
        yield Bar(progress, total)
