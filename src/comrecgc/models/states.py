"""Graphs as their distinct node states: what a message-passing network really has to compute.

After `l` layers two nodes have the same state whenever `l` rounds of Weisfeiler-Leman colouring cannot tell them apart
(colours start from label and degree, which normalisation sees). A mini-batch of molecules holds few distinct colours:
of 4,000 nodes in 128 Mutagenicity graphs 200 after one round, 800 after two, 1,700 after three. So each layer works on one
row per colour, made from the rows of the round before, and a row knows how many nodes it stands for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from comrecgc.graphs import GraphBatch, LongArray, graph_kernels, group_neighbours
from comrecgc.models import training_kernels


@dataclass(frozen=True, eq=False, slots=True)
class Round:
    """The distinct states after one layer.

    Args:
        own: Row of the round before that holds the state of the same node, `[n]`.
        neighbours: Rows of the round before that hold the states of the neighbours, `[E]`.
        neighbour_ptr: Row `i` has neighbours `neighbours[neighbour_ptr[i] : neighbour_ptr[i+1]]`, `[n+1]`.
        counts: How many nodes of the batch are in this state, `[n]`.
        degrees: Degree of these nodes, `[n]`.
    """

    own: LongArray
    neighbours: LongArray
    neighbour_ptr: LongArray
    counts: LongArray
    degrees: LongArray


@dataclass(frozen=True, eq=False, slots=True)
class StateBatch:
    """A batch of graphs as distinct states.

    Args:
        labels: Node label of each state of round 0, `[n0]`.
        degrees: Degree of each state of round 0, `[n0]`.
        rounds: Rounds 1, 2, … .
        members: States of the last round in graph 0, then in graph 1, …, each once per graph, `[P]`.
        member_ptr: Graph `g` has `members[member_ptr[g] : member_ptr[g+1]]`, `[B+1]`.
    """

    labels: LongArray
    degrees: LongArray
    rounds: tuple[Round, ...]
    members: LongArray
    member_ptr: LongArray

    def __len__(self) -> int:
        return len(self.member_ptr) - 1


class ColouredGraphs:
    """A set of graphs coloured once, from which any selection is a `StateBatch` in a few microseconds a graph.

    Args:
        batch: The graphs.
        num_rounds: How many rounds to colour.
    """

    def __init__(self, batch: GraphBatch, num_rounds: int) -> None:
        self._labels = batch.labels.astype(np.int64)
        self._neighbours, self._neighbour_ptr = group_neighbours(batch)
        self._node_ptr = batch.node_ptr
        degrees = np.diff(self._neighbour_ptr)
        first = self._labels * (degrees.max(initial=0) + 1) + degrees  # normalisation sees degrees too
        keys = graph_kernels.colour_rounds(first, batch.edges, num_rounds)
        self._colours = [np.unique(row, return_inverse=True)[1].astype(np.int64) for row in keys]
        # Row of each colour in the batch being made; -1 everywhere between batches.
        self._rows = [np.full(colours.max(initial=-1) + 1, -1, dtype=np.int64) for colours in self._colours]

    def __len__(self) -> int:
        return len(self._node_ptr) - 1

    @property
    def max_degree(self) -> int:
        return int(np.diff(self._neighbour_ptr).max(initial=0))

    def select(self, graphs: LongArray) -> StateBatch:
        """The graphs at these indices, in this order."""
        nodes = training_kernels.nodes_of(graphs, self._node_ptr)
        found = [
            training_kernels.distinct_states(nodes, colours, rows)
            for colours, rows in zip(self._colours, self._rows, strict=True)
        ]
        rounds = []
        for depth, (representatives, counts) in enumerate(found[1:]):
            place = (self._colours[depth], self._rows[depth])
            own, neighbours, ptr = training_kernels.edges_of(
                representatives, self._neighbours, self._neighbour_ptr, *place
            )
            rounds.append(Round(own, neighbours, ptr, counts, np.diff(ptr)))
        members, member_ptr = training_kernels.members_of(
            graphs, self._node_ptr, self._colours[-1], self._rows[-1], len(found[-1][0])
        )
        first = found[0][0]
        for (representatives, _), colours, rows in zip(found, self._colours, self._rows, strict=True):
            rows[colours[representatives]] = -1
        degrees = self._neighbour_ptr[first + 1] - self._neighbour_ptr[first]
        return StateBatch(self._labels[first], degrees, tuple(rounds), members, member_ptr)

    def batches(self, order: LongArray, size: int) -> Iterator[tuple[LongArray, StateBatch]]:
        """Mini-batches of `size` graphs (the last may be smaller) along an order: the indices and the graphs."""
        for start in range(0, len(order), size):
            chosen = order[start : start + size]
            yield chosen, self.select(chosen)
