"""Evidence without any model: pairs of graphs in the data that differ by exactly a recourse, and what their labels say.

A rule claims that carrying it out turns reject into accept. Where the data holds both the graph before and the graph after, the labels of the two
can be looked up. Rules are carried out on every graph of the data, and results are found by a key. For vectors, pairs are graphs whose vector
lies within Δ of the recourse.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from comrecgc.algorithms.rules.choice import wilson_interval
from comrecgc.data import GraphDataset
from comrecgc.graphs import (
    Graph,
    GraphBatch,
    KeyArray,
    LongArray,
    NeighbourIndex,
    Pattern,
    Rule,
    batch_keys,
    carry_out,
    distinct_sites,
    ordered_edge,
)

MOST_PLACES = 64
"""Places of a rule in one graph that are tried at most."""

_PAIRS_AT_ONCE = 400_000


@dataclass(frozen=True, kw_only=True)
class MatchedPairs:
    """Pairs (before, after) of graphs in the data, by their labels."""

    as_said: int = 0  # pairs that go from reject to accept, as the recourse claims
    against: int = 0  # pairs that go from accept to reject
    stays_reject: int = 0  # pairs that are labelled reject before and after
    stays_accept: int = 0  # pairs that are labelled accept before and after
    listed: tuple[tuple[int, int], ...] = ()  # the pairs, by the places of their graphs in the data

    def __len__(self) -> int:
        return self.as_said + self.against + self.stays_reject + self.stays_accept

    def __add__(self, other: MatchedPairs) -> MatchedPairs:
        return MatchedPairs(**{name: value + getattr(other, name) for name, value in vars(self).items()})

    @property
    def changed(self) -> int:
        """Pairs whose labels differ."""
        return self.as_said + self.against

    @property
    def share_of_changes(self) -> float | None:
        """Of the pairs whose labels differ, the share that go as said; one half if the recourse has nothing to do with the label."""
        return self.as_said / self.changed if self.changed else None

    @property
    def interval(self) -> tuple[float, float]:
        """95% interval of `share_of_changes`."""
        return wilson_interval(self.as_said, self.changed)

    @property
    def share_of_rejects(self) -> float | None:
        """Of the pairs labelled reject before, the share labelled accept after."""
        rejects = self.as_said + self.stays_reject
        return self.as_said / rejects if rejects else None

    def figures(self) -> dict[str, float | int | list[float] | None]:
        """Counts and shares as plain values."""
        return {
            "pairs": len(self),
            **{name: value for name, value in vars(self).items() if name != "listed"},
            "share_of_changes": self.share_of_changes,
            "interval": list(self.interval),
            "share_of_rejects": self.share_of_rejects,
        }


@dataclass(frozen=True, eq=False)
class LabelledGraphs:
    """Graphs that can be looked up. Graphs alike count once, and not at all where their labels differ."""

    dataset: GraphDataset  # the data

    @cached_property
    def keys(self) -> KeyArray:
        """Key of every graph, bonds included, `[len(dataset)]`."""
        return bonded_keys(self.dataset.graphs, self.dataset.num_labels)

    @cached_property
    def classes(self) -> Mapping[int, int]:
        """Label of every graph by its key."""
        said: dict[int, set[int]] = {}
        for key, label in zip(self.keys.tolist(), self.dataset.classes.tolist(), strict=True):
            said.setdefault(key, set()).add(label)
        return {key: next(iter(labels)) for key, labels in said.items() if len(labels) == 1}

    @cached_property
    def places(self) -> Mapping[int, int]:
        """Place of the first graph of every key."""
        return {key: place for place, key in reversed(list(enumerate(self.keys.tolist())))}

    @cached_property
    def compositions(self) -> LongArray:
        """How many nodes of each label, and edges, every graph has, `[len(dataset), L + 1]`."""
        batch, num = GraphBatch.from_graphs(self.dataset.graphs), self.dataset.num_labels
        cells = batch.graph_of_node() * num + batch.labels
        labels = np.bincount(cells, minlength=len(batch) * num).reshape(len(batch), num)
        return np.concatenate([labels, batch.edge_counts()[:, None]], axis=1)

    @cached_property
    def _surroundings(self) -> dict[int, NeighbourIndex]:
        return {}

    def pairs(self, rule: Rule) -> MatchedPairs:
        """The pairs of graphs that differ by a rule."""
        gained = np.zeros(self.dataset.num_labels + 1, np.int64)
        np.add.at(gained, list(rule.after.labels), 1)
        np.add.at(gained, list(rule.before.labels), -1)
        gained[-1] = len(rule.after.edges) - len(rule.before.edges)
        # Where several nodes go, edges among them that the rule does not name go too, and their number says nothing.
        told = slice(None) if len(rule.before.labels) - len(rule.kept) < 2 else slice(-1)
        known = {row[told].tobytes() for row in self.compositions}
        done: set[tuple[int, int]] = set()
        counts, listed = Counter[tuple[int, int]](), []
        for place, row in enumerate(self.compositions + gained):
            if row[told].tobytes() not in known or int(self.keys[place]) not in self.classes:
                continue
            graph = self.dataset.graphs[place]
            where = self._surroundings.setdefault(place, NeighbourIndex(graph))
            results = [carry_out(rule, graph, site) for site in distinct_sites(rule, where, MOST_PLACES)]
            first = int(self.keys[place])
            for second in bonded_keys(results, self.dataset.num_labels).tolist():
                if second in self.classes and second != first and (first, second) not in done:
                    done.add((first, second))
                    counts[self._outcome(first, second)] += 1
                    listed.append((self.places[first], self.places[second]))
        outcomes = {"as_said": (0, 1), "against": (1, 0), "stays_reject": (0, 0), "stays_accept": (1, 1)}
        return MatchedPairs(**{name: counts[outcome] for name, outcome in outcomes.items()}, listed=tuple(listed))

    def _outcome(self, first: int, second: int) -> tuple[int, int]:
        """Classes of two graphs; for a relative goal, whether the second reaches what the first is to become."""
        goal, values = self.dataset.goal, self.dataset.values
        if goal is None or values is None or not goal.is_relative:
            return self.classes[first], self.classes[second]
        before, after = (values[[self.places[key]]] for key in (first, second))
        return 0, int(goal.surplus(before, after)[0] >= 0)


def bonded_keys(graphs: Sequence[Graph], num_labels: int) -> KeyArray:
    """Keys of graphs that tell edge labels apart: every edge becomes a node between its ends, labelled after the alphabet."""
    batch = GraphBatch.from_graphs(graphs)
    if batch.edge_labels is None:
        return batch_keys(batch)
    return batch_keys(GraphBatch.from_graphs(_subdivided(graph, num_labels) for graph in graphs))


def _subdivided(graph: Graph, num_labels: int) -> Graph:
    assert graph.edge_labels is not None
    middle = graph.num_nodes + np.arange(graph.num_edges, dtype=np.int32)
    edges = np.concatenate([np.stack([graph.edges[:, side], middle], axis=1) for side in (0, 1)])
    edges = edges[np.lexsort((edges[:, 1], edges[:, 0]))].astype(np.int32)
    return Graph.assemble(
        np.concatenate([graph.labels, num_labels + graph.edge_labels]).astype(np.int32),
        edges,
        None,
        np.arange(graph.num_nodes + graph.num_edges, dtype=np.int32),
        graph.num_nodes + graph.num_edges,
    )


# The changes of a rule one by one, wherever they are made: what matched pairs can still test where no pair differs by the whole rule.


Node = tuple[bool, int]
"""Whether a node is new, and its number after; or not, and its number before."""


def single_changes(rule: Rule) -> tuple[Rule, ...]:
    """Each change of a rule by itself and without context; none where that is the rule itself."""
    changed = _changed(rule)
    groups = _connected(rule, changed) if rule.num_changes > 1 else [changed]
    parts = tuple(_part(rule, nodes) for nodes in groups)
    return () if len(parts) == 1 and len(parts[0].before.labels) == len(rule.before.labels) else parts


def _changed(rule: Rule) -> set[Node]:
    """Nodes that are removed, new or relabelled, and ends of edges that are."""
    before, after, image = rule.before, rule.after, rule.image
    back = {j: i for i, j in rule.kept}
    nodes: set[Node] = {(True, j) for j in range(len(after.labels)) if j not in back}
    nodes |= {(False, i) for i, label in enumerate(before.labels) if i not in image or after.labels[image[i]] != label}
    for (i, j), bond in before.bonds.items():
        if i not in image or j not in image or after.bonds.get(ordered_edge(image[i], image[j])) != bond:
            nodes |= {(False, i), (False, j)}
    for (i, j), bond in after.bonds.items():
        if i not in back or j not in back or before.bonds.get(ordered_edge(back[i], back[j])) != bond:
            nodes |= {(False, back[k]) if k in back else (True, k) for k in (i, j)}
    return nodes


def _connected(rule: Rule, nodes: set[Node]) -> list[set[Node]]:
    """The changed nodes in groups that hang together before or after."""
    back = {j: i for i, j in rule.kept}
    ties = [((False, i), (False, j)) for i, j in rule.before.edges]
    ties += [tuple((False, back[k]) if k in back else (True, k) for k in edge) for edge in rule.after.edges]  # type: ignore[misc]
    groups: list[set[Node]] = []
    for node in sorted(nodes):
        groups.append({node})
        for first, second in ties:
            if node in (first, second) and first in nodes and second in nodes:
                touched = [group for group in groups if first in group or second in group]
                groups = [group for group in groups if group not in touched] + [set().union(*touched)]
    return groups


def _part(rule: Rule, nodes: set[Node]) -> Rule:
    """The rule cut down to some of its nodes; only what it removes is closed."""
    image = rule.image
    olds = sorted(node for new, node in nodes if not new)
    kept = [i for i in olds if i in image]
    news = [image[i] for i in kept] + sorted(node for new, node in nodes if new)
    return Rule(
        before=_within(rule.before, olds),
        after=_within(rule.after, news),
        kept=tuple((olds.index(i), k) for k, i in enumerate(kept)),
        closed=tuple(i not in image for i in olds),
    )


def _within(pattern: Pattern, nodes: list[int]) -> Pattern:
    rank = {node: k for k, node in enumerate(nodes)}
    rows = sorted(
        (*ordered_edge(rank[i], rank[j]), bond) for (i, j), bond in pattern.bonds.items() if i in rank and j in rank
    )
    return Pattern(
        tuple(pattern.labels[node] for node in nodes),
        tuple((row[0], row[1]) for row in rows),
        None if pattern.edge_labels is None else tuple(row[2] for row in rows),
    )
