"""Fault injection into the live service; `make soak` does more of it. See support/chaos."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.chaos.arena import Arena
from support.chaos.fires import (
    disturb_network,
    kill_and_freeze_workers,
    kill_database,
    kill_leaders,
    kill_servers,
)
from support.chaos.judge import Verdict
from support.chaos.server import Zygote
from support.postgres import PostgresServer

pytestmark = pytest.mark.outside

KILLS = 30  # on each database; 1000 in the soak


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    with Zygote() as running:
        yield running


def check(verdict: Verdict, acknowledged: int) -> None:
    assert verdict.violations == []
    assert (verdict.lost, verdict.duplicated) == (0, 0)
    assert verdict.acknowledged >= acknowledged


def test_a_repeatedly_killed_server_loses_nothing(zygote: Zygote, tmp_path: Path) -> None:
    with Arena(zygote, tmp_path, None, seed=1) as arena:
        kill_servers(arena, KILLS)
        verdict = arena.judge()
        assert arena.kills == KILLS
    check(verdict, 200)
    assert verdict.unanswered > 3  # some kills came between a commit and its response


def test_the_same_on_postgresql(zygote: Zygote, tmp_path: Path, postgres_url: str) -> None:
    with Arena(zygote, tmp_path, postgres_url, seed=2, learned=False) as arena:
        kill_servers(arena, KILLS)
        verdict = arena.judge()
        assert arena.kills == KILLS
    check(verdict, 200)
    assert verdict.unanswered > 3


def test_workers_that_die_freeze_and_come_back(zygote: Zygote, tmp_path: Path) -> None:
    with Arena(zygote, tmp_path, None, seed=3, learned=False) as arena:
        torments = kill_and_freeze_workers(arena, rounds=2, frozen_seconds=1.5)
        verdict = arena.judge()
    check(verdict, 50)
    assert torments["late reports refused"] > 0
    assert torments["trials lost"] > 0


def test_a_network_that_delays_cuts_and_doubles(zygote: Zygote, tmp_path: Path) -> None:
    with Arena(zygote, tmp_path, None, seed=4, learned=False) as arena:
        disturb_network(arena, trials=160)  # responses, some of them repeated
        verdict = arena.judge()
        assert set(arena.proxy.injected) == {"delay", "cut_before", "cut_after", "double", "late"}
    check(verdict, 150)


def test_a_database_that_is_killed_and_comes_back(
    zygote: Zygote, tmp_path: Path, postgres: PostgresServer
) -> None:
    with Arena(zygote, tmp_path, postgres.fresh(), seed=5, learned=False) as arena:
        kill_database(arena, postgres, times=2)
        verdict = arena.judge()
    check(verdict, 100)


def test_another_instance_takes_over(zygote: Zygote, tmp_path: Path, postgres_url: str) -> None:
    with Arena(zygote, tmp_path, postgres_url, seed=6, instances=2, learned=False) as arena:
        longest = kill_leaders(arena, rounds=1)
        verdict = arena.judge()
    print("takeover:", longest)
    check(verdict, 80)
    assert max(longest.values()) < 10.0
