from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from comrecgc.datasets.edges import merge_directions

NUM_NODES = 6
PAIRS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)).filter(lambda pair: pair[0] != pair[1]))


@given(PAIRS)
def test_agrees_with_sets(rows: list[tuple[int, int]]) -> None:
    pairs = np.array(rows, dtype=np.int64).reshape(-1, 2)
    before = pairs.copy()
    edges, first_row, edge_of_row, notes = merge_directions(pairs, NUM_NODES)
    ends = [tuple(sorted(row)) for row in rows]
    assert [tuple(edge) for edge in edges.tolist()] == sorted(set(ends))
    assert [ends[row] for row in first_row] == sorted(set(ends))
    assert all(ends.index(end) == first_row[edge] for end, edge in zip(ends, edge_of_row, strict=True))
    num_repeated, num_one_way = len(rows) - len(set(rows)), sum((j, i) not in rows for i, j in set(rows))
    expected = []
    if num_repeated:
        expected.append(f"{num_repeated} of {len(rows)} rows of edges repeated an earlier row and were merged.")
    if num_one_way:
        expected.append(
            f"{num_one_way} of {len(edges)} edges were listed in one direction only and taken as undirected."
        )
    assert notes == tuple(expected)
    assert (pairs == before).all()
