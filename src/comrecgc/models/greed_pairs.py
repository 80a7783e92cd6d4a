"""Labelled pairs for training an embedder: groups of graphs with the edit distances between their members.

Embedding a graph costs far more than comparing two embeddings, so pairs come in small groups that share graphs:

- *far*: random graphs of the dataset;
- *near*: a graph and those most like it;
- *chain*: the graphs a random walk of edits passes through, the distances the search for recourse meets;
- *path*: the graphs on a cheap edit path between two of the dataset, any two of which are about as far apart as the cost of the edits between them,
  so one solved pair labels many.

Distances are costs of the cheapest mapping found (`edit_distance`), about a hundredth above the true ones.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise
from math import comb
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


@dataclass(frozen=True)
class _Group:
    """Some graphs, with the cost between every two of them, and the mapping if it was solved."""

    kind: str
    graphs: list[Graph]
    costs: Sequence[int] = ()
    mappings: Sequence[NodeMapping] = ()


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
        drawn = {
            "far": self._far(graphs, rng),
            "near": self._near(graphs, rng, drawn_by),
            "chain": self._chains(graphs, num_labels, rng, drawn_by),
        }
        groups = [_Group(kind, some) for kind, found in drawn.items() for some in found]
        labelled = self._labelled(groups, seed, progress, labelled_by)
        return _pack([*labelled, *self._paths(labelled, rng, deadline)])

    def _labelled(
        self, groups: list[_Group], seed: int, progress: Progress | None, deadline: float | None
    ) -> list[_Group]:
        """Groups with the edit distances of their pairs, solved in random order, so that a deadline leaves some of each kind."""
        order = np.random.default_rng([seed, 3]).permutation(len(groups)).tolist()
        flat = [pair for g in order for pair in combinations(groups[g].graphs, 2)]
        ptr = pointers([comb(len(groups[g].graphs), 2) for g in order])
        size = _PAIRS if deadline is None else _PAIRS_IN_A_HURRY
        blocks = (flat[start : start + size] for start in range(0, len(flat), size))
        solved: list[NodeMapping] = []
        results = self.engine.map(_solve, (self.sweeps, seed), blocks)
        for block in _until(results, deadline, least=-(-int(ptr[1]) // size) if groups else 0):
            solved += block
            if progress is not None:
                progress("edit distances", len(solved), len(flat), "")
        done = {g: solved[ptr[k] : ptr[k + 1]] for k, g in enumerate(order) if ptr[k + 1] <= len(solved)}
        return [replace(groups[g], mappings=done[g], costs=[mapping.cost for mapping in done[g]]) for g in sorted(done)]

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

    def _paths(self, groups: list[_Group], rng: np.random.Generator, deadline: float | None) -> list[_Group]:
        """Groups of the graphs on edit paths, with the costs between them."""
        solved = [
            (*pair, mapping)
            for group in groups
            if group.kind in ("far", "near")
            for pair, mapping in zip(combinations(group.graphs, 2), group.mappings, strict=True)
            if mapping.cost >= 3
        ]
        chosen = rng.permutation(len(solved))[: self.num_paths]
        paths = []
        for index in _until(chosen, deadline):
            first, second, mapping = solved[index]
            stations = path_graphs(first, edit_path(first, second, mapping.places))
            costs = path_costs(stations)
            kept = np.unique(np.linspace(0, len(stations) - 1, min(len(stations), 12)).round().astype(int))
            between = [costs[j] - costs[i] for i, j in combinations(kept, 2)]
            paths.append(_Group("path", [stations[i].fresh() for i in kept], between))
        return paths


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
    """The items until the deadline, but at least `least`; the iterator is not advanced further."""
    if deadline is not None and least == 0 and time.monotonic() >= deadline:
        return
    for count, item in enumerate(items, start=1):
        yield item
        if deadline is not None and count >= least and time.monotonic() >= deadline:
            return


def _pack(groups: list[_Group]) -> LabelledGroups:
    ptr = pointers([len(group.graphs) for group in groups])
    pairs = [pair for start, stop in pairwise(ptr.tolist()) for pair in combinations(range(start, stop), 2)]
    plain = (
        Graph.assemble(graph.labels, graph.edges, None, graph.ids, graph.next_id)
        for group in groups
        for graph in group.graphs
    )
    return LabelledGroups(
        graphs=GraphBatch.from_graphs(plain),
        group_ptr=ptr,
        pair_ptr=pointers([len(group.costs) for group in groups]),
        pairs=np.array(pairs, dtype=np.int64).reshape(-1, 2),
        distances=np.array([cost for group in groups for cost in group.costs], dtype=np.float32),
        kinds=np.array([KINDS.index(group.kind) for group in groups], dtype=np.int8),
    )
