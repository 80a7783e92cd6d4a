"""The table of visits that GCFExplainer and the published COMRECGC keep: graphs by how often they were visited.

A graph enters with frequency 2; later visits count only if it is accepted. The most visited come first: an entry that rises
changes places with the first lower one. A full table drops its last entry for a newcomer, which starts one above that one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

FIRST_FREQUENCY = 2
_FIRST_ROOM = 1024


class FrequencyTable:
    """Graphs by number of visits, most visited first.

    Args:
        capacity: Entries the table may hold.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.keys: list[int] = []
        self.place: dict[int, int] = {}
        self._falling = np.zeros(_FIRST_ROOM, dtype=np.int64)  # minus the frequency of each place, never falling

    def __len__(self) -> int:
        return len(self.keys)

    def __contains__(self, key: int) -> bool:
        return key in self.place

    @property
    def is_full(self) -> bool:
        """Whether a newcomer takes another's place."""
        return len(self.keys) >= self.capacity

    @property
    def frequencies(self) -> npt.NDArray[np.int64]:
        """Frequency of each place, `[n]`."""
        return -self._falling[: len(self.keys)]

    @property
    def unseen(self) -> int:
        """The frequency that a graph not in the table is taken to have: 1, or the least there is once the table is full."""
        return -int(self._falling[len(self.keys) - 1]) if self.is_full and self.keys else 1

    def frequency(self, keys: Iterable[int]) -> Iterator[int]:
        """Frequency of each graph, seen or not."""
        place, falling, unseen = self.place, self._falling, self.unseen
        return (unseen if (at := place.get(key)) is None else -int(falling[at]) for key in keys)

    def visit(self, key: int, *, accepted: bool, beyond: bool = False) -> int | None:
        """Count a visit.

        Args:
            key: The graph.
            accepted: Whether the classifier accepts it.
            beyond: Whether a newcomer to a full table makes it larger.

        Returns:
            The graph that was dropped for it, if any.
        """
        at, dropped = self.place.get(key), None
        if at is not None:
            if accepted:
                self._set(at, -int(self._falling[at]) + 1)
            return None
        frequency = FIRST_FREQUENCY
        if self.is_full and not beyond:
            frequency = self.unseen + 1
            dropped = self.keys.pop()
            del self.place[dropped]
        at = len(self.keys)
        if at == len(self._falling):
            self._falling = np.concatenate([self._falling, np.zeros_like(self._falling)])
        self.keys.append(key)
        self.place[key] = at
        self._falling[at] = -FIRST_FREQUENCY
        self._set(at, frequency)
        return dropped

    def _set(self, at: int, frequency: int) -> None:
        """Give an entry its frequency and let it change places with the first lower one."""
        to = int(np.searchsorted(self._falling[: len(self.keys)], -frequency, side="right"))
        if to < at:
            key, other = self.keys[at], self.keys[to]
            self.keys[at], self.keys[to] = other, key
            self.place[key], self.place[other] = to, at
            self._falling[at] = self._falling[to]
            at = to
        self._falling[at] = -frequency

    def restore(self, keys: Iterable[int], frequencies: Iterable[int]) -> None:
        """Fill an empty table as it was."""
        self.keys = list(keys)
        self.place = {key: at for at, key in enumerate(self.keys)}
        falling = -np.fromiter(frequencies, np.int64, len(self.keys))
        self._falling = np.concatenate([falling, np.zeros(max(_FIRST_ROOM, len(falling)), dtype=np.int64)])
