"""Measured changes: all pairs of graphs in a table that differ by one change, found by cutting every graph and matching what is left.

A pair is two graphs that are the same but for one place: a group on one edge (or nothing in its place), or the label of a node. Its change is what stands
there before and after, its context the surroundings of the place at radius 0, 1, 2 and 3. Pairs of the same change tell what it does to a measured number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from comrecgc.data import GraphDataset
from comrecgc.graphs import BoolArray, Graph, GraphBatch, KeyArray, LongArray
from comrecgc.models import EffectModel, Likeness, MeasuredGraphs, NumberJury, mixed_keys, node_colours

FloatArray = npt.NDArray[np.float64]
Cut = tuple[int, int, int, BoolArray | None]
"""A place of a graph: the graph, the node that stays, the node that goes (-1 for none, the same where a node is relabelled), and the group that goes."""

LARGEST_GROUP = 12
"""Nodes of a group that is exchanged, at most."""

MOST_SHARING = 200
"""Graphs that share a remainder of which pairs are formed, at most."""

RADII = (0, 1, 2, 3)
_ROUNDS = 10  # of hashing: surroundings that tell two remainders apart
_AT_ONCE = 40_000  # remainders hashed together
_NOTHING = np.uint64(0x9E3779B97F4A7C15)  # key of no group: a hydrogen, where these are implicit


@dataclass(frozen=True, eq=False, kw_only=True)
class Pairs:
    """Pairs of graphs that differ by one change; a pair may be here several times, with a smaller and a larger group."""

    first: LongArray  # the graph before, by its place, `[P]`
    second: LongArray  # the graph after, `[P]`
    groups: KeyArray  # key of what goes and of what comes, `[P, 2]`; of each pair the smaller key goes
    contexts: KeyArray  # key of the surroundings at each radius of `RADII`, `[P, 4]`

    def __len__(self) -> int:
        return len(self.first)

    def take(self, rows: LongArray | BoolArray) -> Pairs:
        """Some of the pairs."""
        return Pairs(**{name: value[rows] for name, value in vars(self).items()})

    def swapped(self) -> Pairs:
        """Every pair the other way round."""
        return Pairs(first=self.second, second=self.first, groups=self.groups[:, ::-1], contexts=self.contexts)

    def both_ways(self) -> Pairs:
        """Every pair forth and back."""
        back = vars(self.swapped())
        return Pairs(**{name: np.concatenate([value, back[name]]) for name, value in vars(self).items()})

    def rules(self, radius: int | None) -> KeyArray:
        """Key of the rule at a radius that each pair shows, `[P]`; without a radius, of what goes and what comes, wherever it stands."""
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
    """Every place of a graph: nothing on a node, a node that may be relabelled, groups of at most `LARGEST_GROUP` nodes that hang on one edge."""
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
    """Hashes of the nodes of what is left of each graph, its place marked, or of the groups that go, the mark being the edge that they hang on; where the
    marked node of each and its first node are."""
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
    """Pairs of places with the same remainder and different groups."""
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
    """The jury with what measured pairs say about its estimates; and a sentence on it."""
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
    """How predictions and pairs are put together best, found by cross-fitting: pairs of other parts of the data say what becomes of a pair."""
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
    """Mean squared error of the effect of a rule in pairs whose graphs took no part, by the strength of effects and the share that unlike graphs have in common."""
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
    """What `said` is multiplied by to come closest to `came`: not below 0, nor above `most`."""
    square = float(said @ said)
    return float(np.clip(said @ came / square, 0, most)) if square > 0 else 0.0
