from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comrecgc.errors import InputError
from comrecgc.graphs import (
    ChangedGraphs,
    Edit,
    EditKind,
    Familiarity,
    Graph,
    GraphBatch,
    Ladder,
    Rung,
    allowed_edits,
    apply_edit,
    apply_path,
    one_edit_table,
    rung_shares,
)
from comrecgc.graphs.ladder import num_components
from tests.graphs.oracles import plain_rung
from tests.graphs.strategies import graphs

NUM_LABELS = 3


def ladder_over(data: list[Graph], min_seen: int = 1) -> Ladder:
    return Ladder(familiarity=Familiarity.of(data, min_seen=min_seen))


@st.composite
def changed(draw: st.DrawFn) -> tuple[list[Graph], Graph, Graph]:
    """Data, one of its graphs, and that graph after a few edits."""
    labelled = draw(st.booleans())
    data = draw(st.lists(graphs(edge_labels=labelled), min_size=2, max_size=8))
    after = data[0]
    for _ in range(draw(st.integers(0, 4))):
        table = one_edit_table(after, NUM_LABELS)
        after = apply_edit(after, table[draw(st.integers(0, len(table) - 1))])
    return data, data[0], after


@settings(max_examples=200, deadline=None)
@given(st.lists(changed(), min_size=1, max_size=3), st.integers(1, 3))
def test_rungs_are_those_of_plain_counting(cases: list[tuple[list[Graph], Graph, Graph]], min_seen: int) -> None:
    for data, before, after in cases:
        rungs = ladder_over(data, min_seen).rungs(ChangedGraphs.from_graphs([before, before], [after, before]))
        assert rungs.tolist() == [plain_rung(data, before, after, min_seen), Rung.PLAUSIBLE]


@settings(max_examples=100, deadline=None)
@given(changed(), st.integers(1, 2))
def test_allowed_edits_are_those_whose_result_is_on_the_rung(
    case: tuple[list[Graph], Graph, Graph], min_seen: int
) -> None:
    data, _, graph = case
    ladder = ladder_over(data, min_seen)
    table = one_edit_table(graph, NUM_LABELS)
    rungs = ladder.rungs(ChangedGraphs.from_table(graph, table))
    for rung in (Rung.CONNECTED, Rung.PLAUSIBLE):
        constraint = ladder.constraint(rung)
        assert constraint is not None
        assert constraint.allowed(graph, table).tolist() == (rungs >= rung).tolist()


@settings(max_examples=50, deadline=None)
@given(changed(), st.integers(0, 2**32))
def test_a_path_of_plausible_steps_ends_on_the_rung(case: tuple[list[Graph], Graph, Graph], seed: int) -> None:
    data, start, _ = case
    rng, ladder, graph = np.random.default_rng(seed), ladder_over(data), start
    for _ in range(4):
        table = allowed_edits(graph, NUM_LABELS, ladder.constraint(Rung.PLAUSIBLE))
        if len(table) == 0:
            break
        graph = apply_edit(graph, table[int(rng.integers(len(table)))])
    assert ladder.rungs(ChangedGraphs.from_graphs([start], [graph])).tolist() == [Rung.PLAUSIBLE]


@settings(max_examples=50, deadline=None)
@given(graphs(edge_labels=True))
def test_a_table_is_judged_as_its_graphs_are(graph: Graph) -> None:
    table = one_edit_table(graph, NUM_LABELS)
    ladder = ladder_over([graph])
    afters = [apply_edit(graph, table[i]) for i in range(len(table))]
    one_by_one = ladder.rungs(ChangedGraphs.from_graphs([graph] * len(table), afters))
    assert ladder.rungs(ChangedGraphs.from_table(graph, table)).tolist() == one_by_one.tolist()


def test_a_loose_node_is_judged_by_the_result() -> None:
    ring = Graph([0, 0, 0], [(0, 1), (1, 2), (0, 2)])
    loose = Graph([0], np.zeros((0, 2), int))
    path = [Edit(EditKind.ADD_NODE, 0, 0), Edit(EditKind.REMOVE_EDGE, 0, 3)]
    after = apply_path(ring, path)
    assert ladder_over([ring, loose]).rungs(ChangedGraphs.from_graphs([ring], [after])).tolist() == [Rung.ANY]


def test_confirmed_needs_the_rungs_below() -> None:
    pair = Graph([0, 1], [(0, 1)])
    apart, relabelled = (
        apply_edit(pair, Edit(EditKind.REMOVE_EDGE, 0, 1)),
        apply_edit(pair, Edit(EditKind.RELABEL, 0, 2)),
    )
    changed = ChangedGraphs.from_graphs([pair] * 4, [apart, relabelled, pair, pair])
    rungs = ladder_over([pair]).rungs(changed, confirmed=np.array([True, True, True, False]))
    assert rungs.tolist() == [Rung.ANY, Rung.CONNECTED, Rung.CONFIRMED, Rung.PLAUSIBLE]
    assert rung_shares(rungs) == {"any": 1.0, "connected": 0.75, "plausible": 0.5, "confirmed": 0.25}


def test_nothing_changed_at_all() -> None:
    none = ladder_over([]).rungs(ChangedGraphs.from_graphs([], []))
    assert rung_shares(none) == {"any": 0.0, "connected": 0.0, "plausible": 0.0, "confirmed": 0.0}
    assert num_components(GraphBatch.from_graphs([])).tolist() == []


def test_constraints_of_the_rungs() -> None:
    ladder = ladder_over([])
    assert ladder.constraint(Rung.ANY) is None
    assert repr(ladder.constraint(Rung.CONFIRMED)) == repr(ladder.constraint(Rung.PLAUSIBLE))
    assert "digest=" in repr(ladder.constraint(Rung.PLAUSIBLE))  # what a stored run compares


@pytest.mark.parametrize("name", ["any", "connected", "plausible", "confirmed"])
def test_rungs_by_name(name: str) -> None:
    assert str(Rung.parse(name)) == name


@pytest.mark.parametrize("name", ["", "ANY", "sane"])
def test_unknown_rung(name: str) -> None:
    with pytest.raises(
        InputError, match=rf"^changes must be one of any, connected, plausible, confirmed \(got '{name}'\)$"
    ):
        Rung.parse(name)


def test_pairs_must_be_pairs() -> None:
    with pytest.raises(InputError, match=r"got 1 and 0"):
        ChangedGraphs.from_graphs([Graph([0], np.zeros((0, 2), int))], [])
