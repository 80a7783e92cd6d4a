"""Labelled pairs for training an embedder: groups of graphs with the edit distances between their members.

Embedding a graph costs far more than comparing two embeddings, so pairs come in small groups that share graphs:

- *far*: random graphs of the dataset;
- *near*: a graph and those most like it;
- *chain*: the graphs a random walk of edits passes through, the distances the search for recourse meets;
- *path*: the graphs on a cheap edit path between two of the dataset, any two of which are about as far apart as the edits
  between them cost, so one solved pair labels many.

Distances are costs of the cheapest mapping found (`edit_distance`), about a hundredth above the true ones.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from comrecgc.graphs import (
    Graph,
    GraphBatch,
    LongArray,
    apply_edit,
    group_neighbours,
    one_edit_table,
    path_costs,
    path_graphs,
    pointers,
)
from comrecgc.models.edit_distance import SWEEPS, NodeMapping, edit_path, map_pairs
from comrecgc.run import Engine, LocalEngine, Progress

KINDS = ("far", "near", "chain", "path")

_Item = TypeVar("_Item")

_PAIRS = 200  # pairs of a block, about a second of work
_PAIRS_IN_A_HURRY = 8  # the same with a deadline


@dataclass(frozen=True, eq=False, slots=True)
class LabelledGroups:
    """Groups of graphs, each with the distances of some pairs of its members."""

    graphs: GraphBatch  # all graphs, group after group
    group_ptr: LongArray  # group `g` owns graphs `group_ptr[g] … group_ptr[g+1]`, `[G+1]`
    pair_ptr: LongArray  # group `g` owns pairs `pair_ptr[g] … pair_ptr[g+1]`, `[G+1]`
    pairs: LongArray  # pairs of graphs, `[P, 2]`
    distances: npt.NDArray[np.float32]  # edit distance of each pair, `[P]`
    kinds: npt.NDArray[np.int8]  # index into `KINDS` for each group, `[G]`

    def __len__(self) -> int:
        return len(self.kinds)

    def of_kind(self, kind: str) -> npt.NDArray[np.intp]:
        """Indices of the groups of one kind."""
        return np.flatnonzero(self.kinds == KINDS.index(kind))


@dataclass(frozen=True, kw_only=True)
class PairGenerator:
    """Number and size of the groups of each kind."""

    num_far: int = 400  # groups of random graphs
    num_near: int = 600  # groups of like graphs
    num_chains: int = 2500  # random edit chains
    num_paths: int = 2500  # cheap edit paths
    far_size: int = 12  # graphs in a far group
    near_size: int = 7  # graphs in a near group
    chain_size: int = 7  # graphs in a chain
    sweeps: int = SWEEPS  # effort of the edit distances, as of `map_pairs`
    engine: Engine = field(default_factory=LocalEngine)  # computes edit distances

    def generate(
        self,
        graphs: Sequence[Graph],
        num_labels: int,
        *,
        seed: int,
        progress: Progress | None = None,
        deadline: float | None = None,
    ) -> LabelledGroups:
        """Make labelled groups of graphs; those not labelled by a deadline (`time.monotonic()`) are left out."""
        started = time.monotonic()
        drawn_by, labelled_by = (
            None if deadline is None else started + share * (deadline - started) for share in (0.25, 0.85)
        )
        rng = np.random.default_rng([seed, 1])
        members: list[list[Graph]] = []
        kinds: list[int] = []
        for kind, groups in (
            ("far", self._far(graphs, rng)),
            ("near", self._near(graphs, rng, drawn_by)),
            ("chain", self._chains(graphs, num_labels, rng, drawn_by)),
        ):
            members += groups
            kinds += [KINDS.index(kind)] * len(groups)
        pairs = [list(combinations(range(len(group)), 2)) for group in members]
        labels = self._labels(members, pairs, seed, progress, labelled_by)
        members, kinds, pairs = ([column[g] for g in labels] for column in (members, kinds, pairs))  # type: ignore[assignment]
        mappings = list(labels.values())
        paths, path_pairs, path_costs = self._paths(members, kinds, pairs, mappings, rng, deadline)
        members += paths
        kinds += [KINDS.index("path")] * len(paths)
        costs = [[mapping.cost for mapping in group] for group in mappings]
        return _pack(members, kinds, pairs + path_pairs, costs + path_costs)

    def _labels(
        self,
        groups: list[list[Graph]],
        pairs: list[list[tuple[int, int]]],
        seed: int,
        progress: Progress | None,
        deadline: float | None,
    ) -> dict[int, list[NodeMapping]]:
        """Edit distances of the pairs of each group; groups come in random order, so that a deadline leaves some of each kind."""
        order = np.random.default_rng([seed, 3]).permutation(len(groups)).tolist()
        flat = [(groups[g][i], groups[g][j]) for g in order for i, j in pairs[g]]
        ptr = pointers([len(pairs[g]) for g in order])
        size = _PAIRS if deadline is None else _PAIRS_IN_A_HURRY
        blocks = (flat[start : start + size] for start in range(0, len(flat), size))
        solved: list[NodeMapping] = []
        results = self.engine.map(_solve, (self.sweeps, seed), blocks)
        for block in _until(results, deadline, least=-(-int(ptr[1]) // size) if groups else 0):
            solved += block
            if progress is not None:
                progress("edit distances", len(solved), len(flat), "")
        done = {g: solved[ptr[k] : ptr[k + 1]] for k, g in enumerate(order) if ptr[k + 1] <= len(solved)}
        return {g: done[g] for g in sorted(done)}

    def _far(self, graphs: Sequence[Graph], rng: np.random.Generator) -> list[list[Graph]]:
        size = min(self.far_size, len(graphs))
        return [[graphs[i] for i in rng.choice(len(graphs), size, replace=False)] for _ in range(self.num_far)]

    def _near(self, graphs: Sequence[Graph], rng: np.random.Generator, deadline: float | None) -> list[list[Graph]]:
        features = local_counts(graphs)
        groups = []
        centres = rng.choice(len(graphs), self.num_near, replace=self.num_near > len(graphs))
        for centre in _until(centres, deadline):
            nearest = np.argsort(np.abs(features - features[centre]).sum(axis=1), kind="stable")
            reach = nearest[1 : 3 * self.near_size]  # some way out, so that groups differ
            others = rng.choice(reach, min(self.near_size - 1, len(reach)), replace=False)
            groups.append([graphs[centre], *(graphs[i] for i in others)])
        return groups

    def _chains(
        self, graphs: Sequence[Graph], num_labels: int, rng: np.random.Generator, deadline: float | None
    ) -> list[list[Graph]]:
        starts = rng.integers(0, len(graphs), self.num_chains)
        return [random_chain(graphs[start], num_labels, self.chain_size, rng) for start in _until(starts, deadline)]

    def _paths(
        self,
        members: list[list[Graph]],
        kinds: list[int],
        pairs: list[list[tuple[int, int]]],
        mappings: list[list[NodeMapping]],
        rng: np.random.Generator,
        deadline: float | None,
    ) -> tuple[list[list[Graph]], list[list[tuple[int, int]]], list[list[int]]]:
        """Groups of the graphs on edit paths, with the costs between them."""
        solved = [
            (members[g][i], members[g][j], mapping)
            for g, kind in enumerate(kinds)
            if KINDS[kind] in ("far", "near")
            for (i, j), mapping in zip(pairs[g], mappings[g], strict=True)
            if mapping.cost >= 3
        ]
        chosen = rng.permutation(len(solved))[: self.num_paths]
        groups, group_pairs, distances = [], [], []
        for index in _until(chosen, deadline):
            first, second, mapping = solved[index]
            stations = path_graphs(first, edit_path(first, second, mapping.places))
            costs = path_costs(stations)
            kept = np.unique(np.linspace(0, len(stations) - 1, min(len(stations), 12)).round().astype(int))
            group_pairs.append(list(combinations(range(len(kept)), 2)))
            distances.append([costs[kept[j]] - costs[kept[i]] for i, j in group_pairs[-1]])
            groups.append([stations[i].fresh() for i in kept])
        return groups, group_pairs, distances


def _solve(asked: tuple[int, int], pairs: list[tuple[Graph, Graph]]) -> list[NodeMapping]:
    """Mappings of some pairs, given sweeps and seed; no pair affects another."""
    sweeps, seed = asked
    return map_pairs(pairs, sweeps=sweeps, seed=seed)


def random_chain(graph: Graph, num_labels: int, size: int, rng: np.random.Generator) -> list[Graph]:
    """A graph and the graphs a random walk of edits leads through; each kind of edit is as likely as any other."""
    chain = [graph]
    while len(chain) < size:
        table = one_edit_table(chain[-1], num_labels)
        kind = rng.choice(np.unique(table.kind))
        edit = table[int(rng.choice(np.flatnonzero(table.kind == kind)))]
        chain.append(apply_edit(chain[-1], edit))
    return [station.fresh() for station in chain]


def local_counts(graphs: Sequence[Graph]) -> npt.NDArray[np.float32]:
    """How often each pattern "a label beside a label" and each label occurs, `[len, width]`: a cheap sketch of a graph."""
    num_labels = 1 + max(int(graph.labels.max()) for graph in graphs)
    batch = GraphBatch.from_graphs(graphs)
    owner = batch.graph_of_node()
    neighbours, ptr = group_neighbours(batch)
    counts = np.zeros((len(batch), num_labels * (num_labels + 1)), dtype=np.float32)
    np.add.at(counts, (owner, batch.labels), 2.0)
    node = np.repeat(np.arange(len(batch.labels)), np.diff(ptr))
    np.add.at(counts, (owner[node], num_labels * (1 + batch.labels[node]) + batch.labels[neighbours]), 0.5)
    return counts


def _until(items: Iterable[_Item], deadline: float | None, *, least: int = 1) -> Iterator[_Item]:
    """The items until the deadline has passed, but at least `least`; the iterator is not advanced further."""
    if deadline is not None and least == 0 and time.monotonic() >= deadline:
        return
    for count, item in enumerate(items, start=1):
        yield item
        if deadline is not None and count >= least and time.monotonic() >= deadline:
            return


def _pack(
    members: list[list[Graph]], kinds: list[int], pairs: list[list[tuple[int, int]]], distances: Sequence[Sequence[int]]
) -> LabelledGroups:
    group_ptr = pointers([len(group) for group in members])
    shifted = [
        np.array(group, dtype=np.int64).reshape(-1, 2) + start for group, start in zip(pairs, group_ptr, strict=False)
    ]
    return LabelledGroups(
        graphs=GraphBatch.from_graphs(
            Graph.assemble(graph.labels, graph.edges, None, graph.ids, graph.next_id)
            for group in members
            for graph in group
        ),
        group_ptr=group_ptr,
        pair_ptr=pointers([len(group) for group in pairs]),
        pairs=np.concatenate(shifted),
        distances=np.array([cost for group in distances for cost in group], dtype=np.float32),
        kinds=np.array(kinds, dtype=np.int8),
    )
