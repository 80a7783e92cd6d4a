"""PyG datasets and lists of `Data` as graphs over one finite alphabet of labels; their tensors are kept as `Attributes`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from comrecgc.data.alphabet import Alphabet, KnownNames, is_numeric, known_names
from comrecgc.data.attributes import Attributes, Labelling, medoids
from comrecgc.data.dataset import MAX_LABELS, ChosenClasses, GraphDataset, choose_classes, merge_directions
from comrecgc.errors import InputError
from comrecgc.graphs import GraphBatch, IntArray, LongArray, pointers
from comrecgc.molecules import BOND_NAMES, BOND_ORDERS, are_atoms
from comrecgc.run import load_torch

_EXACT = 1 << 24  # largest range of integers that float32 holds exactly
_EDGE_KEYS = ("edge_attr", "edge_label", "edge_type", "edge_weight")  # where PyG graphs keep what may be edge labels
_LARGEST = float(np.finfo(np.float32).max)
FloatArray = npt.NDArray[np.float32]
_NO_ROW = -1  # stands for a bond that does not occur, and equals no row of the data
_NO_X = "The graphs have no x: the model is given a column of ones."


def from_pyg(
    data: Iterable[Any],
    *,
    name: str | None = None,
    classes: Sequence[int] | None = None,
    accept: int | str | None = None,
    reject: int | str | None = None,
    label_names: Sequence[str] | None = None,
    class_names: tuple[str, str] | None = None,
    edge_label_names: Sequence[str] | None = None,
    labels: Sequence[int] | str | None = None,
    bins: int | None = None,
    transform: Callable[[Any], Any] | None = None,
    like: GraphDataset | None = None,
) -> GraphDataset:
    """Make a dataset from PyG graphs, which are not changed.

    Rules are stated in labels: the columns of `x` if it is one-hot, else its distinct rows, else those of its columns of categories, else clusters of
    its numbers. A model sees the graphs' own tensors: nodes and edges that a change does not touch keep their rows of `x`, `edge_attr`,
    `edge_weight` and all others, and new or relabelled ones get those of a typical node or edge of their label. Edges are taken as undirected.

    Args:
        data: A PyG dataset or list of `Data`, each with `edge_index`, and `x` and `y` as described.
        name: Name of the dataset; its own `name` by default.
        classes: A value per graph, to be used instead of `y`.
        accept: The value of `y` that means accept; the larger of two by default, and needed if there are more.
        reject: The value of `y` that means reject; all others by default. With both, graphs of further classes are left out.
        label_names: Name of each label.
        class_names: Names of reject and accept.
        edge_label_names: Name of each edge label. Bonds of molecules are "single", "double", "triple" and "aromatic", in the order of the data.
        labels: Columns of `x` to read labels from, or the name of another tensor with a row per node.
        bins: Group columns of numbers into so many clusters, as labels.
        transform: A transform of PyG, applied to every changed graph before a model sees it, as for positional encodings or virtual nodes. The data
            must come without it. New or relabelled nodes are those of the mask `data.changed`.
        like: A dataset whose labels these graphs are over.

    Raises:
        InputError: Naming the first graph that cannot be used, and why.
    """
    if bins is not None and bins < 2:
        raise InputError(f"bins must be at least 2 clusters (got {bins})")
    graphs = _graphs(data)
    name = name or str(getattr(data, "name", None) or "custom")
    known = known_names(name, graphs[0])
    counts = [_num_nodes(graph, index) for index, graph in enumerate(graphs)]
    node_ptr = pointers(counts)
    rows, what = _node_rows(graphs, counts, labels)
    if like is not None and like.attributes is not None:
        alphabet, transform = like.attributes.alphabet, transform or like.attributes.transform
    else:
        alphabet = _alphabet(rows, labels, bins, label_names, known, what)
    node_labels = _labels_over(alphabet, rows, node_ptr)
    found = _edges(graphs, node_ptr, edge_label_names, known, alphabet, like)
    nodes = _labelling(alphabet, node_labels, rows)
    edge_ptr = np.searchsorted(found.edges[:, 0], node_ptr)
    source = np.arange(len(graphs), dtype=np.int32)
    ids = (np.arange(node_ptr[-1]) - np.repeat(node_ptr[:-1], counts)).astype(np.int32)
    batch = GraphBatch(node_labels, found.edges, node_ptr, edge_ptr, found.labels, ids, source)
    attributes, features = Attributes.of(graphs, nodes, found.rows, node_ptr, found.pairs, transform), nodes.features
    if like is not None and like.attributes is not None:
        attributes, features = attributes.with_typical_of(like.attributes), like.features
    chosen = _classes(graphs, classes, accept, reject)
    no_x = (_NO_X,) if "x" not in attributes.nodes and transform is None else ()
    return GraphDataset(
        name=name,
        graphs=tuple(batch[graph] for graph in chosen.kept.tolist()),
        classes=chosen.classes,
        label_names=alphabet.names,
        class_names=class_names or (("reject", "accept") if accept is None and reject is None else chosen.class_names),
        edge_label_names=None if found.rows.alphabet is None else found.rows.alphabet.names,
        features=features,
        notes=alphabet.notes + no_x + found.notes + attributes.notes + chosen.notes,
        edge_features=None if found.rows.alphabet is None else found.rows.features,
        attributes=attributes,
    )


def from_pyg_file(path: str | Path, *, need_classes: bool = True, **options: Any) -> GraphDataset:
    """A dataset from a file that `torch.save` wrote: a list of PyG `Data`, or the processed file of an in-memory dataset.

    Nothing but PyG's own records of tensors is unpickled, so a file from a stranger cannot run code. Options are those of `from_pyg`.
    """
    path = Path(path)
    graphs = _load(path)
    if not need_classes:
        options = options | {"classes": [0] * len(graphs)}
    return from_pyg(graphs, **{"name": path.stem} | options)


def _load(path: Path) -> list[Any]:
    """The graphs of a file: a list, or the collated graphs and slices of an in-memory dataset."""
    from torch_geometric.data import Data
    from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
    from torch_geometric.data.separate import separate
    from torch_geometric.data.storage import GlobalStorage

    rule = "must hold a list of torch_geometric.data.Data of tensors, as torch.save writes it"
    loaded = load_torch(path, rule, Data, DataEdgeAttr, DataTensorAttr, GlobalStorage)
    if isinstance(loaded, list | tuple) and loaded and all(isinstance(graph, Data) for graph in loaded):
        return list(loaded)
    if isinstance(loaded, tuple) and len(loaded) >= 2 and isinstance(loaded[1], dict):
        whole = Data.from_dict(loaded[0]) if isinstance(loaded[0], dict) else loaded[0]
        try:
            count = min(len(places) for places in loaded[1].values()) - 1
            return [separate(Data, whole, index, loaded[1], decrement=False) for index in range(count)]
        except Exception as error:  # damaged slices fail in many ways
            raise InputError(f"{path} must hold collated graphs and their slices") from error
    got = type(loaded).__name__
    got += f" of {type(loaded[0]).__name__}" if isinstance(loaded, list) and loaded else ""
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


def _node_rows(graphs: list[Any], counts: list[int], labels: Sequence[int] | str | None) -> tuple[FloatArray, str]:
    """The table that labels are read from, `[N, width]`, and its name; a column of ones without `x`."""
    key = labels if isinstance(labels, str) else "x"
    if key == "x" and all(graph.x is None for graph in graphs):
        return np.ones((sum(counts), 1), dtype=np.float32), "x"
    for index, graph in enumerate(graphs):
        if (graph.get(key) is None) != (graphs[0].get(key) is None) or graph.get(key) is None:
            raise InputError(
                f"Graph {index} must have {key} exactly if graph 0 has (got {'none' if graph.get(key) is None else 'one'})"
                if key == "x"
                else f"labels must name a tensor of every graph (got {key!r}, which graph {index} lacks)"
            )
    return np.concatenate([_features(graph, index, graphs[0], key) for index, graph in enumerate(graphs)]), key


def _alphabet(
    rows: FloatArray,
    labels: Sequence[int] | str | None,
    bins: int | None,
    names: Sequence[str] | None,
    known: KnownNames | None,
    what: str,
) -> Alphabet:
    """The labels of the nodes, with given or known names."""
    columns = None if isinstance(labels, str) else labels
    is_known = known is not None and labels is None and bins is None and bool(known.nodes)
    if is_known and known is not None and known.columns:
        columns = [0]
    alphabet = Alphabet.of(rows, columns, bins, what)
    if names is not None:
        if len(names) != len(alphabet.names):
            raise InputError(f"label_names must name each of the {len(alphabet.names)} labels (got {len(names)} names)")
        return replace(alphabet, names=tuple(names))
    if known is None or not is_known:
        return alphabet
    values = alphabet.rows[:, 0].astype(int) if known.columns else alphabet.columns
    elements = [known.nodes.get(int(value), "") for value in values]
    if not all(elements) or (not known.columns and len(elements) != len(known.nodes)):
        return alphabet
    more: tuple[str, ...] = ()
    if rows.shape[1] > len(alphabet.columns):
        words = (
            "Labels are the elements; the other columns of x stay as they are where a node is kept, and do not follow what is joined or cut: "
            "transform= or featurise= can compute them anew."
        )
        more = (words,)
    return replace(alphabet, names=tuple(elements), notes=more)


def _labels_over(alphabet: Alphabet, rows: FloatArray, node_ptr: LongArray) -> IntArray:
    if rows.shape[1] <= int(alphabet.columns.max(initial=0)):
        raise InputError(
            f"Unseen graphs must have node features of width {int(alphabet.columns.max()) + 1} or more, as those of fit (got {rows.shape[1]})"
        )
    labels = alphabet.labels_of(rows)
    for node in np.flatnonzero(labels < 0)[:1].tolist():
        got = f"{rows[node, alphabet.columns].tolist()[:4]} in graph {_graph_of(node_ptr, node)}"
        raise InputError(f"Unseen graphs must have node features seen in fit (got {got})")
    return labels


def _labelling(alphabet: Alphabet | None, labels: IntArray, rows: FloatArray) -> Labelling:
    """Labels with typical rows of features; a label that does not occur gets the known row."""
    typical = medoids(labels, rows, 1 if alphabet is None else len(alphabet.names))
    features = rows[typical].copy()
    if alphabet is not None:
        unused = np.setdiff1d(np.arange(len(alphabet.names)), labels)
        unused = unused[(alphabet.rows[unused] != _NO_ROW).all(axis=1)]
        features[np.ix_(unused, alphabet.columns)] = alphabet.rows[unused]
    return Labelling(alphabet, labels, typical, features)


def _features(graph: Any, index: int, first: Any, key: str) -> FloatArray:
    """Feature rows of one graph, `[n, width]`, checked."""
    x, first_x = _array(graph.get(key)), _array(first.get(key))
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


def _graph_of(ptr: LongArray, row: int) -> int:
    """The graph of a row, given where the rows of each begin, `[B+1]`."""
    return int(np.searchsorted(ptr, row, side="right")) - 1


@dataclass(frozen=True, eq=False, kw_only=True)
class _Edges:
    """Undirected edges of all graphs `[M, 2]` with their labels `[M]`, and the rows `[E, 2]` that they come from with theirs `[E]`."""

    edges: LongArray
    pairs: LongArray
    labels: IntArray | None
    rows: Labelling
    notes: tuple[str, ...]


def _edges(
    graphs: list[Any],
    node_ptr: LongArray,
    names: Sequence[str] | None,
    known: KnownNames | None,
    nodes: Alphabet,
    like: GraphDataset | None,
) -> _Edges:
    """The edges of all graphs, what may be their labels, and notes on repairs."""
    parts = [_edge_rows(graph, index) for index, graph in enumerate(graphs)]
    own, ptr = np.concatenate(parts), pointers([len(part) for part in parts])
    counts = np.repeat(np.diff(node_ptr), np.diff(ptr))  # nodes of the graph of each row
    for row in np.flatnonzero(((own < 0) | (own >= counts[:, None])).any(axis=1))[:1].tolist():
        rule = f"Graph {_graph_of(ptr, row)} must have nodes 0…{counts[row] - 1} in edge_index"
        raise InputError(f"{rule} (got {own[row].tolist()})")
    for row in np.flatnonzero(own[:, 0] == own[:, 1])[:1].tolist():
        raise InputError(
            f"Graph {_graph_of(ptr, row)} must not have self-loops: take them out with T.RemoveSelfLoops(), and give "
            f"from_pyg transform=T.AddSelfLoops() if the model needs them (got one at node {own[row, 0]})"
        )
    pairs = own + np.repeat(node_ptr[:-1], np.diff(ptr))[:, None]
    edges, first_row, edge_of_row, repairs = merge_directions(pairs, int(node_ptr[-1]))
    table, why_not = _edge_table(graphs, np.diff(ptr))
    alphabet = None
    if table is not None and like is not None and like.attributes is not None:
        alphabet = like.attributes.edge_alphabet
    elif table is not None:
        alphabet, why_not = _edge_alphabet(table, names, known, nodes)
    labels = None if alphabet is None or table is None else alphabet.labels_of(table)
    if labels is not None and (labels < 0).any():
        row = int(np.flatnonzero(labels < 0)[0])
        got = f"{table[row].tolist()[:4]} in graph {_graph_of(ptr, row)}"  # type: ignore[index]
        raise InputError(f"Unseen graphs must have edge features seen in fit (got {got})")
    if labels is not None:
        clashes = np.flatnonzero(labels != labels[first_row][edge_of_row])
        if len(clashes):
            why_not = f"graph {_graph_of(ptr, int(clashes[0]))} has an edge with two different ones"
            labels = alphabet = None
    if names is not None and alphabet is None:
        raise InputError(f"edge_label_names needs edge labels ({why_not or 'the graphs have no edge attributes'})")
    notes = repairs.notes + ((f"Edge attributes are no labels: {why_not}.",) if why_not else ())
    if alphabet is not None and are_atoms(nodes.names) and not set(alphabet.names) <= set(BOND_NAMES):
        words = (
            f"Labels are elements, but edges are called {', '.join(alphabet.names[:4])}: edge_label_names names the bonds ({', '.join(BOND_NAMES)}). "
            "Without, the graphs are not treated as molecules."
        )
        notes += (words,)
    kinds = np.zeros(len(pairs), np.int32) if labels is None else labels
    values = np.zeros((len(pairs), 1), np.float32) if table is None else table
    of_edges = None if labels is None else labels[first_row]
    rows_of = _labelling(alphabet, kinds, values)
    return _Edges(edges=edges, pairs=pairs, labels=of_edges, rows=rows_of, notes=notes)


def _edge_rows(graph: Any, index: int) -> LongArray:
    edge_index = _array(graph.edge_index)
    if edge_index.ndim != 2 or len(edge_index) != 2 or edge_index.dtype.kind not in "iu":
        got = f"{edge_index.dtype} of shape {list(edge_index.shape)}"
        raise InputError(f"Graph {index} must have an edge_index of integers, [2, edges] (got {got})")
    return edge_index.T.astype(np.int64)


def _edge_table(graphs: list[Any], counts: LongArray) -> tuple[FloatArray | None, str]:
    """Candidate labels of the edge rows, `[E, width]`, or None with the reason if attributes cannot be labels."""
    values = [next((graph.get(key) for key in _EDGE_KEYS if graph.get(key) is not None), None) for graph in graphs]
    missing = [index for index, value in enumerate(values) if value is None]
    if missing:
        return None, "" if len(missing) == len(values) else f"graph {missing[0]} has none"
    arrays = [_array(value) for value in values]
    arrays = [array[:, None] if array.ndim == 1 else array for array in arrays]
    for index, (array, count) in enumerate(zip(arrays, counts, strict=True)):
        if array.ndim != 2 or len(array) != count or array.shape[1] != arrays[0].shape[1]:
            return None, f"graph {index} has them in shape {list(array.shape)} for {count} edges"
    table = np.concatenate(arrays)
    if table.dtype.kind not in "fiub" or not np.isfinite(table).all():
        return None, "they are not all finite numbers"
    if not len(table):
        return None, ""
    return table.astype(np.float32) + np.float32(0), ""


def _edge_alphabet(
    table: FloatArray, names: Sequence[str] | None, known: KnownNames | None, nodes: Alphabet
) -> tuple[Alphabet | None, str]:
    """Labels of edges: columns of categories, with the names that are given or known; bonds are put into the order of chemistry."""
    width = table.shape[1]
    kinds = [column for column in range(width) if not is_numeric(table[:, column])]
    if not kinds:
        return None, "they are numbers, which stay with their edges, and rules do not speak of them"
    if known is not None and known.columns and known.edges:
        kinds = [0]
    whole = width == 1 and bool(((table >= 0) & (table < MAX_LABELS) & (table == np.floor(table))).all())
    if whole:
        count = int(table.max()) + 1
        values = np.arange(count, dtype=np.float32)[:, None]
        alphabet = Alphabet(columns=np.array([0]), rows=values, names=tuple(map(str, range(count))))
    else:
        alphabet = Alphabet.of(table, kinds, None, "edge_attr")
    if len(alphabet.names) > MAX_LABELS:
        return None, f"they have {len(alphabet.names)} distinct rows, more than {MAX_LABELS}"
    if names is not None:
        if len(names) != len(alphabet.names) and whole and len(names) == len(np.unique(table)):
            values = np.unique(table)[:, None]
            alphabet = replace(alphabet, rows=values, names=tuple(f"{value:g}" for value in values[:, 0]))
        if len(names) != len(alphabet.names):
            raise InputError(
                f"edge_label_names must name each of the {len(alphabet.names)} edge labels, {', '.join(alphabet.names[:6])} (got {len(names)} names)"
            )
        alphabet = replace(alphabet, names=tuple(names))
    elif known is not None and known.edges:
        alphabet = _with_known_bonds(alphabet, known, by_value=known.columns or width == 1)
    elif width == 1 and 1.5 in table and set(np.unique(table).tolist()) <= set(BOND_ORDERS):
        alphabet = replace(alphabet, names=tuple(BOND_NAMES[BOND_ORDERS.index(value)] for value in alphabet.rows[:, 0]))
    if are_atoms(nodes.names) and set(alphabet.names) <= set(BOND_NAMES):
        alphabet = _as_bonds(alphabet)
    return alphabet, ""


def _with_known_bonds(alphabet: Alphabet, known: KnownNames, *, by_value: bool) -> Alphabet:
    used = np.flatnonzero([int(value) in known.edges for value in alphabet.rows[:, 0]]) if by_value else None
    if used is None:
        names = [known.edges.get(int(column), "") for column in alphabet.columns]
        return replace(alphabet, names=tuple(names)) if all(names) and len(names) == len(known.edges) else alphabet
    names = [known.edges[int(alphabet.rows[place, 0])] for place in used.tolist()]
    return replace(alphabet, rows=alphabet.rows[used], names=tuple(names))


def _as_bonds(alphabet: Alphabet) -> Alphabet:
    """The same labels in the order of `BOND_NAMES`, which chemistry expects; bonds that do not occur get the row of the first."""
    count = 1 + max(BOND_NAMES.index(name) for name in alphabet.names)
    place = [alphabet.names.index(name) if name in alphabet.names else -1 for name in BOND_NAMES[:count]]
    rows = alphabet.rows[[max(one, 0) for one in place]].copy()
    rows[np.array(place) < 0] = _NO_ROW
    return replace(alphabet, rows=rows, names=BOND_NAMES[:count])


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
