"""A tournament tree: the smallest of many keys, kept while keys change one at a time.

Changing a key costs O(log n); reading the k smallest costs O(k log n), whatever n.
"""

import heapq
import itertools
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

Key = TypeVar("Key", bound=tuple[Any, ...])

_NOBODY = -1


class Tournament(Generic[Key]):
    """Players are numbered from 0; each has a key or sits out. Keys must differ."""

    def __init__(self) -> None:
        self._capacity = 1
        self._keys: dict[int, Key] = {}
        self._winners = [_NOBODY, _NOBODY]

    def update(self, player: int, key: Key | None) -> None:
        """Give a player a key, or let it sit out."""
        while player >= self._capacity:
            self._grow()
        winners = self._winners
        node = self._capacity + player
        if key is None:
            self._keys.pop(player, None)
            winners[node] = _NOBODY
        else:
            self._keys[player] = key
            winners[node] = player
        while node > 1:
            node >>= 1
            before = winners[node]
            winners[node] = self._better(winners[2 * node], winners[2 * node + 1])
            if before != player and winners[node] == before:
                return  # the player neither won here nor wins: nothing changes further up

    def smallest(self, count: int) -> list[int]:
        """The players with the smallest keys, best first."""
        return list(itertools.islice(self.ascending(), count))

    def ascending(self) -> Iterator[int]:
        """The players by their keys, best first; each costs O(log n) when it is asked for."""
        keys, winners = self._keys, self._winners
        heap = [(keys[winners[1]], 1)] if winners[1] != _NOBODY else []
        while heap:
            _, node = heapq.heappop(heap)
            winner = winners[node]
            yield winner
            # Whoever lost to this winner on its way up is next in line.
            while node < self._capacity:
                node *= 2
                if winners[node] != winner:
                    node += 1
                loser = winners[node ^ 1]
                if loser != _NOBODY:
                    heapq.heappush(heap, (keys[loser], node ^ 1))

    def _better(self, one: int, other: int) -> int:
        if one == _NOBODY or other == _NOBODY:
            return max(one, other)
        return one if self._keys[one] < self._keys[other] else other

    def _grow(self) -> None:
        players = self._winners[self._capacity :] + [_NOBODY] * self._capacity
        self._capacity *= 2
        self._winners = [_NOBODY] * self._capacity + players
        for node in range(self._capacity - 1, 0, -1):
            self._winners[node] = self._better(self._winners[2 * node], self._winners[2 * node + 1])
