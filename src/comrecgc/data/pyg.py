"""PyG datasets and lists of `Data` as graphs over one finite alphabet of labels; numbers at the nodes may be cut into ranges."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from comrecgc.data.dataset import MAX_LABELS, ChosenClasses, GraphDataset, choose_classes, merge_directions
from comrecgc.errors import InputError
from comrecgc.graphs import GraphBatch, IntArray, LongArray, pointers
from comrecgc.run import reason_of

ALL = "all"
"""The name that means every attribute."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Ranges:
    """One attribute cut into ranges that hold about as many nodes each.

    Args:
        range_of: Range of every node, `[N]`, the lowest first.
        names: Name of each range.
        middle: Median of the values in each range.
    """

    range_of: LongArray
    names: tuple[str, ...]
    middle: npt.NDArray[np.float64]

    @classmethod
    def of(cls, values: npt.NDArray[Any], count: int, name: str) -> Ranges:
        """Cut values at their quantiles; empty ranges are left out.

        Args:
            values: The attribute of every node, `[N]`.
            count: Most ranges.
            name: Name of the attribute.
        """
        cuts = np.unique(np.quantile(values, np.linspace(0, 1, count + 1)[1:-1], method="inverted_cdf"))
        range_of = np.searchsorted(cuts, values, side="left")
        used, range_of = np.unique(range_of, return_inverse=True)
        parts = [values[range_of == place] for place in range(len(used))]
        names = [
            f"{name} {part.min():.4g}" if part.min() == part.max() else f"{name} {part.min():.4g}…{part.max():.4g}"
            for part in parts
        ]
        return cls(range_of=range_of, names=tuple(names), middle=np.array([np.median(part) for part in parts]))


def find_columns(bins: Mapping[str, int], names: Sequence[str], where: str) -> dict[int, int]:
    """The number of ranges of each column that is to be cut.

    Args:
        bins: Number of ranges by the attribute's name, its number counted from 1, or `ALL`.
        names: Names of the attributes.
        where: Name of the data for errors.
    """
    found: dict[int, int] = {}
    for wanted, count in bins.items():
        numbers = {str(place + 1): place for place in range(len(names))}
        if wanted == ALL:
            found = dict.fromkeys(range(len(names)), count) | found
        elif wanted in names:
            found[list(names).index(wanted)] = count
        elif wanted in numbers:
            found[numbers[wanted]] = count
        else:
            shown = ", ".join(names) or "none"
            raise InputError(f"bins must name node attributes of {where}: {shown} (got {wanted!r})")
    return found


_NAMED_COLUMNS = 4  # longest row that is named by its numbers
_EXACT = 1 << 24  # largest range of integers that float32 holds exactly
_EDGE_KEYS = ("edge_attr", "edge_label", "edge_weight")  # where PyG graphs keep edge attributes
_LARGEST = float(np.finfo(np.float32).max)
FloatArray = npt.NDArray[np.float32]


def from_pyg(
    data: Iterable[Any],
    *,
    name: str | None = None,
    classes: Sequence[int] | None = None,
    accept: int | str | None = None,
    reject: int | str | None = None,
    label_names: Sequence[str] | None = None,
    class_names: tuple[str, str] | None = None,
    bins: int | None = None,
    alphabet: FloatArray | None = None,
) -> GraphDataset:
    """Make a dataset from PyG graphs, which are not changed.

    The labels are the columns of `x` where it is one-hot, else its distinct rows, else (no `x`) one label for all.
    In every case `features[labels]` is `x` again, as float32, unless `bins` is given. Edges are taken as undirected; edge
    attributes with few distinct rows become edge labels, whose rows are `edge_features`.

    Args:
        data: A PyG dataset or list of `Data`, each with `edge_index`, and `x` and `y` as described.
        name: Name of the dataset; its own `name` by default.
        classes: A value per graph, to be used instead of `y`.
        accept: The value of `y` that means accept; the larger of two by default, and needed if there are more.
        reject: The value of `y` that means reject; all others by default. With both, graphs of further classes are left out.
        label_names: Name of each label.
        class_names: Names of reject and accept.
        bins: Cut every column of `x` with more values than this into this many ranges; nodes get the median of their range.
        alphabet: Feature rows of known labels, `[num_labels, width]`: every node gets the nearest, measured in units of each column's spread.

    Raises:
        InputError: Naming the first graph that cannot be used, and why.
    """
    if bins is not None and bins < 2:
        raise InputError(f"bins must be at least 2 ranges (got {bins})")
    graphs = _graphs(data)
    counts = [_num_nodes(graph, index) for index, graph in enumerate(graphs)]
    node_ptr = pointers(counts)
    labels, features, names, notes = _alphabet(graphs, counts, bins, alphabet)
    edges, edge_kinds, more = _edges(graphs, node_ptr)
    if label_names is not None and len(label_names) != len(names):
        raise InputError(f"label_names must name each of the {len(names)} labels (got {len(label_names)} names)")
    edge_labels = None if edge_kinds is None else edge_kinds.labels
    batch = GraphBatch(labels, edges, node_ptr, np.searchsorted(edges[:, 0], node_ptr), edge_labels)
    chosen = _classes(graphs, classes, accept, reject)
    return GraphDataset(
        name=name or str(getattr(data, "name", None) or "custom"),
        graphs=tuple(batch[graph] for graph in chosen.kept.tolist()),
        classes=chosen.classes,
        label_names=tuple(names if label_names is None else label_names),
        class_names=class_names or (("reject", "accept") if accept is None and reject is None else chosen.class_names),
        edge_label_names=None if edge_kinds is None else edge_kinds.names,
        features=features,
        notes=notes + more + chosen.notes,
        edge_features=None if edge_kinds is None else edge_kinds.features,
    )


def from_pyg_file(path: str | Path, *, need_classes: bool = True, **options: Any) -> GraphDataset:
    """A dataset from a file that `torch.save` wrote: a list of PyG `Data`, or the processed file of an in-memory dataset.

    Nothing but PyG's own records of tensors is unpickled, so a file from a stranger cannot run code.

    Args:
        path: The file.
        need_classes: Whether there must be two classes; without, every class is 0.
        **options: Arguments of `from_pyg`.
    """
    path = Path(path)
    graphs = _separate(_load(path), path)
    if not need_classes:
        options = options | {"classes": [0] * len(graphs)}
    return from_pyg(graphs, **{"name": path.stem} | options)


def _load(path: Path) -> Any:
    import torch
    from torch_geometric.data import Data
    from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
    from torch_geometric.data.storage import GlobalStorage

    try:
        with torch.serialization.safe_globals([Data, DataEdgeAttr, DataTensorAttr, GlobalStorage]):
            return torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        raise InputError(f"Cannot read {path}: {reason_of(error)}") from error
    except Exception as error:  # torch raises many kinds for damaged files
        rule = "must hold a list of torch_geometric.data.Data of tensors, as torch.save writes it"
        raise InputError(f"{path} {rule} ({type(error).__name__})") from error


def _separate(loaded: Any, path: Path) -> list[Any]:
    """The graphs of a loaded file: a list, or the collated graphs and slices of an in-memory dataset."""
    from torch_geometric.data import Data
    from torch_geometric.data.separate import separate

    if isinstance(loaded, list | tuple) and loaded and all(isinstance(graph, Data) for graph in loaded):
        return list(loaded)
    if isinstance(loaded, tuple) and len(loaded) >= 2 and isinstance(loaded[1], dict):
        whole = Data.from_dict(loaded[0]) if isinstance(loaded[0], dict) else loaded[0]
        try:
            count = min(len(places) for places in loaded[1].values()) - 1
            return [separate(Data, whole, index, loaded[1], decrement=False) for index in range(count)]
        except Exception as error:  # damaged slices fail in many ways
            raise InputError(f"{path} must hold collated graphs and their slices") from error
    got = (
        f"{type(loaded).__name__} of {type(loaded[0]).__name__}"
        if isinstance(loaded, list) and loaded
        else type(loaded).__name__
    )
    raise InputError(f"{path} must hold a list of torch_geometric.data.Data (got {got})")


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


def _alphabet(
    graphs: list[Any], counts: list[int], bins: int | None, known: FloatArray | None
) -> tuple[IntArray, FloatArray, list[str], tuple[str, ...]]:
    """Label of every node, feature row of each label, their names, and a note where rows were made coarser."""
    if all(graph.x is None for graph in graphs):
        return np.zeros(sum(counts), dtype=np.int32), np.eye(1, dtype=np.float32), ["node"], ()
    for index, graph in enumerate(graphs):
        if (graph.x is None) != (graphs[0].x is None):
            raise InputError(f"Graph {index} must have x exactly if graph 0 has (got {_none_or_one(graph.x)})")
    rows = np.concatenate([_features(graph, index, graphs[0]) for index, graph in enumerate(graphs)])
    if known is not None:
        if known.shape[1] != rows.shape[1]:
            raise InputError(f"Graphs must have x of width {known.shape[1]}, as known ones (got {rows.shape[1]})")
        return _nearest(rows, known), known, _row_names(known), ()
    if ((rows == 0) | (rows == 1)).all() and (rows.sum(axis=1) == 1).all():
        width = rows.shape[1]
        return rows.argmax(axis=1).astype(np.int32), np.eye(width, dtype=np.float32), list(map(str, range(width))), ()
    rows, notes = (rows, ()) if bins is None else _bin_columns(rows, bins)
    labels, features = _distinct_rows(rows)
    if len(features) > MAX_LABELS:
        rule = f"x must be one-hot or have at most {MAX_LABELS} distinct rows in all, as labels are a finite alphabet"
        advice = "bins=4 (--bin 4) cuts numbers into ranges" if bins is None else "fewer bins give fewer rows"
        raise InputError(f"{rule}; {advice} (got {len(features)})")
    return labels, features, _row_names(features), notes


def _bin_columns(rows: FloatArray, bins: int) -> tuple[FloatArray, tuple[str, ...]]:
    """The rows with every column of many values cut into ranges, each node at the median of its range."""
    rows, cut = rows.copy(), []
    for column in range(rows.shape[1]):
        if len(np.unique(rows[:, column])) > bins:
            ranges = Ranges.of(rows[:, column], bins, str(column))
            rows[:, column] = ranges.middle[ranges.range_of]
            cut.append(str(column))
    if not cut:
        return rows, ()
    shown = ", ".join(cut[:8]) + (", …" if len(cut) > 8 else "")
    what = (
        f"Column{'s' if len(cut) > 1 else ''} {shown} of x {'were' if len(cut) > 1 else 'was'} cut into {bins} ranges"
    )
    return rows, (f"{what}; the model sees the median of a node's range.",)


def _nearest(rows: FloatArray, known: FloatArray) -> IntArray:
    """The known row nearest to each row."""
    from scipy.spatial import cKDTree

    spread = known.std(axis=0)
    unit = np.where(spread > 0, spread, 1)
    return np.asarray(cKDTree(known / unit).query(rows / unit)[1], dtype=np.int32)


def _row_names(features: FloatArray) -> list[str]:
    """Names of rows that are not one-hot: their numbers if these are few, with as few digits as keep them distinct."""
    if features.shape[1] > _NAMED_COLUMNS:
        return [f"row {row}" for row in range(len(features))]
    names: list[str] = []
    for digits in (2, 3, 4):
        names = [_tuple_name(row, digits) for row in features.tolist()]
        if len(set(names)) == len(names):
            break
    return names


def _tuple_name(row: list[float], digits: int) -> str:
    numbers = ", ".join(f"{value:.{digits}g}" for value in row)
    return numbers if len(row) == 1 else f"({numbers})"


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


def _none_or_one(value: object) -> str:
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


@dataclass(frozen=True, eq=False)
class _EdgeKinds:
    """Label of each edge (or edge row), feature row of each label, and their names."""

    labels: IntArray
    features: FloatArray
    names: tuple[str, ...]


def _edges(graphs: list[Any], node_ptr: LongArray) -> tuple[LongArray, _EdgeKinds | None, tuple[str, ...]]:
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
    edges, first_row, edge_of_row, repairs = merge_directions(rows.pairs + offsets, int(node_ptr[-1]))
    kinds, why_not = _edge_kinds(graphs, rows)
    if kinds is not None:
        clashes = np.flatnonzero(kinds.labels != kinds.labels[first_row][edge_of_row])
        if len(clashes):
            why_not = f"graph {rows.graph_of(int(clashes[0]))} has an edge with two different ones"
    if kinds is None or why_not:
        return edges, None, repairs.notes + ((f"Edge attributes were left out: {why_not}.",) if why_not else ())
    return edges, replace(kinds, labels=kinds.labels[first_row]), repairs.notes


def _edge_rows(graph: Any, index: int) -> LongArray:
    edge_index = _array(graph.edge_index)
    if edge_index.ndim != 2 or len(edge_index) != 2 or edge_index.dtype.kind not in "iu":
        got = f"{edge_index.dtype} of shape {list(edge_index.shape)}"
        raise InputError(f"Graph {index} must have an edge_index of integers, [2, edges] (got {got})")
    return edge_index.T.astype(np.int64)


def _edge_kinds(graphs: list[Any], rows: _Rows) -> tuple[_EdgeKinds | None, str]:
    """Labels of the edge rows, or None and, if there are attributes that cannot be labels, why."""
    values = [next((graph.get(key) for key in _EDGE_KEYS if graph.get(key) is not None), None) for graph in graphs]
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
    if table.dtype.kind not in "fiub" or not np.isfinite(table).all():
        return None, "they are not all finite numbers"
    if table.shape[1] > 1 and ((table == 0) | (table == 1)).all() and (table.sum(axis=1) == 1).all():
        width = table.shape[1]
        names = tuple(map(str, range(width)))
        return _EdgeKinds(table.argmax(axis=1).astype(np.int32), np.eye(width, dtype=np.float32), names), ""
    if table.shape[1] == 1 and ((table >= 0) & (table < MAX_LABELS) & (table == np.floor(table))).all():
        labels = table[:, 0].astype(np.int32)
        count = int(labels.max(initial=0)) + 1
        return _EdgeKinds(labels, np.arange(count, dtype=np.float32)[:, None], tuple(map(str, range(count)))), ""
    labels, features = _distinct_rows(table.astype(np.float32) + np.float32(0))
    if len(features) > MAX_LABELS:
        return None, f"they have {len(features)} distinct rows, more than {MAX_LABELS}"
    return _EdgeKinds(labels, features, tuple(_row_names(features))), ""


def _classes(
    graphs: list[Any], classes: Sequence[int] | None, accept: int | str | None, reject: int | str | None
) -> ChosenClasses:
    if classes is None:
        values = np.array([_target(graph, index) for index, graph in enumerate(graphs)])
        source = "y"
    else:
        values, source = np.asarray(classes), "classes"
        if values.shape != (len(graphs),) or values.dtype.kind not in "iub":
            got = f"{values.dtype} of shape {list(values.shape)}"
            raise InputError(f"classes must be one integer per graph, {len(graphs)} (got {got})")
    known = [0, 1] if set(np.unique(values).tolist()) <= {0, 1} else None
    return choose_classes(values, accept=accept, reject=reject, names={}, source=source, known=known)


def _target(graph: Any, index: int) -> float:
    if graph.y is None:
        raise InputError(f"Graph {index} must have a class y, or classes must be given (got none)")
    value = _array(graph.y)
    if value.size != 1 or value.dtype.kind not in "fiub" or not np.isfinite(value).all():
        raise InputError(f"Graph {index} must have one number as its class y (got {value.tolist()!s:.60})")
    return float(value.reshape(-1)[0])
