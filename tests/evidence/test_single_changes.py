"""Tests of comrecgc.algorithms.matched_pairs."""

from __future__ import annotations

import numpy as np

from comrecgc.algorithms.matched_pairs import single_changes
from comrecgc.graphs import Graph, NeighbourIndex, Pattern, Rule, carry_out, distinct_sites

RELABEL = Rule(Pattern((0,), (), None), Pattern((1,), (), None), ((0, 0),), (False,))


def path(*labels: int) -> Graph:
    return Graph(np.array(labels), [[j, j + 1] for j in range(len(labels) - 1)])


def results(rule: Rule, graph: Graph) -> list[list[int]]:
    sites = distinct_sites(rule, NeighbourIndex(graph), 9)
    return sorted(carry_out(rule, graph, site).labels.tolist() for site in sites)


def test_a_rule_that_is_one_change_without_context_has_no_parts() -> None:
    assert single_changes(RELABEL) == ()


def test_context_is_left_out() -> None:
    # Relabel 0 to 1 between two 2, which have no other neighbours.
    around = Rule(
        Pattern((0, 2, 2), ((0, 1), (0, 2)), None),
        Pattern((1, 2, 2), ((0, 1), (0, 2)), None),
        ((0, 0), (1, 1), (2, 2)),
        (True, True, True),
        radius=1,
    )
    assert results(around, path(0, 2, 2)) == []
    assert single_changes(around) == (RELABEL,)


def test_changes_made_together_are_told_apart() -> None:
    # Relabel a 0 to 1, and attach a 3 to a 2 somewhere else.
    both = Rule(
        Pattern((0, 2), (), None), Pattern((1, 2, 3), ((1, 2),), None), ((0, 0), (1, 1)), (False, False), num_changes=2
    )
    first, second = single_changes(both)
    assert first == RELABEL
    assert results(second, path(0, 2, 0)) == [[0, 2, 0, 3]]


def test_a_group_whose_inner_edges_stay_is_one_change() -> None:
    # A group 1-2 becomes 3-4 in place: both nodes are relabelled, the edge between them is as before. Beside it a 0 goes to 5.
    rule = Rule(
        Pattern((0, 1, 2), ((1, 2),), None),
        Pattern((5, 3, 4), ((1, 2),), None),
        ((0, 0), (1, 1), (2, 2)),
        (False, False, False),
        num_changes=2,
    )
    first, second = single_changes(rule)
    assert results(first, path(0, 1, 2)) == [[5, 1, 2]]
    assert results(second, path(0, 1, 2)) == [[0, 3, 4]]


def test_what_is_removed_stays_closed_and_bonds_stay() -> None:
    # Cut a leaf 1 off a 0 by a double bond, and relabel a 2.
    rule = Rule(
        Pattern((0, 1, 2), ((0, 1),), (1,)),
        Pattern((0, 3), (), ()),
        ((0, 0), (2, 1)),
        (False, True, False),
        num_changes=2,
    )
    cut, _ = single_changes(rule)
    assert cut.closed == (False, True)
    double = Graph(np.array([0, 1]), [[0, 1]], np.array([1]))
    single = Graph(np.array([0, 1]), [[0, 1]], np.array([0]))
    assert results(cut, double) == [[0]]
    assert results(cut, single) == []
