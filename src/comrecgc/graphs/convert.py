"""Graphs from and to PyG `Data` and networkx."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from comrecgc.errors import InputError
from comrecgc.graphs.batch import GraphBatch
from comrecgc.graphs.graph import Graph

if TYPE_CHECKING:
    import networkx as nx
    from torch_geometric.data import Data


def to_data(graph: Graph, features: npt.NDArray[np.float32], *, target: int | None = None) -> Data:
    """The graph as PyG `Data`: `x` from the feature table, both directions of every edge, and `y` if given.

    Args:
        graph: The graph.
        features: Feature row of each label, `[num_labels, width]`.
        target: Class to store as `y`.
    """
    import torch
    from torch_geometric.data import Data

    batch = GraphBatch.from_graphs([graph])
    data = Data(x=torch.from_numpy(features[graph.labels]), edge_index=torch.from_numpy(batch.edge_index()))
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
    if graph.edge_labels is not None:
        for (i, j), label in zip(graph.edges.tolist(), graph.edge_labels.tolist(), strict=True):
            result.edges[i, j]["label"] = label
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
