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
from comrecgc.graphs import Graph, GraphBatch, KeyArray
from comrecgc.models import NumberJury, mixed_keys, node_colours

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Cut = tuple[int, int, int, Mask | None]
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
    """Pairs of graphs that differ by one change; a pair may be here several times, with a smaller and a larger group.

    Args:
        first: The graph before, by its place, `[P]`.
        second: The graph after, `[P]`.
        groups: Key of what goes and of what comes, `[P, 2]`; of each pair the smaller key goes.
        contexts: Key of the surroundings at each radius of `RADII`, `[P, 4]`.
    """

    first: IntArray
    second: IntArray
    groups: KeyArray
    contexts: KeyArray

    def __len__(self) -> int:
        return len(self.first)

    def take(self, rows: IntArray | Mask) -> Pairs:
        """Some of the pairs."""
        return Pairs(**{name: value[rows] for name, value in vars(self).items()})

    def rules(self, radius: int) -> KeyArray:
        """Key of the rule at a radius that each pair shows, `[P]`."""
        return mixed_keys(mixed_keys(self.groups[:, 0]) + np.uint64(3) * self.groups[:, 1] + self.contexts[:, radius])


def find_pairs(graphs: Sequence[Graph], num_labels: int) -> Pairs:
    """All pairs of some graphs that differ by one change.

    Args:
        graphs: The graphs, each once.
        num_labels: Size of the alphabet.
    """
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
) -> tuple[Sequence[KeyArray], IntArray, IntArray]:
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


def _matched(place: IntArray, rest: KeyArray, contexts: KeyArray, group: KeyArray) -> Pairs:
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


# What measured pairs say about predictions: how far these are off, and how many pairs a prediction is worth.


PRIORS = (1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 40.0)
"""Numbers of measured pairs that a prediction may weigh as much as."""

_FEWEST_PAIRS = 30


def calibrated(jury: NumberJury, dataset: GraphDataset) -> tuple[NumberJury, str]:
    """The jury with its noise and the weight of its estimates, from measured pairs; and a sentence on it.

    Args:
        jury: The jury.
        dataset: What it was trained on.
    """
    pairs = find_pairs(dataset.graphs, dataset.num_labels)
    assert dataset.values is not None
    if len(pairs) < _FEWEST_PAIRS:
        return jury, f"{jury.sentence} Its estimates weigh as much as {jury.prior:g} measured pairs."
    measured = dataset.values[pairs.second] - dataset.values[pairs.first]
    predicted = jury.unseen[pairs.second] - jury.unseen[pairs.first]
    model = EffectModel.of(pairs, measured, predicted, (dataset.values - jury.unseen)[pairs.first], jury.folds)
    noise = float(np.sqrt(((measured - predicted) ** 2).mean())) or 1.0
    jury = replace(jury, noise=noise, prior=model.prior, return_share=model.return_share)
    number = len(np.unique(np.stack([pairs.first, pairs.second], axis=1), axis=0))
    return jury, (
        f"{jury.sentence} Its estimate of a rule weighs as much as {jury.prior:g} measured pairs: with that weight, the changes of {number} pairs are "
        "predicted best by pairs of other molecules."
    )


def cross_fitted_errors(
    pairs: Pairs, measured: FloatArray, predicted: FloatArray, folds: IntArray, radius: int = 1
) -> dict[float, float]:
    """Root mean squared error of the change of a pair, by the weight of the prediction beside other pairs of the same rule.

    Args:
        pairs: The pairs.
        measured: Change of each, `[P]`.
        predicted: What models say of it, `[P]`.
        folds: Part of the data that each graph belongs to; pairs that share no part with a pair correct what is said of it.
        radius: Of the rules.
    """
    _, rule = np.unique(pairs.rules(radius), return_inverse=True)
    rest, errors = measured - predicted, dict.fromkeys(PRIORS, 0.0)
    for fold in np.unique(folds).tolist():
        within = (folds[pairs.first] == fold) | (folds[pairs.second] == fold)
        count = np.bincount(rule[~within], minlength=rule.max() + 1)
        total = np.bincount(rule[~within], rest[~within], minlength=rule.max() + 1)
        for prior in PRIORS:
            shrunk = total / (count + prior)
            errors[prior] += float(((rest - shrunk[rule])[within] ** 2).sum())
    return {prior: float(np.sqrt(error / max(len(rest), 1))) for prior, error in errors.items()}


@dataclass(frozen=True, eq=False, kw_only=True)
class EffectModel:
    """What a change does to a number: what models predict for the very graph, corrected by measured pairs of the same rule, from general to specific.

    Args:
        prior: Pairs that the prediction weighs as much as.
        weight: Share of the prediction that is believed where there are no pairs.
        return_share: How much of the difference between a graph's own measurement and its prediction goes back when it is changed.
        corrections: For each radius the keys of its rules, increasing, and what is added for each.
    """

    prior: float
    weight: float
    return_share: float
    corrections: tuple[tuple[KeyArray, FloatArray], ...]

    @classmethod
    def of(
        cls, pairs: Pairs, measured: FloatArray, predicted: FloatArray, surprise: FloatArray, folds: IntArray
    ) -> EffectModel:
        """Fit the model; weights by cross-fitting.

        Args:
            pairs: Measured pairs.
            measured: Change of each, `[P]`.
            predicted: What models that saw neither graph say of it, `[P]`.
            surprise: By how much the first graph's measurement exceeds what they say of it, `[P]`.
            folds: Part of the data that each graph belongs to.
        """
        design = np.stack([predicted, -surprise], axis=1)
        weight, back = np.linalg.lstsq(design, measured, rcond=None)[0] if len(measured) else (1.0, 0.0)
        weight, back = float(np.clip(weight, 0, 1.5)), float(np.clip(back, 0, 1))
        errors = cross_fitted_errors(pairs, measured, weight * predicted, folds)
        prior = min(errors, key=lambda each: errors[each])
        rest, corrections = measured - weight * predicted, []
        for radius in RADII[:3]:
            keys, rule = np.unique(pairs.rules(radius), return_inverse=True)
            added = np.bincount(rule, rest) / (np.bincount(rule) + prior)
            corrections.append((keys, added))
            rest = rest - added[rule]
        return cls(prior=prior, weight=weight, return_share=back, corrections=tuple(corrections))

    def change(self, pairs: Pairs, predicted: FloatArray, surprise: FloatArray | None = None) -> FloatArray:
        """Change of the number of each pair, `[P]`; `surprise` as in `of`, where the first graph was measured."""
        change = self.weight * predicted
        for radius, (keys, added) in zip(RADII, self.corrections, strict=False):
            rules = pairs.rules(radius)
            at = np.minimum(np.searchsorted(keys, rules), max(len(keys) - 1, 0))
            change = change + (np.where(keys[at] == rules, added[at], 0.0) if len(keys) else 0.0)
        return change if surprise is None else change - self.return_share * surprise
