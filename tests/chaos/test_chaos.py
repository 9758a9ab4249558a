"""The live service under fire; `make soak` does the same for longer. See support/chaos."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.chaos.arena import Arena
from support.chaos.fires import (
    kill_database,
    kill_leaders,
    kill_servers,
    make_mischief,
    torment_workers,
)
from support.chaos.judge import Verdict
from support.chaos.server import Zygote
from support.postgres import PostgresServer

KILLS = 100  # on each database; a thousand in the soak


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    with Zygote() as running:
        yield running


def check(verdict: Verdict, acknowledged: int) -> None:
    assert verdict.violations == []
    assert (verdict.lost, verdict.duplicated) == (0, 0)
    assert verdict.acknowledged >= acknowledged


def test_a_server_killed_again_and_again_keeps_its_word(zygote: Zygote, tmp_path: Path) -> None:
    with Arena(zygote, tmp_path, None, seed=1) as arena:
        kill_servers(arena, KILLS)
        verdict = arena.judge()
        assert arena.kills == KILLS
    check(verdict, 300)
    assert verdict.unheard > 10  # many a kill fell between a commit and its answer


def test_the_same_on_postgresql(zygote: Zygote, tmp_path: Path, postgres_url: str) -> None:
    with Arena(zygote, tmp_path, postgres_url, seed=2) as arena:
        kill_servers(arena, KILLS)
        verdict = arena.judge()
        assert arena.kills == KILLS
    check(verdict, 300)
    assert verdict.unheard > 10


def test_workers_that_die_freeze_and_come_back(zygote: Zygote, tmp_path: Path) -> None:
    with Arena(zygote, tmp_path, None, seed=3) as arena:
        torments = torment_workers(arena, rounds=2, frozen_seconds=1.5)
        verdict = arena.judge()
    check(verdict, 50)
    assert torments["late reports refused"] > 0
    assert torments["trials lost"] > 0


def test_a_network_that_delays_cuts_and_doubles(zygote: Zygote, tmp_path: Path) -> None:
    with Arena(zygote, tmp_path, None, seed=4) as arena:
        make_mischief(arena, trials=340)  # answers, some of them twice
        verdict = arena.judge()
        assert set(arena.proxy.made) == {"delay", "cut_before", "cut_after", "double", "late"}
    check(verdict, 300)


def test_a_database_that_is_killed_and_comes_back(
    zygote: Zygote, tmp_path: Path, postgres: PostgresServer
) -> None:
    with Arena(zygote, tmp_path, postgres.fresh(), seed=5) as arena:
        kill_database(arena, postgres, times=3)
        verdict = arena.judge()
    check(verdict, 100)


def test_another_instance_takes_over(zygote: Zygote, tmp_path: Path, postgres_url: str) -> None:
    with Arena(zygote, tmp_path, postgres_url, seed=6, instances=2) as arena:
        longest = kill_leaders(arena, rounds=1)
        verdict = arena.judge()
    print("takeover:", longest)
    check(verdict, 80)
    assert max(longest.values()) < 10.0
