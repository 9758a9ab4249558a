"""A tournament tree: tracks the smallest of many keys while keys change one at a time.

Changing a key costs O(log n); reading the k smallest costs O(k log n).
"""

import heapq
import itertools
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

Key = TypeVar("Key", bound=tuple[Any, ...])

_NONE = -1


class Tournament(Generic[Key]):
    """Players are numbered from 0. A player takes part if it has a key. Keys must differ."""

    def __init__(self) -> None:
        self._capacity = 1
        self._keys: dict[int, Key] = {}
        self._winners = [_NONE, _NONE]

    def update(self, player: int, key: Key | None) -> None:
        """Set the key of a player; None: it does not take part."""
        while player >= self._capacity:
            self._grow()
        winners = self._winners
        node = self._capacity + player
        if key is None:
            self._keys.pop(player, None)
            winners[node] = _NONE
        else:
            self._keys[player] = key
            winners[node] = player
        while node > 1:
            node >>= 1
            before = winners[node]
            winners[node] = self._better(winners[2 * node], winners[2 * node + 1])
            if before != player and winners[node] == before:
                return  # the player neither won nor wins here: nothing changes above

    def smallest(self, count: int) -> list[int]:
        """Return the players with the smallest keys, smallest first."""
        return list(itertools.islice(self.ascending(), count))

    def ascending(self) -> Iterator[int]:
        """Yield the players by ascending key; each step costs O(log n)."""
        keys, winners = self._keys, self._winners
        heap = [(keys[winners[1]], 1)] if winners[1] != _NONE else []
        while heap:
            _, node = heapq.heappop(heap)
            winner = winners[node]
            yield winner
            # The players that lost directly to this winner are the next candidates.
            while node < self._capacity:
                node *= 2
                if winners[node] != winner:
                    node += 1
                loser = winners[node ^ 1]
                if loser != _NONE:
                    heapq.heappush(heap, (keys[loser], node ^ 1))

    def _better(self, one: int, other: int) -> int:
        if one == _NONE or other == _NONE:
            return max(one, other)
        return one if self._keys[one] < self._keys[other] else other

    def _grow(self) -> None:
        players = self._winners[self._capacity :] + [_NONE] * self._capacity
        self._capacity *= 2
        self._winners = [_NONE] * self._capacity + players
        for node in range(self._capacity - 1, 0, -1):
            self._winners[node] = self._better(self._winners[2 * node], self._winners[2 * node + 1])
