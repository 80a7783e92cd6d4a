"""A graph: integer node labels and an undirected simple edge list, as compact arrays; and conversion to PyG and networkx."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from comrecgc.errors import InputError

if TYPE_CHECKING:
    import networkx as nx
    from torch_geometric.data import Data

IntArray = npt.NDArray[np.int32]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Schema:
    """Names of a dataset's labels and classes, as drawing and wording need them.

    Args:
        label_names: Name of each node label.
        edge_label_names: Name of each edge label, if edges have labels; "double", "triple" and "aromatic" are such bonds.
        is_molecular: Whether labels are atoms.
        class_names: Names of reject and accept.
        dataset: Name of the dataset.
    """

    label_names: tuple[str, ...]
    edge_label_names: tuple[str, ...] | None = None
    is_molecular: bool = False
    class_names: tuple[str, str] = ("reject", "accept")
    dataset: str = ""


@dataclass(frozen=True, eq=False, init=False, slots=True)
class Graph:
    """An immutable, undirected, simple graph with labelled nodes.

    Nodes have a *position* `0 … n-1` (their place in the arrays) and a stable *id*. In a graph read from data the two
    agree; along a path of edits ids stay with their nodes: a removed id never comes back and an added node takes
    `next_id`. Edits and edit paths use ids, so "relabel 3" means atom 3 of the input whatever its position.

    Args:
        labels: Label of each node, `[n]`, non-negative.
        edges: Pairs of positions, `[m, 2]`, each undirected edge once, in any order; stored with `i < j`, sorted.
        edge_labels: Label of each edge, `[m]`, kept for drawing and bond orders; 0 is what an added edge gets.

    Attributes:
        ids: Stable id of each node, `[n]`, increasing.
        next_id: Id the next added node will take.
        source: Index in the dataset's `Attributes` of the graph it was made from; -1 for none.
            Ids below that graph's number of nodes are its nodes.
    """

    labels: IntArray
    edges: IntArray
    edge_labels: IntArray | None
    ids: IntArray
    next_id: int
    source: int

    def __init__(self, labels: npt.ArrayLike, edges: npt.ArrayLike, edge_labels: npt.ArrayLike | None = None) -> None:
        labels = _integers(labels, "labels")
        if labels.ndim != 1 or len(labels) == 0:
            raise InputError(f"A graph needs at least one node and flat labels (got labels of shape {labels.shape})")
        if labels.min() < 0:
            raise InputError(f"Node labels must be non-negative (got {labels.min()})")
        edges = _integers(edges, "edges")
        if edges.size and (edges.ndim != 2 or edges.shape[1] != 2):
            raise InputError(f"edges must be pairs, one a row (got shape {edges.shape})")
        edges, order = _canonical_edges(edges.reshape(-1, 2), len(labels))
        if edge_labels is not None:
            edge_labels = _integers(edge_labels, "edge_labels")
            if edge_labels.shape != (len(edges),):
                raise InputError(f"One edge label per edge is needed (got {edge_labels.shape} for {len(edges)} edges)")
            if edge_labels.size and edge_labels.min() < 0:
                raise InputError(f"Edge labels must be non-negative (got {edge_labels.min()})")
            edge_labels = edge_labels[order]
        _store(self, labels, edges, edge_labels, np.arange(len(labels), dtype=np.int32), len(labels), -1)

    @classmethod
    def assemble(
        cls,
        labels: IntArray,
        edges: IntArray,
        edge_labels: IntArray | None,
        ids: IntArray,
        next_id: int,
        source: int = -1,
    ) -> Graph:
        """A graph from arrays that are already canonical (int32, `i < j`, sorted, simple); nothing is checked."""
        return _store(object.__new__(cls), labels, edges, edge_labels, ids, next_id, source)

    @property
    def num_nodes(self) -> int:
        return len(self.labels)

    @property
    def num_edges(self) -> int:
        return len(self.edges)

    @property
    def size(self) -> int:
        """`|G| = |V| + |E|`, the number of elements."""
        return len(self.labels) + len(self.edges)

    def degrees(self) -> IntArray:
        """Number of neighbours of each node, `[n]`."""
        return np.bincount(self.edges.ravel(), minlength=len(self.labels)).astype(np.int32)

    def position(self, node_id: int) -> int:
        """Position of the node with this id."""
        position = int(np.searchsorted(self.ids, node_id))
        if position == len(self.labels) or self.ids[position] != node_id:
            raise InputError(f"The graph has no node with id {node_id}")
        return position

    def edge_places(self, first: IntArray, second: IntArray) -> npt.NDArray[np.intp]:
        """Index in `edges` of the edge between each pair of adjacent positions."""
        n = np.int64(self.num_nodes)
        codes = self.edges[:, 0] * n + self.edges[:, 1]  # increasing, as edges are sorted
        return np.searchsorted(codes, np.minimum(first, second) * n + np.maximum(first, second))

    def labels_by_id(self) -> dict[int, int]:
        """Label of each node, by id."""
        return dict(zip(self.ids.tolist(), self.labels.tolist(), strict=True))

    def edges_by_id(self) -> list[tuple[int, int]]:
        """Edges as pairs of ids, the smaller first, increasing."""
        return [(i, j) for i, j in self.ids[self.edges].tolist()]

    def neighbours_by_id(self) -> dict[int, list[int]]:
        """Neighbours of each node, by id, increasing."""
        neighbours: dict[int, list[int]] = {node: [] for node in self.ids.tolist()}
        for i, j in self.edges_by_id():
            neighbours[i].append(j)
            neighbours[j].append(i)
        return {node: sorted(around) for node, around in neighbours.items()}

    def edge_labels_by_id(self) -> dict[tuple[int, int], int]:
        """Edge label of each edge, by ids; none where the graph has no edge labels."""
        labels = self.edge_labels
        return {} if labels is None else dict(zip(self.edges_by_id(), labels.tolist(), strict=True))

    def fresh(self) -> Graph:
        """The same graph with its positions as ids, as if read from data; its source is kept where ids are positions already."""
        ids = np.arange(self.num_nodes, dtype=np.int32)
        source = self.source if np.array_equal(ids, self.ids) else -1
        return Graph.assemble(self.labels, self.edges, self.edge_labels, ids, self.num_nodes, source)

    def of_source(self, source: int) -> Graph:
        """The same graph with another source."""
        return Graph.assemble(self.labels, self.edges, self.edge_labels, self.ids, self.next_id, source)

    def permute(self, order: npt.ArrayLike) -> Graph:
        """The isomorphic graph whose node `i` is this graph's node `order[i]`."""
        order = np.asarray(order)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        return Graph(self.labels[order], rank[self.edges], self.edge_labels)

    def __eq__(self, other: object) -> bool:
        """Same labels and edges in the same layout; ids and edge labels are ignored.

        For "the same graph whatever the node order" compare `graph_key`.
        """
        if not isinstance(other, Graph):
            return NotImplemented
        return np.array_equal(self.labels, other.labels) and np.array_equal(self.edges, other.edges)

    def __hash__(self) -> int:
        return hash((self.labels.tobytes(), self.edges.tobytes()))

    def __reduce__(self) -> tuple[Any, ...]:
        return Graph.assemble, (self.labels, self.edges, self.edge_labels, self.ids, self.next_id, self.source)

    def __repr__(self) -> str:
        return f"Graph(num_nodes={self.num_nodes}, num_edges={self.num_edges})"


def ordered_edge(i: int, j: int) -> tuple[int, int]:
    """The two ends of an edge, the smaller first."""
    return (i, j) if i < j else (j, i)


def components(nodes: Iterable[int], neighbours: Mapping[int, Iterable[int]]) -> list[frozenset[int]]:
    """Connected parts of the subgraph on some nodes, in order of their smallest node."""
    left, parts = set(nodes), []
    for start in sorted(left):
        if start not in left:
            continue
        part, front = {start}, [start]
        while front:
            front = [node for at in front for node in neighbours[at] if node in left and node not in part]
            part.update(front)
        left -= part
        parts.append(frozenset(part))
    return parts


def _store(graph: Graph, *values: Any) -> Graph:
    """Fill the slots of a new graph, in their order, and make its arrays read-only."""
    for name, value in zip(Graph.__slots__, values, strict=True):
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
        object.__setattr__(graph, name, value)
    return graph


def _integers(values: npt.ArrayLike, name: str) -> IntArray:
    array = np.asarray(values)
    if array.size and not np.issubdtype(array.dtype, np.integer):
        raise InputError(f"{name} must be integers (got {array.dtype})")
    if array.size and (array.min() < -(2**31) or array.max() >= 2**31):
        raise InputError(f"{name} must fit in 32 bits (got {array.min()}…{array.max()})")
    return array.astype(np.int32)


def _canonical_edges(edges: IntArray, num_nodes: int) -> tuple[IntArray, npt.NDArray[np.intp]]:
    """Edges with `i < j` in lexicographic order, and the order that sorts them; refuses what is not simple."""
    if edges.size and (edges.min() < 0 or edges.max() >= num_nodes):
        raise InputError(f"Edge ends must lie in 0…{num_nodes - 1} (got {edges.min()}…{edges.max()})")
    loops = np.flatnonzero(edges[:, 0] == edges[:, 1])
    if len(loops):
        raise InputError(f"Self-loops are not allowed (got one at node {edges[loops[0], 0]})")
    edges = np.sort(edges, axis=1)
    order = np.lexsort((edges[:, 1], edges[:, 0]))
    edges = edges[order]
    repeated = np.flatnonzero((edges[1:] == edges[:-1]).all(axis=1))
    if len(repeated):
        i, j = edges[repeated[0]]
        raise InputError(f"Each undirected edge may appear once (got {i}-{j} twice)")
    return edges, order


def to_data(graph: Graph, features: npt.NDArray[np.float32], *, target: int | None = None) -> Data:
    """The graph as PyG `Data`: `x` from the features of each label, `[num_labels, width]`, both directions of every edge, and its class as `y` if given."""
    import torch
    from torch_geometric.data import Data

    both = np.concatenate([graph.edges, graph.edges[:, ::-1]]).T.astype(np.int64)  # [2, 2m]
    data = Data(x=torch.from_numpy(features[graph.labels]), edge_index=torch.from_numpy(both))
    if graph.edge_labels is not None:
        data.edge_label = torch.from_numpy(np.tile(graph.edge_labels, 2).astype(np.int64))
    if target is not None:
        data.y = torch.tensor([target])
    return data


def to_networkx(graph: Graph) -> nx.Graph[int]:
    """The graph as networkx, nodes named by position, with a `label` on every node (and edge, if it has one)."""
    import networkx as nx

    result: nx.Graph[int] = nx.Graph()
    result.add_nodes_from((node, {"label": label}) for node, label in enumerate(graph.labels.tolist()))
    result.add_edges_from(graph.edges.tolist())
    nx.set_edge_attributes(result, graph.fresh().edge_labels_by_id(), "label")
    return result


def from_networkx(source: nx.Graph[Any], *, label: str = "label") -> Graph:
    """A graph from networkx; nodes are numbered in iteration order.

    Args:
        source: An undirected simple graph.
        label: Node attribute holding the integer label (and the edge label, where every edge has it).
    """
    if source.is_directed() or source.is_multigraph():
        raise InputError(f"The networkx graph must be undirected and simple (got {type(source).__name__})")
    names = {node: position for position, node in enumerate(source.nodes)}
    labels = [attributes.get(label) for attributes in dict(source.nodes).values()]
    if None in labels:
        node = list(names)[labels.index(None)]
        raise InputError(f"Every node needs an integer {label!r} attribute (got none on node {node!r})")
    edges = [(names[i], names[j]) for i, j in source.edges]
    edge_labels = [source.edges[i, j].get(label) for i, j in source.edges]
    has_edge_labels = bool(edges) and None not in edge_labels
    return Graph(np.array(labels), np.array(edges).reshape(-1, 2), np.array(edge_labels) if has_edge_labels else None)
