"""Devices in virtual time: the order of events at one instant."""

from functools import partial

from bentham.core.worlds.virtual_time import VirtualPool


class Jobs:
    """A list of jobs with durations, and a record of what happened."""

    def __init__(self, jobs: list[tuple[str, float]], last: int = 100):
        self.jobs, self.last = jobs, last
        self.record: list[tuple[str, float, int | str]] = []

    def next_job(self, device: int, now: float) -> tuple[str, float] | None:
        if not self.jobs:
            return None
        job, duration = self.jobs.pop(0)
        self.record.append((f"start {job}", now, device))
        return job, now + duration

    def ended(self, device: int, job: str, now: float) -> None:
        self.record.append((f"end {job}", now, device))

    def instant(self, now: float) -> bool:
        self.record.append(("instant", now, ""))
        self.last -= 1
        return self.last > 0


def test_ends_of_one_instant_come_before_the_next_jobs() -> None:
    pool, jobs = VirtualPool(), Jobs([("a", 2.0), ("b", 2.0), ("c", 1.0), ("d", 1.0)])
    for device in (1, 0):
        pool.join(device)
    pool.run(jobs)
    assert jobs.record == [
        ("start a", 0.0, 0), ("start b", 0.0, 1),
        ("end a", 2.0, 0), ("end b", 2.0, 1), ("instant", 2.0, ""),
        ("start c", 2.0, 0), ("start d", 2.0, 1),
        ("end c", 3.0, 0), ("end d", 3.0, 1), ("instant", 3.0, ""),
    ]  # fmt: skip


def test_a_busy_device_leaves_when_its_job_ends_and_an_idle_one_at_once() -> None:
    pool, jobs = VirtualPool(), Jobs([("a", 5.0), ("b", 9.0), ("c", 1.0)])
    pool.join(0)
    pool.at(1.0, partial(pool.join, 1))
    pool.at(2.0, partial(pool.leave, 0))
    pool.at(3.0, partial(pool.join, 2))
    pool.at(3.0, partial(pool.leave, 2))
    pool.at(4.0, partial(pool.leave, 3))  # never joined
    pool.run(jobs)
    assert [step for step in jobs.record if step[0].startswith("start")] == [
        ("start a", 0.0, 0),
        ("start b", 1.0, 1),
        ("start c", 10.0, 1),
    ]


def test_at_the_end_jobs_may_end_but_not_start() -> None:
    pool, jobs = VirtualPool(), Jobs([("a", 3.0), ("b", 3.0)])
    pool.join(0)
    pool.run(jobs, until=3.0)
    assert jobs.record[-2:] == [("end a", 3.0, 0), ("instant", 3.0, "")]
    assert jobs.jobs == [("b", 3.0)]


def test_instant_can_end_the_run_before_new_jobs_start() -> None:
    pool, jobs = VirtualPool(), Jobs([("a", 1.0), ("b", 1.0)], last=1)
    pool.join(0)
    pool.run(jobs)
    assert (pool.now, jobs.jobs) == (1.0, [("b", 1.0)])
