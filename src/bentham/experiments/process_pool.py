"""Runs made on all cores, reported as they end."""

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

# One thread for each process: more would fight for the cores, and sum in another order.
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


@contextmanager
def _interrupts_later() -> Iterator[None]:
    """A process that is interrupted while it imports would print a traceback."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin(begin: Callable[..., None], *arguments: object) -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends a run at once, without a word
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    Thread(target=_end_with_parent, daemon=True).start()
    begin(*arguments)


def _end_with_parent() -> None:
    """A process whose parent was killed would wait for work for ever."""
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
    """Each task with its result, in the order in which they end; `begin` prepares a process."""
    if not tasks:
        return
    workers = min(jobs or os.cpu_count() or 1, len(tasks))
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))  # inherited by the processes
    try:
        with ProcessPoolExecutor(
            workers,
            mp_context=get_context("spawn"),
            initializer=partial(_begin, begin, *arguments),
        ) as pool:
            others = active_children()
            try:
                with _interrupts_later():  # processes inherit that until they have begun
                    waiting = {pool.submit(function, task): task for task in tasks}
                for future in as_completed(waiting):
                    yield waiting[future], future.result()
            except BrokenProcessPool:
                raise BenthamError(
                    "a process that made runs was ended from outside, perhaps for want of memory; "
                    "try again with fewer at a time, as with --jobs 1"
                ) from None
            except BaseException:  # an error, or an interrupt: nobody waits for the rest
                for process in active_children():
                    if process not in others:
                        process.terminate()
                pool.shutdown(cancel_futures=True)
                raise
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
