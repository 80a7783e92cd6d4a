from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from comrecgc.graphs import Graph, StayNear, apply_edit, one_edit_table
from comrecgc.graphs.closeness import edited_costs
from tests.graphs.elements import elements_changed
from tests.graphs.strategies import graphs


@settings(max_examples=150, deadline=None)
@given(graphs(max_nodes=6), st.data())
def test_costs_are_those_of_the_edited_graphs(start: Graph, data: st.DataObject) -> None:
    graph = start
    for _ in range(data.draw(st.integers(0, 6))):
        table = one_edit_table(graph, 3)
        graph = apply_edit(graph, table[data.draw(st.integers(0, len(table) - 1))])
    table = one_edit_table(graph, 3)
    expected = [elements_changed(start, apply_edit(graph, table[i])) for i in range(len(table))]
    assert edited_costs(start, graph, table).tolist() == expected
    limit = data.draw(st.integers(1, 6))
    assert StayNear(start, limit).allowed(graph, table).tolist() == [cost <= limit for cost in expected]
