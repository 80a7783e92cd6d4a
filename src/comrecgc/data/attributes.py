"""The user's own tensors, from which the model's input for a changed graph is gathered.

A node or edge that a change does not touch keeps its row of every tensor. New and relabelled ones get the row of the medoid of their label: the node
(or edge) of the data that is nearest to the mean of all with that label.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from comrecgc.data.alphabet import Alphabet, FloatArray
from comrecgc.graphs import Graph, GraphBatch, IntArray, LongArray

if TYPE_CHECKING:
    from torch import Tensor
    from torch_geometric.data import Data

Transform = Callable[[Any], Any]

_NEVER = ("edge_index", "y", "batch", "ptr", "num_nodes", "face", "adj_t")
_ENCODINGS = ("_pe", "pe", "degree", "laplacian", "eig")


@dataclass(frozen=True, eq=False)
class EdgeRows:
    """Index of the tensor rows of edges."""

    pairs: LongArray  # the nodes that each row joins, as `first · N + second`, increasing, `[E]`
    rows: LongArray  # the row of each of these pairs, `[E]`
    labels: IntArray | None  # label of each row, `[E]`; None where edges have no labels


@dataclass(frozen=True, eq=False)
class Labelling:
    """Labels of nodes, or of rows of edges."""

    alphabet: Alphabet | None  # how labels are read from features; None where edges have no labels
    labels: IntArray  # of each node or row; 0 where there are none
    typical: LongArray  # a node, or row, for each label
    features: FloatArray  # the features of each label, for those that nothing carries


@dataclass(frozen=True, eq=False, kw_only=True)
class Attributes:
    """Tensors of all nodes, edges and graphs of a dataset, and where each graph's begin."""

    originals: Sequence[Data]  # the user's graphs, as they are
    alphabet: Alphabet  # how labels are read from the nodes' features
    edge_alphabet: Alphabet | None  # the same of edges; None where they have no labels
    labels: IntArray  # label of each node, `[N]`
    node_ptr: LongArray  # where the nodes of each graph begin, `[B+1]`
    nodes: Mapping[str, Tensor]  # tensors with a row per node and then one per label, `[N + L, …]`
    edges: Mapping[str, Tensor]  # tensors with a row per row of the edges and then one per edge label, `[E + K, …]`
    edge_rows: EdgeRows  # where the row of an edge is found
    graphs: Mapping[str, Tensor]  # tensors with a row per graph, `[B, …]`
    by_label: bool = True  # whether labels say all that there is in `nodes` and `edges`
    left_out: Mapping[str, str]  # tensors that are not passed on, and why
    transform: Transform | None = None  # applied to every changed graph before a model sees it

    @classmethod
    def of(
        cls,
        originals: Sequence[Data],
        nodes: Labelling,
        edges: Labelling,
        node_ptr: LongArray,
        pairs: LongArray,
        transform: Transform | None = None,
    ) -> Attributes:
        """Lay the tensors of all graphs end to end; `pairs` are the nodes that each row of the edges joins, `[E, 2]`."""
        of_nodes, of_edges, graphs, left_out = _tensors(originals, np.diff(node_ptr))
        codes = pairs[:, 0] * int(node_ptr[-1]) + pairs[:, 1]
        order = np.argsort(codes, kind="stable")
        assert nodes.alphabet is not None
        made = cls(
            originals=originals,
            alphabet=nodes.alphabet,
            edge_alphabet=edges.alphabet,
            labels=nodes.labels,
            node_ptr=node_ptr,
            nodes=_with_rows(of_nodes, nodes, "x"),
            edges=_with_rows(of_edges if len(edges.typical) else {}, edges, "edge_attr"),
            edge_rows=EdgeRows(codes[order], order, None if edges.alphabet is None else edges.labels),
            graphs=graphs,
            left_out=left_out,
            transform=transform,
        )
        repeats = _repeat_labels(made.nodes, nodes.labels) and _repeat_labels(made.edges, edges.labels)
        return replace(made, by_label=transform is None and not graphs and repeats)

    def with_typical_of(self, known: Attributes) -> Attributes:
        """The same with the typical nodes and edges of other data over the same labels."""
        num_nodes, num_edges = len(self.labels), len(self.edge_rows.pairs)
        return replace(
            self,
            nodes=_with_typical(self.nodes, known.nodes, num_nodes, len(known.labels)),
            edges=_with_typical(self.edges, known.edges, num_edges, len(known.edge_rows.pairs)),
            by_label=self.by_label and known.by_label,
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the tensors for the reader of a report."""
        notes = [f"{key} was left out: {why}." for key, why in self.left_out.items()]
        stale = [key for key in self.nodes if key != "x" and any(part in key.lower() for part in _ENCODINGS)]
        if stale and self.transform is None:
            notes.append(
                f"{', '.join(stale)} of the nodes stays as it was when a graph changes: from_pyg(…, transform=…) computes it anew from graphs without it."
            )
        return tuple(notes)

    def tensors(self, batch: GraphBatch) -> dict[str, Tensor]:
        """The tensors of changed graphs, with `edge_index`, `batch` and `ptr`, as PyG would collate them."""
        import torch

        node_rows, edge_rows, _ = self._rows(batch)
        tensors = {"edge_index": torch.from_numpy(batch.edge_index())}
        sources = np.maximum(batch.sources(), 0)
        for known, rows in ((self.nodes, node_rows), (self.edges, edge_rows), (self.graphs, sources)):
            index = torch.from_numpy(rows)
            tensors |= {key: tensor.index_select(0, index) for key, tensor in known.items()}
        tensors["batch"] = torch.from_numpy(batch.graph_of_node())
        tensors["ptr"] = torch.from_numpy(batch.node_ptr.copy())
        return tensors

    def data(self, graph: Graph | GraphBatch) -> Data:
        """One changed graph as the user's own kind of `Data`: kept edges in their order, new ones behind; before any transform."""
        import torch
        from torch_geometric.data import Data

        batch = graph if isinstance(graph, GraphBatch) else GraphBatch.from_graphs([graph])
        node_rows, edge_rows, changed = self._rows(batch)
        source = int(batch.sources()[0])
        data = copy.copy(self.originals[source]) if source >= 0 else Data()
        order = np.argsort(edge_rows, kind="stable")
        for key in [key for key in data.keys() if key in self.left_out]:  # noqa: SIM118  # not a dict
            del data[key]
        for key, tensor in self.nodes.items():
            data[key] = tensor[torch.from_numpy(node_rows)]
        data.edge_index = torch.from_numpy(batch.edge_index()[:, order])
        for key, tensor in self.edges.items():
            data[key] = tensor[torch.from_numpy(edge_rows[order])]
        if "x" not in self.nodes:
            data.num_nodes = len(node_rows)
        if self.transform is not None:
            data.changed = torch.from_numpy(changed)
        return data

    def transformed(self, data: Data) -> Data:
        """The model's input for a graph: a copy after the transform."""
        if self.transform is None:
            return data
        made = self.transform(copy.copy(data))
        if "changed" in made:
            del made["changed"]
        return made

    def original(self, source: int) -> Data:
        """One of the user's graphs as the model sees it, straight from the data."""
        import torch

        data = copy.copy(self.originals[source])
        if self.transform is not None:
            data.changed = torch.zeros(int(np.diff(self.node_ptr)[source]), dtype=torch.bool)
        return self.transformed(data)

    def _rows(self, batch: GraphBatch) -> tuple[LongArray, LongArray, npt.NDArray[np.bool_]]:
        """Rows of the nodes `[n]` and of both directions of the edges `[2m]`, and which nodes are new or relabelled `[n]`."""
        total = len(self.labels)
        typical = total + batch.labels.astype(np.int64)
        kinds = np.zeros(len(batch.edges), np.int64) if batch.edge_labels is None else batch.edge_labels
        typical_edges = np.tile(len(self.edge_rows.pairs) + kinds.astype(np.int64), 2)
        if batch.ids is None or self.by_label:
            return typical, typical_edges, np.ones(len(typical), bool)
        source = batch.sources()[batch.graph_of_node()]
        rows = self.node_ptr[source] + batch.ids
        old = (source >= 0) & (rows < self.node_ptr[source + 1])
        rows = np.where(old, rows, 0)
        same = old & (self.labels[rows] == batch.labels)
        node_rows = np.where(same, rows, typical)
        if not self.edges or not len(self.edge_rows.pairs):
            return node_rows, typical_edges, ~same
        ends = batch.edges
        both_old = old[ends[:, 0]] & old[ends[:, 1]]
        forward, backward = (self._find(rows[ends[:, one]], rows[ends[:, 1 - one]], both_old) for one in (0, 1))
        found = np.concatenate([np.where(forward >= 0, forward, backward), np.where(backward >= 0, backward, forward)])
        if self.edge_rows.labels is not None and batch.edge_labels is not None:
            found[self.edge_rows.labels[found] != np.tile(batch.edge_labels, 2)] = -1
        return node_rows, np.where(found >= 0, found, typical_edges), ~same

    def _find(self, first: LongArray, second: LongArray, mask: npt.NDArray[np.bool_]) -> LongArray:
        """The row of the edges from each node to another; -1 where there is none."""
        codes = first * len(self.labels) + second
        place = np.minimum(np.searchsorted(self.edge_rows.pairs, codes), len(self.edge_rows.pairs) - 1)
        return np.where(mask & (self.edge_rows.pairs[place] == codes), self.edge_rows.rows[place], -1)


def medoids(labels: npt.NDArray[Any], rows: npt.NDArray[Any], num_labels: int) -> LongArray:
    """For each label the row nearest to the mean of the rows with that label, in units of each column's spread, `[L]`.

    A label without rows gets the row nearest to the mean of all.
    """
    if not len(rows):
        return np.zeros(0, np.int64)
    spread = rows.std(axis=0)
    scaled = (rows - rows.mean(axis=0)) / np.where(spread > 0, spread, 1)
    counts = np.bincount(labels, minlength=num_labels)
    middle = np.zeros((num_labels, scaled.shape[1]))
    np.add.at(middle, labels, scaled)
    middle /= np.maximum(counts, 1)[:, None]
    off = ((scaled - middle[labels]) ** 2).sum(axis=1)
    order = np.lexsort((off, labels))
    first = np.searchsorted(labels[order], np.arange(num_labels))
    overall = int((scaled**2).sum(axis=1).argmin())
    return np.where(counts > 0, order[np.minimum(first, len(order) - 1)], overall)


def _tensors(
    originals: Sequence[Data], num_nodes: LongArray
) -> tuple[dict[str, Tensor], dict[str, Tensor], dict[str, Tensor], dict[str, str]]:
    """Tensors of nodes, edges and graphs by name, and entries that belong to none of them."""
    import torch

    nodes, edges, graphs, left_out = {}, {}, {}, {}
    num_edges = [graph.edge_index.shape[1] for graph in originals]
    keys = dict.fromkeys(key for graph in originals for key in graph.keys() if key not in _NEVER)  # noqa: SIM118
    for key in keys:
        values = [graph.get(key) for graph in originals]
        if all(not isinstance(value, torch.Tensor) for value in values):
            continue  # names and the like are no part of a forward pass
        missing = next((k for k, value in enumerate(values) if not isinstance(value, torch.Tensor)), None)
        if missing is not None:
            left_out[key] = f"graph {missing} has none"
            continue
        lengths = np.array([len(value) if value.ndim else -1 for value in values])
        if "index" in key or len({value.shape[1:] for value in values}) > 1:
            left_out[key] = "its shape differs from graph to graph, or it holds numbers of nodes"
            continue
        of_nodes, of_edges = bool((lengths == num_nodes).all()), bool((lengths == num_edges).all())
        tensors = [value.detach().cpu() for value in values]
        tensors = [value.to_dense() if value.is_sparse else value for value in tensors]
        if of_edges and (not of_nodes or "edge" in key):
            edges[key] = torch.cat(tensors)
        elif of_nodes:
            nodes[key] = torch.cat(tensors)
        elif (lengths == 1).all() or (lengths == -1).all():
            graphs[key] = torch.cat(tensors) if lengths[0] == 1 else torch.stack(tensors)
        else:
            at = int(np.flatnonzero((lengths != num_nodes) & (lengths != num_edges))[:1].sum())
            left_out[key] = (
                f"graph {at} has {lengths[at]} rows of it for {num_nodes[at]} nodes and {num_edges[at]} edges"
            )
    return nodes, edges, graphs, left_out


def _with_rows(tensors: Mapping[str, Tensor], known: Labelling, name: str) -> dict[str, Tensor]:
    """The tensors with a row for each label appended; in tensor `name`, labels that do not occur get the known rows."""
    import torch

    unused = torch.from_numpy(np.setdiff1d(np.arange(len(known.typical)), known.labels))
    found = {}
    for key, tensor in tensors.items():
        typical = tensor[torch.from_numpy(known.typical)]
        if key == name and len(unused) and typical.shape[1:] == known.features.shape[1:]:
            typical[unused] = torch.from_numpy(known.features)[unused].to(typical.dtype)
        found[key] = torch.cat([tensor, typical])
    return found


def _with_typical(
    ours: Mapping[str, Tensor], known: Mapping[str, Tensor], count: int, known_count: int
) -> dict[str, Tensor]:
    import torch

    shared = {key: tensor for key, tensor in known.items() if key in ours}
    return {
        key: torch.cat([ours[key][:count], tensor[known_count:].to(ours[key].dtype)]) for key, tensor in shared.items()
    }


def _repeat_labels(tensors: Mapping[str, Tensor], labels: IntArray) -> bool:
    """Whether every row equals the typical row of its label."""
    import torch

    count = len(labels)
    rows = torch.from_numpy(count + labels.astype(np.int64))
    return all(torch.equal(tensor[:count], tensor[rows]) for tensor in tensors.values() if count)
