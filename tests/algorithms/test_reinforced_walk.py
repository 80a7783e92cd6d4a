from __future__ import annotations

import numpy as np
import pytest

from comrecgc.algorithms.reinforced_walk import FrequencyTable


class LiteralTable:
    """The same, one list of [graph, frequency] searched from the top every time."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.rows: list[list[int]] = []

    def visit(self, key: int, accepted: bool) -> None:
        known = [at for at, row in enumerate(self.rows) if row[0] == key]
        if known:
            if not accepted:
                return
            at = known[0]
            self.rows[at][1] += 1
        else:
            frequency = 2
            if len(self.rows) == self.capacity:
                frequency = self.rows.pop()[1] + 1
            self.rows.append([key, frequency])
            at = len(self.rows) - 1
        for to in range(at):
            if self.rows[to][1] < self.rows[at][1]:
                self.rows[to], self.rows[at] = self.rows[at], self.rows[to]
                return


@pytest.mark.parametrize("seed", range(5))
def test_equals_a_list_searched_from_the_top(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table, literal = FrequencyTable(12), LiteralTable(12)
    for _ in range(600):
        key, accepted = int(rng.integers(30) ** 2 // 30), bool(rng.random() < 0.7)
        table.visit(key, accepted=accepted)
        literal.visit(key, accepted)
        assert [[key, count] for key, count in zip(table.keys, table.frequencies, strict=True)] == literal.rows
        assert table.place == {row[0]: at for at, row in enumerate(literal.rows)}


def test_first_twice_then_once_more_if_accepted() -> None:
    table = FrequencyTable(10)
    for key, accepted in ((1, False), (2, True), (1, False), (2, True), (2, True)):
        table.visit(key, accepted=accepted)
    assert (table.keys, table.frequencies.tolist()) == ([2, 1], [4, 2])
    assert list(table.frequency([1, 2, 3])) == [2, 4, 1]


def test_a_full_table_drops_its_last_and_the_newcomer_starts_above_it() -> None:
    table = FrequencyTable(2)
    for _ in range(3):
        table.visit(1, accepted=True)
    table.visit(2, accepted=True)
    assert list(table.frequency([7])) == [2]  # unseen in a full table: the least there is
    assert table.visit(3, accepted=True) == 2
    assert (table.keys, table.frequencies.tolist()) == ([1, 3], [4, 3])
    assert table.visit(2, accepted=True, beyond=True) is None
    assert (table.keys, table.frequencies.tolist()) == ([1, 3, 2], [4, 3, 2])


def test_what_was_stored_goes_on_alike() -> None:
    table = FrequencyTable(50)
    rng = np.random.default_rng(0)
    for key in rng.integers(20, size=200).tolist():
        table.visit(key, accepted=True)
    again = FrequencyTable.decode(table.encode(), 50)
    for key in rng.integers(40, size=200).tolist():
        table.visit(key, accepted=True)
        again.visit(key, accepted=True)
    assert again.keys == table.keys
    assert again.frequencies.tolist() == table.frequencies.tolist()
