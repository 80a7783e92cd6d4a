from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comrecgc.errors import InputError
from comrecgc.graphs import EditKind, EditTable, Familiarity, Graph, GraphBatch, apply_edit, one_edit_table
from comrecgc.graphs.ladder import surroundings
from tests.graphs.oracles import around, touched_ids
from tests.graphs.strategies import graphs

DATA = st.booleans().flatmap(lambda labelled: st.lists(graphs(edge_labels=labelled), min_size=2, max_size=8))


@settings(max_examples=150, deadline=None)
@given(DATA)
def test_hashes_are_equal_exactly_where_surroundings_are(data: list[Graph]) -> None:
    hashes = surroundings(GraphBatch.from_graphs(data)).tolist()
    plain = [around(graph)[node] for graph in data for node in graph.ids.tolist()]
    assert len(set(zip(hashes, plain, strict=True))) == len(set(hashes)) == len(set(plain))


@settings(max_examples=150, deadline=None)
@given(DATA, st.integers(1, 4))
def test_familiar_is_what_a_plain_count_says(data: list[Graph], min_seen: int) -> None:
    familiarity = Familiarity.of(data, min_seen=min_seen)
    counts = Counter(value for graph in data for value in around(graph).values())
    expected = [counts[around(graph)[node]] >= min_seen for graph in data for node in graph.ids.tolist()]
    assert familiarity.is_familiar(familiarity.hashes(GraphBatch.from_graphs(data))).tolist() == expected


@settings(max_examples=150, deadline=None)
@given(DATA, st.integers(1, 3))
def test_allowed_edits_leave_familiar_what_they_touch(data: list[Graph], min_seen: int) -> None:
    familiarity = Familiarity.of(data, min_seen=min_seen)
    counts = Counter(value for graph in data for value in around(graph).values())
    graph = data[0]
    table = one_edit_table(graph, num_labels=3)
    for i, allowed in enumerate(familiarity.allowed(graph, table).tolist()):
        after = apply_edit(graph, table[i])
        assert allowed == all(counts[around(after)[node]] >= min_seen for node in touched_ids(graph, after)), table[i]


def test_hashes_do_not_depend_on_node_order_or_process() -> None:
    graph = Graph([0, 1, 2, 1], [(0, 1), (1, 2), (2, 3)], [0, 1, 0])
    order = [2, 0, 3, 1]
    batch = GraphBatch.from_graphs([graph, graph.permute(order)])
    first, second = surroundings(batch)[:4], surroundings(batch)[4:]
    assert second.tolist() == first[order].tolist()
    assert int(first[0]) == 16318005005855274657


def test_edge_labels_count_only_where_the_data_has_them() -> None:
    single, double = Graph([0, 1], [(0, 1)], [0]), Graph([0, 1], [(0, 1)], [1])
    bare = Graph([0, 1], [(0, 1)])
    assert not Familiarity.of([single], min_seen=1).is_familiar(surroundings(GraphBatch.from_graphs([double]))).any()
    plain = Familiarity.of([bare], min_seen=1)
    assert plain.is_familiar(plain.hashes(GraphBatch.from_graphs([double]))).all()


def test_an_edge_may_be_named_from_either_end() -> None:
    path = Graph([0, 0, 0], [(0, 1), (1, 2)])
    familiarity = Familiarity.of([path, Graph([0, 0, 0], [(0, 1)])], min_seen=1)
    kinds = np.full(2, EditKind.REMOVE_EDGE, dtype=np.int8)
    table = EditTable(kinds, np.array([1, 2], np.int32), np.array([0, 1], np.int32), path.ids)
    assert familiarity.allowed(path, table).all()


def test_degenerate_data() -> None:
    nothing = Familiarity.of([])
    graph = Graph([0], np.zeros((0, 2), int))
    assert not nothing.allowed(graph, one_edit_table(graph, 2)).any()
    assert repr(nothing) == "Familiarity(min_seen=5, known=0, digest=e3b0c442)"


def test_bad_input() -> None:
    with pytest.raises(InputError, match="min_seen must be at least 1"):
        Familiarity.of([], min_seen=0)
    labelled = Familiarity.of([Graph([0, 1], [(0, 1)], [0])])
    bare = Graph([0, 1], [(0, 1)])
    with pytest.raises(InputError, match="Graphs must have edge labels"):
        labelled.hashes(GraphBatch.from_graphs([bare]))
    with pytest.raises(InputError, match="Graphs must have edge labels"):
        labelled.allowed(bare, one_edit_table(bare, 2))
