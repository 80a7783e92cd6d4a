"""Decisions read off bytes: a fuzzer that changes a byte changes a decision, and the same bytes decide the same."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Choices:
    """A source of decisions; beyond its last byte, a generator seeded with all of them decides.

    Args:
        data: The bytes.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._place = 0
        self._beyond = random.Random(data)

    def below(self, bound: int) -> int:
        """An integer in `0 … bound-1`."""
        size = max(1, (bound - 1).bit_length() + 7 >> 3)
        chunk = self._data[self._place : self._place + size]
        self._place += size
        return int.from_bytes(chunk, "big") % bound if len(chunk) == size else self._beyond.randrange(bound)

    def chance(self, share: float) -> bool:
        """True in this share of cases."""
        return self.below(256) < 256 * share

    def one_of(self, options: Sequence[T]) -> T:
        return options[self.below(len(options))]

    def span(self, length: int, most: int = 1 << 16) -> tuple[int, int]:
        """A range within `0 … length`, mostly short."""
        start = self.below(length + 1)
        return start, min(length, start + self.below(min(most, self.one_of((2, 8, 64, most)))))
