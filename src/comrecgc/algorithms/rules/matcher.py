"""Which graphs rules can be carried out on, exactly as `graphs.find_sites` says it, for a whole table."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from comrecgc.graphs import Graph, GraphBatch, Rule, matching_kernels

BoolArray = npt.NDArray[np.bool_]


class PatternMatcher:
    """Finds the sites of rules in some graphs."""

    def __init__(self, graphs: Sequence[Graph]) -> None:
        batch = GraphBatch.from_graphs(graphs)
        bonds = np.zeros(len(batch.edges), np.int32) if batch.edge_labels is None else batch.edge_labels
        ends = np.concatenate([batch.edges, batch.edges[:, ::-1]])
        order = np.lexsort((ends[:, 1], ends[:, 0]))
        around = np.stack([ends[:, 1], np.concatenate([bonds, bonds])], axis=1)[order]
        degrees = np.bincount(ends[:, 0], minlength=len(batch.labels))
        ptr, label = np.asarray(batch.node_ptr, np.int64), np.asarray(batch.labels, np.int32)
        around_ptr = np.concatenate([[0], np.cumsum(degrees)]).astype(np.int64)
        around = np.ascontiguousarray(around, np.int32)
        twin = matching_kernels.twins(ptr, label, around_ptr, around)
        self._hosts = matching_kernels.Hosts(ptr, label, around_ptr, around, twin)
        self._counts = _label_counts(batch)

    def hold(self, rules: Sequence[Rule], known: BoolArray | None = None, jobs: int = 1) -> BoolArray:
        """Which graphs each rule can be carried out on, `[K, N]`.

        Args:
            rules: The rules.
            known: Where it is known that they can, `[K, N]`.
            jobs: Threads.
        """
        finds: dict[object, int] = {}  # many rules find the same, and differ in what they make of it
        of_rule = np.array([finds.setdefault((r.before, r.closed, r.must_be_apart), len(finds)) for r in rules], int)
        distinct = [rules[place] for place in np.unique(of_rule, return_index=True)[1]]
        held = np.zeros((len(distinct), len(self._counts)), bool)
        if known is not None:
            np.logical_or.at(held, of_rule, known)
        patterns, num_labels = _patterns(distinct), self._counts.shape[1]

        def look(place: int) -> None:
            needed = np.bincount(distinct[place].before.labels, minlength=num_labels)
            if not needed[num_labels:].any():
                asked = ~held[place] & (self._counts >= needed[:num_labels]).all(axis=1)
                held[place] |= matching_kernels.holders(patterns, self._hosts, place, asked)

        with ThreadPoolExecutor(jobs) as pool:
            for _ in pool.map(look, range(len(distinct))):
                pass
        return np.asarray(held[of_rule])

    def sites(self, rule: Rule, asked: BoolArray, most: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Every site of a rule in some graphs: the graph of each, `[S]`, increasing, and its nodes in the order of `rule.before`, `[S, size]`.

        Of sites that differ only by nodes that may change places, one is given.

        Args:
            rule: The rule.
            asked: Which graphs, `[N]`.
            most: Sites of a graph that are looked at.
        """
        graphs, placed = matching_kernels.all_sites(_patterns([rule]), self._hosts, 0, asked, most)
        sites = np.empty_like(placed)
        sites[:, list(rule.order)] = placed
        return graphs, sites


def _label_counts(batch: GraphBatch) -> npt.NDArray[np.int64]:
    """How many nodes of each label every graph has, `[N, L]`."""
    num_labels = int(np.max(batch.labels, initial=0)) + 1
    flat = batch.graph_of_node() * num_labels + batch.labels
    return np.bincount(flat, minlength=len(batch) * num_labels).reshape(len(batch), num_labels)


def _patterns(rules: Sequence[Rule]) -> matching_kernels.Patterns:
    """What rules find, as the kernel takes it."""
    ptr, label, degree, closed, twin = [0], list[int](), list[int](), list[bool](), list[int]()
    ties_ptr, ties, apart_ptr, apart = [0], list[tuple[int, int]](), [0], list[int]()
    for rule in rules:
        before, place = rule.before, {node: k for k, node in enumerate(rule.order)}
        joined = rule.must_be_apart
        parts: dict[int, int] = {}  # the node of each part that was placed last
        for k, node in enumerate(rule.order):
            label.append(before.labels[node])
            degree.append(len(before.neighbours[node]))
            closed.append(rule.closed[node])
            part = _first_twin(rule, node)
            twin.append(parts.get(part, -1))
            parts[part] = k
            earlier = sorted(place[other] for other in before.neighbours[node] if place[other] < k)
            ties += [(other, before.bonds[_edge(node, rule.order[other])]) for other in earlier]
            apart += [
                place[j if i == node else i] for i, j in joined if node in (i, j) and place[j if i == node else i] < k
            ]
            ties_ptr.append(len(ties))
            apart_ptr.append(len(apart))
        ptr.append(len(label))
    return matching_kernels.Patterns(
        ptr=np.array(ptr, np.int64),
        label=np.array(label, np.int32),
        degree=np.array(degree, np.int32),
        closed=np.array(closed, bool),
        twin=np.array(twin, np.int32),
        ties_ptr=np.array(ties_ptr, np.int64),
        ties=np.array(ties, np.int32).reshape(-1, 2),
        apart_ptr=np.array(apart_ptr, np.int64),
        apart=np.array(apart, np.int32),
    )


def _first_twin(rule: Rule, node: int) -> int:
    while rule.twins[node] >= 0:
        node = rule.twins[node]
    return node


def _edge(i: int, j: int) -> tuple[int, int]:
    return (i, j) if i < j else (j, i)
