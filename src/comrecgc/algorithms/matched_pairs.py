"""Matched pairs, evidence without a model: pairs of graphs in the data that differ by exactly one recourse, and their labels.

A rule claims that carrying it out turns reject into accept. Where the data holds both the graph before and the graph after, the labels of the two
can be looked up. Rules are carried out on every graph of the data, and results are found by a key. For vectors, pairs are graphs whose vector
lies within Δ of the recourse.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from comrecgc.algorithms.rules.choice import wilson_interval
from comrecgc.data import GraphDataset
from comrecgc.graphs import (
    BoolArray,
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
from comrecgc.models import EffectModel, Likeness, MeasuredGraphs, NumberJury, mixed_keys, node_colours

MOST_PLACES = 64
"""Most sites of a rule that are tried in one graph."""


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
        """Of the pairs whose labels differ, the share that turn from reject to accept; one half if the recourse has nothing to do with the label."""
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
    """Graphs to be looked up by key. Equal graphs count once, and not at all if their labels differ."""

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
        """Index of the first graph of every key."""
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
        columns = slice(None) if len(rule.before.labels) - len(rule.kept) < 2 else slice(-1)
        known = {row[columns].tobytes() for row in self.compositions}
        done: set[tuple[int, int]] = set()
        counts, listed = Counter[tuple[int, int]](), []
        for place, row in enumerate(self.compositions + gained):
            if row[columns].tobytes() not in known or int(self.keys[place]) not in self.classes:
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
        """Classes of two graphs; for a relative goal, whether the second reaches the threshold set by the first."""
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
    """Each change of a rule by itself and without context; empty if that is the rule itself."""
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
    """The changed nodes in groups that are connected before or after."""
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
    """The rule restricted to some of its nodes; only removed nodes are closed."""
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


# Measured changes: all pairs of graphs in a table that differ by one change, found by cutting every graph and matching what is left.
#
# A pair is two graphs that are the same but for one place: a group on one edge (or nothing in its place), or the label of a node. Its change is
# what stands there before and after, its context the surroundings of the place at radius 0, 1, 2 and 3. Pairs of the same change tell what it
# does to a measured number.


FloatArray = npt.NDArray[np.float64]
Cut = tuple[int, int, int, BoolArray | None]
"""A site: the graph, the node that stays, the node that is removed (-1 for none, the same if a node is relabelled), and the removed group."""

LARGEST_GROUP = 12
"""Most nodes of a group that is exchanged."""

MOST_SHARING = 200
"""Most graphs with the same remainder among which pairs are formed."""

RADII = (0, 1, 2, 3)
_ROUNDS = 10  # of hashing: surroundings that tell two remainders apart
_AT_ONCE = 40_000  # remainders hashed together
_NOTHING = np.uint64(0x9E3779B97F4A7C15)  # key of no group: a hydrogen, where these are implicit


@dataclass(frozen=True, eq=False, kw_only=True)
class Pairs:
    """Pairs of graphs that differ by one change; a pair can occur several times, with a smaller and a larger group."""

    first: LongArray  # the graph before, by its place, `[P]`
    second: LongArray  # the graph after, `[P]`
    groups: KeyArray  # key of what goes and of what comes, `[P, 2]`; of each pair the smaller key goes
    contexts: KeyArray  # key of the surroundings at each radius of `RADII`, `[P, 4]`

    def __len__(self) -> int:
        return len(self.first)

    def take(self, rows: LongArray | BoolArray) -> Pairs:
        """The pairs at some rows."""
        return Pairs(**{name: value[rows] for name, value in vars(self).items()})

    def swapped(self) -> Pairs:
        """Every pair reversed."""
        return Pairs(first=self.second, second=self.first, groups=self.groups[:, ::-1], contexts=self.contexts)

    def both_ways(self) -> Pairs:
        """Every pair in both directions."""
        back = vars(self.swapped())
        return Pairs(**{name: np.concatenate([value, back[name]]) for name, value in vars(self).items()})

    def rules(self, radius: int | None) -> KeyArray:
        """Key of the rule that each pair shows, at a radius, `[P]`; without a radius, of the groups that leave and enter, whatever the context."""
        context = np.uint64(0) if radius is None else self.contexts[:, radius]
        return mixed_keys(mixed_keys(self.groups[:, 0]) + np.uint64(3) * self.groups[:, 1] + context)


def find_pairs(graphs: Sequence[Graph], num_labels: int) -> Pairs:
    """All pairs of some graphs that differ by one change."""
    cuts = [cut for place, graph in enumerate(graphs) for cut in _cuts(place, graph)]
    place, kept, gone = (np.array([cut[k] for cut in cuts], np.int64) for k in range(3))
    rest, contexts = np.zeros(len(cuts), np.uint64), np.zeros((len(cuts), len(RADII)), np.uint64)
    for start in range(0, len(cuts), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        colours, roots, starts = _coloured(cuts[part], graphs, num_labels)
        rest[part] = mixed_keys(np.add.reduceat(mixed_keys(colours[-1]), starts) ^ colours[-1][roots])
        contexts[part] = np.stack([colours[radius][roots] for radius in RADII], axis=1)
    group = np.full(len(cuts), _NOTHING)
    relabelled, swapped = np.flatnonzero(kept == gone), np.flatnonzero((gone >= 0) & (kept != gone))
    labels = [graphs[cuts[k][0]].labels[cuts[k][1]] for k in relabelled.tolist()]
    group[relabelled] = mixed_keys(np.array(labels, np.uint64) + np.uint64(77))
    if len(swapped):
        colours, roots, starts = _coloured([cuts[k] for k in swapped.tolist()], graphs, num_labels, inside=True)
        group[swapped] = mixed_keys(np.add.reduceat(mixed_keys(colours[-1]), starts) + mixed_keys(colours[-1][roots]))
    return _matched(place, rest, contexts, group)


def _cuts(place: int, graph: Graph) -> list[Cut]:
    """Every site of a graph: no group on a node, a node to relabel, groups of at most `LARGEST_GROUP` nodes that hang on one edge."""
    found: list[Cut] = [(place, node, goes, None) for node in range(graph.num_nodes) for goes in (-1, node)]
    neighbours: list[list[int]] = [[] for _ in range(graph.num_nodes)]
    for i, j in graph.edges.tolist():
        neighbours[i].append(j)
        neighbours[j].append(i)
    for stays, goes in [*graph.edges.tolist(), *graph.edges[:, ::-1].tolist()]:
        seen, queue = {stays, goes}, [goes]
        for node in queue:
            if len(queue) > LARGEST_GROUP or (node != goes and stays in neighbours[node]):
                break
            queue += [other for other in neighbours[node] if other not in seen]
            seen.update(neighbours[node])
        else:
            if len(queue) <= graph.num_nodes // 2:
                mask = np.zeros(graph.num_nodes, bool)
                mask[queue] = True
                found.append((place, stays, goes, mask))
    return found


def _coloured(
    cuts: Sequence[Cut], graphs: Sequence[Graph], num_labels: int, *, inside: bool = False
) -> tuple[Sequence[KeyArray], LongArray, LongArray]:
    """Hashes of the nodes of each remaining graph with its site marked, or of the removed groups, marked by the edge that they hang on; also the
    marked node and the first node of each."""
    labels, edges, bonds, sizes, roots = [], [], [], [0], []
    for place, stays, goes, group in cuts:
        graph = graphs[place]
        mine, ends = graph.labels.astype(np.int32, copy=True), graph.edges
        kinds = np.zeros(graph.num_edges, np.int32) if graph.edge_labels is None else graph.edge_labels
        root = goes if inside else stays
        if inside:
            tie = (ends == stays).any(axis=1) & (ends == goes).any(axis=1)
            mine[root] += (2 + int(kinds[tie][0])) * num_labels
        else:
            mine[root] = 2 * num_labels if stays == goes else num_labels + mine[root]
        if group is not None:
            kept = group if inside else ~group
            rank, within = np.cumsum(kept) - 1, kept[ends].all(axis=1)
            mine, ends, kinds, root = mine[kept], rank[ends[within]], kinds[within], int(rank[root])
        labels.append(mine)
        edges.append(ends.astype(np.int64).reshape(-1, 2) + sizes[-1])
        bonds.append(kinds)
        roots.append(sizes[-1] + root)
        sizes.append(sizes[-1] + len(mine))
    node_ptr, edge_ptr = np.array(sizes), np.concatenate([[0], np.cumsum([len(ends) for ends in edges])])
    batch = GraphBatch(np.concatenate(labels), np.concatenate(edges), node_ptr, edge_ptr, np.concatenate(bonds))
    return node_colours(batch, LARGEST_GROUP if inside else _ROUNDS), np.array(roots), node_ptr[:-1]


def _matched(place: LongArray, rest: KeyArray, contexts: KeyArray, group: KeyArray) -> Pairs:
    """Pairs of sites with the same remaining graph and different groups."""
    order = np.lexsort((place, group, rest))
    starts = np.flatnonzero(rest[order][1:] != rest[order][:-1]) + 1
    before, after = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for run in np.split(order, starts):
        if 2 <= len(run) <= MOST_SHARING:
            i, j = np.triu_indices(len(run), 1)
            differ = (group[run[i]] != group[run[j]]) & (place[run[i]] != place[run[j]])
            before.append(run[i[differ]])
            after.append(run[j[differ]])
    one, two = np.concatenate(before), np.concatenate(after)
    columns = (place[one], place[two], group[one], group[two], contexts[one, 2])
    key = np.stack([column.astype(np.int64) for column in columns], axis=1)
    once = np.sort(np.unique(key, axis=0, return_index=True)[1])
    one, two = one[once], two[once]
    groups = np.stack([group[one], group[two]], axis=1)
    return Pairs(first=place[one], second=place[two], groups=groups, contexts=contexts[one])


# What measured pairs say about predictions: how far these are off, and how far pairs of a rule may be believed elsewhere.


STRENGTHS, SHARES = (0.1, 0.3, 1.0), (0.0, 0.3, 1.0)
"""Variances of effects of rules that are tried, and shares of them that unlike graphs have in common."""

_FEWEST_PAIRS = 30
_TRIED_RULES, _TRIED_PAIRS = 300, 60  # by which the strength is found
_LEVELS = np.linspace(0.0025, 0.9975, 200)


def calibrated(jury: NumberJury, dataset: GraphDataset) -> tuple[NumberJury, str]:
    """The jury calibrated by measured pairs, and a sentence on it."""
    assert dataset.values is not None
    batch = GraphBatch.from_graphs(dataset.graphs)
    graphs = MeasuredGraphs(values=dataset.values, answers=jury.answers(batch), folds=jury.folds, likeness=Likeness(batch))  # fmt: skip
    jury, pairs = replace(jury, measured=graphs), find_pairs(dataset.graphs, dataset.num_labels)
    number = len(np.unique(np.stack([pairs.first, pairs.second], axis=1), axis=0))
    if number < _FEWEST_PAIRS:
        return jury, jury.sentence
    jury = replace(jury, effects=fit_effects(pairs, graphs))
    model = jury.effects
    shares = [model.effect(np.ones(7), np.ones((7, 7)), np.full((1, 7), alike))[0][0] for alike in (1.0, 0.3)]
    return jury, (
        f"{jury.sentence} What seven measured pairs of one series differ by from that is believed to {shares[0]:.0%} in the series and to {shares[1]:.0%} "
        f"in unlike molecules: so the changes of {number} pairs are predicted best by pairs of other molecules."
    )


def fit_effects(pairs: Pairs, graphs: MeasuredGraphs, radius: int = 1) -> EffectModel:
    """The best combination of predictions and pairs, found by cross-fitting: pairs of other parts of the data predict each pair."""
    pairs = pairs.both_ways()
    predicted, surprise, unseen = graphs.changes(pairs.first, pairs.second)
    measured, slopes = graphs.values[pairs.second] - graphs.values[pairs.first], list[float]()
    for rows in (unseen, ~unseen):
        some = rows if rows.sum() >= _FEWEST_PAIRS else np.ones_like(rows)
        slopes.append(_slope(predicted[some], measured[some], 1.5))
    model = EffectModel(weight=slopes[0], seen=slopes[1])
    rest = graphs.unexplained(pairs.first, pairs.second, model)
    honest = unseen if unseen.sum() >= _FEWEST_PAIRS else np.ones_like(unseen)
    back = _slope(-surprise[honest], rest[honest], 1.0)
    model = replace(model, errors=np.quantile(rest[honest], _LEVELS), return_share=back)
    errors = cross_fitted_errors(pairs, rest, graphs, model, radius)
    strength, shared = min(errors, key=lambda each: errors[each])
    return replace(model, strength=strength, shared=shared)


def cross_fitted_errors(
    pairs: Pairs, rest: FloatArray, graphs: MeasuredGraphs, model: EffectModel, radius: int = 1
) -> dict[tuple[float, float], float]:
    """Mean squared error of the effect of a rule in held-out pairs, for each strength of effects and each share common to unlike graphs."""
    key, between = pairs.rules(radius), graphs.likeness.between
    one, two = graphs.folds[pairs.first], graphs.folds[pairs.second]
    _, rule, count = np.unique(key, return_inverse=True, return_counts=True)
    common = np.argsort(-count, kind="stable")[:_TRIED_RULES]
    models = {(s, c): replace(model, strength=s, shared=c) for s in STRENGTHS for c in SHARES}
    errors, number = dict.fromkeys(models, 0.0), 0
    members = np.split(np.argsort(rule, kind="stable"), np.cumsum(count)[:-1])
    for rows in (members[k] for k in common.tolist()):
        for fold in np.unique(one[rows]).tolist():
            asked = rows[(one[rows] == fold) & (two[rows] == fold)][:_TRIED_PAIRS]
            known = rows[(one[rows] != fold) & (two[rows] != fold)]
            known = known[:: -(-len(known) // _TRIED_PAIRS)] if len(known) else known
            if not len(asked) or not len(known):
                continue
            first = pairs.first[known]
            alike, across = between(first, first), between(pairs.first[asked], first)
            number += len(asked)
            for which, each in models.items():
                errors[which] += float(((rest[asked] - each.effect(rest[known], alike, across)[0]) ** 2).sum())
    return {which: error / max(number, 1) for which, error in errors.items()}


def _slope(said: FloatArray, came: FloatArray, most: float) -> float:
    """The factor of least squares from `said` to `came`, clipped to `[0, most]`."""
    square = float(said @ said)
    return float(np.clip(said @ came / square, 0, most)) if square > 0 else 0.0
