"""Runs tasks in parallel processes and yields each result as soon as it is ready."""

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from multiprocessing import active_children, get_context, parent_process
from threading import Thread
from typing import TypeVar

from bentham.errors import BenthamError

Task = TypeVar("Task")
Result = TypeVar("Result")

# One thread per process: more would compete for the cores and change the order of sums.
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Block SIGINT: a process that is interrupted while it imports would print a traceback."""
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)


def _begin(begin: Callable[..., None], *arguments: object) -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends the process without a traceback
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    Thread(target=_end_with_parent, daemon=True).start()
    begin(*arguments)


def _end_with_parent() -> None:
    """Exit when the parent dies; otherwise the process would wait for work forever."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def run_in_pool(
    function: Callable[[Task], Result],
    tasks: Sequence[Task],
    jobs: int | None,
    begin: Callable[..., None],
    *arguments: object,
) -> Iterator[tuple[Task, Result]]:
    """Yield each task with its result, in order of completion; `begin` sets up each process."""
    if not tasks:
        return
    workers = min(jobs or os.cpu_count() or 1, len(tasks))
    previous = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))  # inherited by the processes
    try:
        with ProcessPoolExecutor(
            workers,
            mp_context=get_context("spawn"),
            initializer=partial(_begin, begin, *arguments),
        ) as pool:
            others = active_children()
            try:
                with _interrupts_blocked():  # processes inherit this until `_begin` runs
                    pending = {pool.submit(function, task): task for task in tasks}
                for future in as_completed(pending):
                    yield pending[future], future.result()
            except BrokenProcessPool:
                raise BenthamError(
                    "a process of the pool was killed, perhaps because memory ran out; try again "
                    "with fewer processes at a time, for example with --jobs 1"
                ) from None
            except BaseException:  # an error or an interrupt: discard the remaining tasks
                for process in active_children():
                    if process not in others:
                        process.terminate()
                pool.shutdown(cancel_futures=True)
                raise
    finally:
        for name, value in previous.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
