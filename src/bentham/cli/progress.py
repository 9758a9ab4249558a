"""A progress bar on standard error, where somebody looks at it."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


class Bar:
    """Counts up to a total; cheap to call for every step."""

    def __init__(self, progress: Progress, total: int):
        self._progress = progress
        self._task = progress.add_task("", total=total)
        self._done = 0
        self._total = total
        self._stride = max(1, total // 500)

    def expect(self, total: int) -> None:
        """There are so many steps, it turns out."""
        self._total, self._stride = total, max(1, total // 500)
        self._progress.update(self._task, total=total)

    def step(self, text: str) -> None:
        """Count one on, and say what it was."""
        self.describe(text)
        self.advance()

    def describe(self, text: str) -> None:
        """Say what is being done."""
        self._progress.update(self._task, description=text)

    def advance(self, step: int = 1) -> None:
        """Count on; the screen follows every so often."""
        # Trials that were lost are run again: more steps than were planned.
        self._done = min(self._done + step, self._total)
        if self._done % self._stride == 0:
            self._progress.update(self._task, completed=self._done)

    def advance_to(self, done: int) -> None:
        """So much is done in all."""
        self._done = min(done, self._total)
        self._progress.update(self._task, completed=self._done)


@contextmanager
def progress_bar(total: int) -> Iterator[Bar]:
    """A bar that vanishes when done; nothing at all when standard error is not a terminal."""
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
