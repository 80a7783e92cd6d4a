"""Measured changes: all pairs of graphs in a table that differ by one change, found by cutting every graph and matching what is left.

A pair is two graphs that are the same but for one place: a group on one edge (or nothing in its place), or the label of a node. Its change is what stands
there before and after, its context the surroundings of the place at radius 0, 1, 2 and 3. Pairs of the same change tell what it does to a measured number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from comrecgc.data import GraphDataset
from comrecgc.graphs import Graph, GraphBatch, KeyArray
from comrecgc.models import NumberJury, mixed_keys, node_colours

IntArray = npt.NDArray[np.int64]

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
        sites: In each of both graphs the node that stays and the node that goes, `[P, 2, 2]`: -1 for none, and twice the same where a node is relabelled.
        size: Nodes that go and that come, `[P]`.
    """

    first: IntArray
    second: IntArray
    groups: KeyArray
    contexts: KeyArray
    sites: IntArray
    size: IntArray

    def __len__(self) -> int:
        return len(self.first)

    def take(self, rows: IntArray | npt.NDArray[np.bool_]) -> Pairs:
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
    rows = [row for place, graph in enumerate(graphs) for row in _cuts(place, graph)]
    if not rows:
        return _none()
    place, kept, gone = (np.array([row[k] for row in rows], np.int64) for k in range(3))
    size = np.array([1 if row[3] is None and row[2] >= 0 else 0 if row[3] is None else row[3].sum() for row in rows])
    rest = np.zeros(len(rows), np.uint64)
    contexts = np.zeros((len(rows), len(RADII)), np.uint64)
    group = np.full(len(rows), _NOTHING)
    for start in range(0, len(rows), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        rest[part], contexts[part] = _remainder_keys(rows[part], graphs, num_labels)
    relabelled = np.flatnonzero(kept == gone)
    group[relabelled] = mixed_keys(
        np.array([graphs[rows[k][0]].labels[rows[k][1]] for k in relabelled.tolist()], np.uint64) + np.uint64(77)
    )
    swapped = np.flatnonzero((gone >= 0) & (kept != gone))
    group[swapped] = _group_keys([rows[k] for k in swapped.tolist()], graphs)
    return _matched(place, kept, gone, size, rest, contexts, group)


def _cuts(place: int, graph: Graph) -> list[tuple[int, int, int, npt.NDArray[np.bool_] | None]]:
    """Every place of a graph: (graph, node that stays, node that goes, its group); nothing on a node; a node that may be relabelled."""
    found: list[tuple[int, int, int, npt.NDArray[np.bool_] | None]] = []
    for node in range(graph.num_nodes):
        found += [(place, node, -1, None), (place, node, node, None)]
    for stays, goes, group in _hanging(graph):
        found.append((place, stays, goes, group))
    return found


def _hanging(graph: Graph) -> list[tuple[int, int, npt.NDArray[np.bool_]]]:
    """Groups of at most `LARGEST_GROUP` nodes that hang on one edge: node that stays, node that goes, mask of the group."""
    neighbours: list[list[int]] = [[] for _ in range(graph.num_nodes)]
    for i, j in graph.edges.tolist():
        neighbours[i].append(j)
        neighbours[j].append(i)
    found = []
    for i, j in graph.edges.tolist():
        for stays, goes in ((i, j), (j, i)):
            seen, queue = {stays, goes}, [goes]
            for node in queue:
                queue += [other for other in neighbours[node] if other not in seen]
                if node != goes and stays in neighbours[node]:
                    break
                seen.update(neighbours[node])
                if len(queue) > LARGEST_GROUP:
                    break
            else:
                if len(queue) <= min(LARGEST_GROUP, graph.num_nodes // 2):
                    mask = np.zeros(graph.num_nodes, bool)
                    mask[queue] = True
                    found.append((stays, goes, mask))
    return found


def _remainder_keys(rows: Sequence[tuple[int, int, int, npt.NDArray[np.bool_] | None]], graphs: Sequence[Graph], num_labels: int) -> tuple[KeyArray, KeyArray]:  # fmt: skip
    """Key of what is left of each graph, its place marked, `[C]`, and of the surroundings of the place, `[C, 4]`."""
    labels, edges, bonds, sizes, counts, roots = [], [], [], [], [], []
    for place, stays, goes, group in rows:
        graph = graphs[place]
        mine = graph.labels.astype(np.int32, copy=True)
        mine[stays] = 2 * num_labels if stays == goes else num_labels + mine[stays]
        ends, kinds = graph.edges, graph.edge_labels
        root = stays
        if group is not None:
            kept = ~group
            rank = np.cumsum(kept) - 1
            inside = kept[ends].all(axis=1)
            mine, ends, root = mine[kept], rank[ends[inside]], int(rank[stays])
            kinds = None if kinds is None else kinds[inside]
        labels.append(mine)
        edges.append(ends)
        bonds.append(np.zeros(len(ends), np.int32) if kinds is None else kinds)
        sizes.append(len(mine))
        counts.append(len(ends))
        roots.append(root)
    batch = _batch(labels, edges, bonds, sizes, counts)
    roots_at = batch.node_ptr[:-1] + np.array(roots)
    colours = node_colours(batch, _ROUNDS)
    total = np.add.reduceat(mixed_keys(colours[-1]), batch.node_ptr[:-1])
    return mixed_keys(total ^ colours[-1][roots_at]), np.stack([colours[radius][roots_at] for radius in RADII], axis=1)


def _group_keys(rows: Sequence[tuple[int, int, int, npt.NDArray[np.bool_] | None]], graphs: Sequence[Graph]) -> KeyArray:  # fmt: skip
    """Key of each group, with the edge that it hangs on, `[C]`."""
    labels, edges, bonds, sizes, counts, roots, hung = [], [], [], [], [], [], []
    for place, stays, goes, group in rows:
        assert group is not None
        graph = graphs[place]
        rank = np.cumsum(group) - 1
        inside = group[graph.edges].all(axis=1)
        kinds = np.zeros(graph.num_edges, np.int32) if graph.edge_labels is None else graph.edge_labels
        tie = ((graph.edges == stays).any(axis=1)) & ((graph.edges == goes).any(axis=1))
        hung.append(int(kinds[tie][0]))
        labels.append(graph.labels[group])
        edges.append(rank[graph.edges[inside]])
        bonds.append(kinds[inside])
        sizes.append(int(group.sum()))
        counts.append(int(inside.sum()))
        roots.append(int(rank[goes]))
    if not rows:
        return np.zeros(0, np.uint64)
    batch = _batch(labels, edges, bonds, sizes, counts)
    colours = node_colours(batch, LARGEST_GROUP)[-1]
    total = np.add.reduceat(mixed_keys(colours), batch.node_ptr[:-1])
    root = mixed_keys(colours[batch.node_ptr[:-1] + np.array(roots)] + np.array(hung, np.uint64) + np.uint64(1))
    return mixed_keys(total + root)


def _batch(labels: list[npt.NDArray[np.int32]], edges: list[npt.NDArray[Any]], bonds: list[npt.NDArray[np.int32]], sizes: list[int], counts: list[int]) -> GraphBatch:  # fmt: skip
    node_ptr, edge_ptr = (np.concatenate([[0], np.cumsum(it)]).astype(np.int64) for it in (sizes, counts))
    ends = np.concatenate(edges).astype(np.int64).reshape(-1, 2) + np.repeat(node_ptr[:-1], counts)[:, None]
    return GraphBatch(np.concatenate(labels).astype(np.int32), ends, node_ptr, edge_ptr, np.concatenate(bonds))


def _matched(
    place: IntArray, kept: IntArray, gone: IntArray, size: IntArray, rest: KeyArray, contexts: KeyArray, group: KeyArray
) -> Pairs:
    """Pairs of places with the same remainder and different groups."""
    order = np.lexsort((place, group, rest))
    starts = np.flatnonzero(np.r_[True, rest[order][1:] != rest[order][:-1]])
    before, after = [], []
    for run in np.split(order, starts[1:]):
        if len(run) < 2 or len(run) > MOST_SHARING:
            continue
        i, j = np.triu_indices(len(run), 1)
        differ = (group[run[i]] != group[run[j]]) & (place[run[i]] != place[run[j]])
        before.append(run[i[differ]])
        after.append(run[j[differ]])
    if not before:
        return _none()
    one, two = np.concatenate(before), np.concatenate(after)
    key = np.stack([place[one], place[two], group[one].astype(np.int64), group[two].astype(np.int64), contexts[one, 2].astype(np.int64)], axis=1)  # fmt: skip
    once = np.sort(np.unique(key, axis=0, return_index=True)[1])
    one, two = one[once], two[once]
    return Pairs(
        first=place[one],
        second=place[two],
        groups=np.stack([group[one], group[two]], axis=1),
        contexts=contexts[one],
        sites=np.stack([np.stack([kept[one], gone[one]], axis=1), np.stack([kept[two], gone[two]], axis=1)], axis=1),
        size=size[one] + size[two],
    )


def _none() -> Pairs:
    empty = np.zeros(0, np.int64)
    keys = np.zeros((0, 2), np.uint64)
    return Pairs(first=empty, second=empty, groups=keys, contexts=np.zeros((0, len(RADII)), np.uint64), sites=np.zeros((0, 2, 2), np.int64), size=empty)  # fmt: skip


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
    jury = replace(jury, noise=float(np.sqrt(((measured - predicted) ** 2).mean())) or 1.0)
    errors = cross_fitted_errors(pairs, measured, predicted, jury.folds)
    jury = replace(jury, prior=min(errors, key=lambda prior: errors[prior]))
    number = len(np.unique(np.stack([pairs.first, pairs.second], axis=1), axis=0))
    return jury, (
        f"{jury.sentence} Its estimate of a rule weighs as much as {jury.prior:g} measured pairs: with that weight, the changes of {number} pairs are "
        "predicted best by pairs of other molecules."
    )


def cross_fitted_errors(
    pairs: Pairs,
    measured: npt.NDArray[np.float64],
    predicted: npt.NDArray[np.float64],
    folds: IntArray,
    radius: int = 1,
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
    corrections: tuple[tuple[KeyArray, npt.NDArray[np.float64]], ...]

    @classmethod
    def of(cls, pairs: Pairs, measured: npt.NDArray[np.float64], predicted: npt.NDArray[np.float64], surprise: npt.NDArray[np.float64], folds: IntArray) -> EffectModel:  # fmt: skip
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

    def change(self, pairs: Pairs, predicted: npt.NDArray[np.float64], surprise: npt.NDArray[np.float64] | None = None) -> npt.NDArray[np.float64]:  # fmt: skip
        """Change of the number of each pair, `[P]`; `surprise` as in `of`, where the first graph was measured."""
        change = self.weight * predicted
        for radius, (keys, added) in zip(RADII, self.corrections, strict=False):
            rules = pairs.rules(radius)
            at = np.minimum(np.searchsorted(keys, rules), max(len(keys) - 1, 0))
            change = change + (np.where(keys[at] == rules, added[at], 0.0) if len(keys) else 0.0)
        return change if surprise is None else change - self.return_share * surprise
