"""The contract of every executor. Test classes inherit it and supply the trials."""

import time
from collections.abc import Iterator

import pytest

from bentham.executors import Broken, Declined, Executor, Outcome, Running, Scored
from bentham.executors.base import LARGEST_LOG
from bentham.executors.process import PATIENCE_SECONDS
from bentham.wire import Lease

SOON = 0.8 * PATIENCE_SECONDS


def lease(model: str, dataset: str = "wine", **changes: object) -> Lease:
    """A lease as the server returns it."""
    fields: dict[str, object] = {
        "trial": "t_0000000000000001", "fence": 1, "device": "cpu-0", "tenant": "lab",
        "study": "s_0000000000000001", "study_name": "wine quality", "dataset": dataset,
        "metric": "accuracy", "model": model, "cost": 1.0, "attempt": 1, "lease_seconds": 40.0,
        "heartbeat_seconds": 10.0,
    }  # fmt: skip
    return Lease.model_validate({**fields, **changes})


class ExecutorContract:
    """Override the fixtures; the tests are inherited."""

    @pytest.fixture
    def executor(self) -> Iterator[Executor]:
        """Yield the executor under test."""
        raise NotImplementedError

    @pytest.fixture
    def scoring(self) -> Lease:
        """A short trial that ends with a score."""
        raise NotImplementedError

    @pytest.fixture
    def endless(self) -> Lease:
        """A trial that does not end while the test runs."""
        raise NotImplementedError

    @pytest.fixture
    def unknown(self) -> Lease:
        """A trial of a model or dataset that the executor does not have."""
        raise NotImplementedError

    def outcome(self, running: Running) -> Outcome:
        """Wait until a trial has ended."""
        deadline = time.monotonic() + 60.0
        while time.monotonic() < deadline:
            ended = running.poll()
            if ended is not None:
                return ended
            time.sleep(0.005)
        raise AssertionError("the trial did not end within 60 s")

    def test_a_trial_ends_with_its_score(self, executor: Executor, scoring: Lease) -> None:
        running = executor.start(scoring)
        ended = self.outcome(running)
        assert isinstance(ended, Scored)
        assert running.poll() == ended
        running.kill()
        assert running.poll() == ended
        progress = running.progress()
        assert progress.share is None or 0.0 <= progress.share <= 1.0
        assert len(running.log()) <= LARGEST_LOG

    def test_a_trial_can_be_run_again(self, executor: Executor, scoring: Lease) -> None:
        first, second = executor.start(scoring), executor.start(scoring)
        assert self.outcome(second) == self.outcome(first)

    def test_an_unknown_model_is_declined_or_fails_for_good(
        self, executor: Executor, unknown: Lease
    ) -> None:
        running = executor.start(unknown)
        ended = self.outcome(running)
        assert isinstance(ended, Declined) or (isinstance(ended, Broken) and ended.final)
        assert unknown.model in ended.reason
        assert running.log() == b""

    def test_a_killed_trial_ends_soon_and_yields_no_score(
        self, executor: Executor, endless: Lease
    ) -> None:
        running = executor.start(endless)
        assert running.poll() is None
        began = time.monotonic()
        running.kill()
        running.kill()
        ended = self.outcome(running)
        assert time.monotonic() - began < SOON  # by the kill, not by a timeout
        assert isinstance(ended, Broken)
        assert not ended.final  # another attempt may succeed

    def test_trials_do_not_wait_for_each_other(
        self, executor: Executor, scoring: Lease, endless: Lease
    ) -> None:
        long = executor.start(endless)
        assert isinstance(self.outcome(executor.start(scoring)), Scored)
        assert long.poll() is None
        long.kill()

    def test_closing_ends_running_trials(self, executor: Executor, endless: Lease) -> None:
        running = executor.start(endless)
        assert running.poll() is None
        executor.close()
        executor.close()
        # The trial has ended without further polls: a closed executor may not be used any more.
        # A trial that had not started yet is declined.
        assert isinstance(running.poll(), Broken | Declined)
