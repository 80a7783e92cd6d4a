"""Your own PyG dataset or list of `Data`, as graphs over one finite alphabet of labels."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from comrecgc.datasets.dataset import ClassArray, GraphDataset, merge_directions
from comrecgc.errors import InputError
from comrecgc.graphs import GraphBatch, IntArray, LongArray, pointers

MAX_LABELS = 512
"""More distinct feature rows than this are not an alphabet: relabelling a node would be a choice among too many."""

_EXACT = 1 << 24  # largest range of integers that float32 holds exactly
_LARGEST = float(np.finfo(np.float32).max)
FloatArray = npt.NDArray[np.float32]


def from_pyg(
    data: Iterable[Any],
    *,
    name: str | None = None,
    classes: Sequence[int] | None = None,
    accept: int | None = None,
    label_names: Sequence[str] | None = None,
    class_names: tuple[str, str] = ("reject", "accept"),
) -> GraphDataset:
    """A dataset from PyG graphs, which are left as they are.

    The labels are the columns of `x` where it is one-hot, else its distinct rows, else (no `x`) one label for all.
    In every case `features[labels]` is `x` again, as float32. Edges are taken as undirected; edge attributes that are
    one-hot or integers become edge labels, which serve drawing only.

    Args:
        data: A PyG dataset or list of `Data`, each with `edge_index`, and `x` and `y` as described.
        name: What to call it; the dataset's own `name` by default.
        classes: Two different values, one a graph, where the graphs have no `y` or another is meant.
        accept: The value of `y` that means accept; the larger of the two by default.
        label_names: Name of each label.
        class_names: What reject and accept mean.

    Raises:
        InputError: Naming the first graph that cannot be used, and why.
    """
    graphs = _graphs(data)
    counts = [_num_nodes(graph, index) for index, graph in enumerate(graphs)]
    node_ptr = pointers(counts)
    labels, features, names = _alphabet(graphs, counts)
    edges, edge_labels, notes = _edges(graphs, node_ptr)
    if label_names is not None and len(label_names) != len(names):
        raise InputError(f"label_names must name each of the {len(names)} labels (got {len(label_names)} names)")
    batch = GraphBatch(labels, edges, node_ptr, np.searchsorted(edges[:, 0], node_ptr), edge_labels)
    return GraphDataset(
        name=name or str(getattr(data, "name", None) or "custom"),
        graphs=tuple(batch),
        classes=_classes(graphs, classes, accept),
        label_names=tuple(names if label_names is None else label_names),
        class_names=class_names,
        edge_label_names=None if edge_labels is None else tuple(map(str, range(edge_labels.max(initial=0) + 1))),
        features=features,
        notes=notes,
    )


def _graphs(data: Iterable[Any]) -> list[Any]:
    from torch_geometric.data import Batch, Data

    if isinstance(data, Data) or not isinstance(data, Iterable):
        raise InputError(f"Graphs must come as a PyG dataset or a list of Data (got {type(data).__name__})")
    graphs = list(data)
    if not graphs:
        raise InputError("There must be at least one graph (got none)")
    for index, graph in enumerate(graphs):
        if not isinstance(graph, Data) or isinstance(graph, Batch):
            raise InputError(f"Graph {index} must be one torch_geometric.data.Data (got {type(graph).__name__})")
        if graph.edge_index is None:
            raise InputError(f"Graph {index} must have an edge_index (got none)")
    return graphs


def _num_nodes(graph: Any, index: int) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyG warns where it must guess from the edges
        count = graph.num_nodes if graph.x is None else len(graph.x)
    if not count:
        raise InputError(f"Graph {index} must have at least one node (got none)")
    return int(count)


def _array(tensor: Any) -> npt.NDArray[Any]:
    import torch

    if not isinstance(tensor, torch.Tensor):
        return np.asarray(tensor)
    dense = tensor.detach().to_dense().cpu()
    return (dense.float() if dense.dtype == torch.bfloat16 else dense).numpy()


def _alphabet(graphs: list[Any], counts: list[int]) -> tuple[IntArray, FloatArray, list[str]]:
    """Label of every node, feature row of each label, and their names."""
    if all(graph.x is None for graph in graphs):
        return np.zeros(sum(counts), dtype=np.int32), np.eye(1, dtype=np.float32), ["node"]
    for index, graph in enumerate(graphs):
        if (graph.x is None) != (graphs[0].x is None):
            raise InputError(f"Graph {index} must have x exactly if graph 0 has (got {_presence(graph.x)})")
    rows = np.concatenate([_features(graph, index, graphs[0]) for index, graph in enumerate(graphs)])
    if ((rows == 0) | (rows == 1)).all() and (rows.sum(axis=1) == 1).all():
        width = rows.shape[1]
        return rows.argmax(axis=1).astype(np.int32), np.eye(width, dtype=np.float32), list(map(str, range(width)))
    labels, features = _distinct_rows(rows)
    if len(features) > MAX_LABELS:
        rule = f"x must be one-hot or have at most {MAX_LABELS} distinct rows in all, as labels are a finite alphabet"
        raise InputError(f"{rule} (got {len(features)})")
    single = features.shape[1] == 1
    names = [f"{row[0]:g}" for row in features] if single else [f"row {row}" for row in range(len(features))]
    return labels, features, names


def _features(graph: Any, index: int, first: Any) -> FloatArray:
    """Feature rows of one graph, `[n, width]`, checked."""
    x, first_x = _array(graph.x), _array(first.x)
    x = x[:, None] if x.ndim == 1 else x
    width = 1 if first_x.ndim == 1 else first_x.shape[-1]
    if x.ndim != 2 or x.shape[1] != width or width == 0:
        raise InputError(f"Graph {index} must have x of shape [nodes, {width or 'width'}] (got {list(x.shape)})")
    if x.dtype.kind not in "fiub":
        raise InputError(f"Graph {index} must have real numbers in x (got {x.dtype})")
    bad = np.flatnonzero(~(np.isfinite(x) & (np.abs(x.astype(np.float64)) < _LARGEST)).all(axis=1))
    if len(bad):
        raise InputError(f"Graph {index} must have finite numbers in x (got {x[bad[0]].tolist()[:4]} at node {bad[0]})")
    if x.dtype.kind in "iu" and x.size and max(-int(x.min()), int(x.max())) > _EXACT:
        raise InputError(f"Graph {index} must have integers of at most {_EXACT} in x (got {x.min()}…{x.max()})")
    return x.astype(np.float32) + np.float32(0)  # -0.0 and 0.0 are one label


def _presence(value: object) -> str:
    return "none" if value is None else "one"


def _distinct_rows(rows: FloatArray) -> tuple[IntArray, FloatArray]:
    """Each row as an index into the distinct rows, and those in lexicographic order."""
    rows = np.ascontiguousarray(rows)
    as_bytes = rows.view(np.dtype((np.void, rows.shape[1] * rows.itemsize)))[:, 0]  # far faster than unique by axis
    _, first, index = np.unique(as_bytes, return_index=True, return_inverse=True)
    distinct = rows[first]
    order = np.lexsort(distinct.T[::-1])
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return rank[index.reshape(-1)], distinct[order]


@dataclass(frozen=True, eq=False)
class _Rows:
    """Edge rows of all graphs end to end: node pairs `[E, 2]` and where each graph's rows start `[B+1]`."""

    pairs: LongArray
    ptr: LongArray

    def graph_of(self, row: int) -> int:
        return int(np.searchsorted(self.ptr, row, side="right")) - 1


def _edges(graphs: list[Any], node_ptr: LongArray) -> tuple[LongArray, IntArray | None, tuple[str, ...]]:
    """Undirected edges of all graphs `[M, 2]`, their labels if they have any, and notes on repairs."""
    parts = [_edge_rows(graph, index) for index, graph in enumerate(graphs)]
    rows = _Rows(np.concatenate(parts), pointers([len(part) for part in parts]))
    counts = np.repeat(np.diff(node_ptr), np.diff(rows.ptr))  # nodes of the graph of each row
    for row in np.flatnonzero(((rows.pairs < 0) | (rows.pairs >= counts[:, None])).any(axis=1))[:1].tolist():
        rule = f"Graph {rows.graph_of(row)} must have nodes 0…{counts[row] - 1} in edge_index"
        raise InputError(f"{rule} (got {rows.pairs[row].tolist()})")
    for row in np.flatnonzero(rows.pairs[:, 0] == rows.pairs[:, 1])[:1].tolist():
        raise InputError(f"Graph {rows.graph_of(row)} must not have self-loops (got one at node {rows.pairs[row, 0]})")
    offsets = np.repeat(node_ptr[:-1], np.diff(rows.ptr))[:, None]
    edges, first_row, edge_of_row, notes = merge_directions(rows.pairs + offsets, int(node_ptr[-1]))
    labels, why_not = _edge_labels(graphs, rows)
    if labels is not None:
        clashes = np.flatnonzero(labels != labels[first_row][edge_of_row])
        if len(clashes):
            why_not = f"graph {rows.graph_of(int(clashes[0]))} has an edge with two different ones"
    if labels is None or why_not:
        return edges, None, notes + ((f"Edge attributes were left out: {why_not}.",) if why_not else ())
    return edges, labels[first_row], notes


def _edge_rows(graph: Any, index: int) -> LongArray:
    edge_index = _array(graph.edge_index)
    if edge_index.ndim != 2 or len(edge_index) != 2 or edge_index.dtype.kind not in "iu":
        got = f"{edge_index.dtype} of shape {list(edge_index.shape)}"
        raise InputError(f"Graph {index} must have an edge_index of integers, [2, edges] (got {got})")
    return edge_index.T.astype(np.int64)


def _edge_labels(graphs: list[Any], rows: _Rows) -> tuple[IntArray | None, str]:
    """Label of each edge row, or None and, if there are attributes that cannot be labels, why."""
    values = [graph.edge_attr if graph.edge_attr is not None else graph.get("edge_label") for graph in graphs]
    if all(value is None for value in values):
        return None, ""
    for index, value in enumerate(values):
        if value is None:
            return None, f"graph {index} has none"
    arrays = [_array(value) for value in values]
    arrays = [array[:, None] if array.ndim == 1 else array for array in arrays]
    for index, (array, count) in enumerate(zip(arrays, np.diff(rows.ptr), strict=True)):
        if array.ndim != 2 or len(array) != count or array.shape[1] != arrays[0].shape[1]:
            return None, f"graph {index} has them in shape {list(array.shape)} for {count} edges"
    table = np.concatenate(arrays)
    if table.shape[1] > 1 and ((table == 0) | (table == 1)).all() and (table.sum(axis=1) == 1).all():
        return table.argmax(axis=1).astype(np.int32), ""
    if table.shape[1] == 1 and ((table >= 0) & (table < MAX_LABELS) & (table == np.floor(table))).all():
        return table[:, 0].astype(np.int32), ""
    return None, f"they are neither one-hot nor integers in 0…{MAX_LABELS - 1}"


def _classes(graphs: list[Any], classes: Sequence[int] | None, accept: int | None) -> ClassArray:
    if classes is None:
        values = np.array([_target(graph, index) for index, graph in enumerate(graphs)])
        source = "y"
    else:
        values, source = np.asarray(classes), "classes"
        if values.shape != (len(graphs),) or values.dtype.kind not in "iub":
            got = f"{values.dtype} of shape {list(values.shape)}"
            raise InputError(f"classes must be one integer a graph, {len(graphs)} (got {got})")
    distinct = np.unique(values).tolist()
    choices = [0, 1] if set(distinct) <= {0, 1} else distinct
    if len(choices) != 2:
        raise InputError(f"{source} must have two different values (got {', '.join(f'{v:g}' for v in distinct[:8])})")
    if accept is not None and accept not in choices:
        raise InputError(f"accept must be one of the classes {choices[0]:g} and {choices[1]:g} (got {accept})")
    return np.asarray(values == (choices[1] if accept is None else accept), dtype=np.int8)


def _target(graph: Any, index: int) -> float:
    if graph.y is None:
        raise InputError(f"Graph {index} must have a class y, or classes must be given (got none)")
    value = _array(graph.y)
    if value.size != 1 or value.dtype.kind not in "fiub" or not np.isfinite(value).all():
        raise InputError(f"Graph {index} must have one number as its class y (got {value.tolist()!s:.60})")
    return float(value.reshape(-1)[0])
