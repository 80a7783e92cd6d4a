"""A dataset: graphs over one label alphabet, each with a class, reject (0) or accept (1); and what its readers share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, overload

import numpy as np
import numpy.typing as npt

from comrecgc.errors import InputError
from comrecgc.graphs import Graph, GraphBatch, LongArray, PackedGraphs, to_data
from comrecgc.molecules import are_atoms

if TYPE_CHECKING:
    from torch_geometric.data import Data

ClassArray = npt.NDArray[np.int8]

MAX_LABELS = 512
"""More distinct feature rows than this are not an alphabet: relabelling a node would be a choice among too many."""

_UNPACKED = 60_000  # graphs of a subset that are held one by one


@dataclass(frozen=True, eq=False, kw_only=True)
class GraphDataset(Sequence[Graph]):
    """Graphs with their classes and the names of their labels.

    Args:
        name: What the dataset is called in files and reports.
        graphs: The graphs: a tuple of them, or packed where there are very many.
        classes: Class of each graph, `[len]`: 0 reject, 1 accept.
        label_names: Name of each node label; its length is the size of the alphabet.
        class_names: What classes 0 and 1 mean.
        edge_label_names: Name of each edge label, if edges have labels.
        features: Feature row a model sees for each label, `[num_labels, width]`; one-hot unless given.
        edge_features: Feature row a model sees for each edge label, `[num_edge_labels, width]`; one-hot unless given.
        notes: What reading did to the data (graphs dropped, duplicates merged …), one sentence each.
        names: What each graph is called; empty where they have no names.
    """

    name: str
    graphs: Sequence[Graph]
    classes: ClassArray
    label_names: tuple[str, ...]
    class_names: tuple[str, str] = ("reject", "accept")
    edge_label_names: tuple[str, ...] | None = None
    features: npt.NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 0), dtype=np.float32))
    notes: tuple[str, ...] = field(default=())
    names: tuple[str, ...] = ()
    edge_features: npt.NDArray[np.float32] | None = None

    def __post_init__(self) -> None:
        classes = np.asarray(self.classes)
        if classes.shape != (len(self.graphs),):
            raise InputError(f"One class per graph is needed (got {classes.shape} for {len(self.graphs)} graphs)")
        if not np.isin(classes, (0, 1)).all():
            raise InputError(f"Classes must be 0 (reject) or 1 (accept) (got {sorted(set(classes.tolist()))[:5]})")
        largest = max((int(part.labels.max()) for part in _parts(self.graphs)), default=-1)
        if largest >= len(self.label_names):
            raise InputError(f"Every node label needs a name (got {len(self.label_names)} names, label {largest})")
        if len(self.names) not in (0, len(self.graphs)):
            raise InputError(
                f"One name per graph is needed, or none (got {len(self.names)} for {len(self.graphs)} graphs)"
            )
        if len(self.features) == 0:
            object.__setattr__(self, "features", np.eye(len(self.label_names), dtype=np.float32))
        if len(self.features) != len(self.label_names):
            raise InputError(f"Every label needs a feature row (got {len(self.features)} of {len(self.label_names)})")
        if self.edge_features is None and self.edge_label_names is not None:
            object.__setattr__(self, "edge_features", np.eye(len(self.edge_label_names), dtype=np.float32))
        if self.edge_features is not None and len(self.edge_features) != len(self.edge_label_names or ()):
            raise InputError(
                f"Every edge label needs a feature row (got {len(self.edge_features)} of {len(self.edge_label_names or ())})"
            )
        object.__setattr__(self, "classes", classes.astype(np.int8))

    @property
    def num_labels(self) -> int:
        """Size of the node label alphabet."""
        return len(self.label_names)

    @property
    def num_nodes(self) -> int:
        packed = self.graphs if isinstance(self.graphs, PackedGraphs) else None
        return sum(graph.num_nodes for graph in self.graphs) if packed is None else packed.num_nodes

    @property
    def num_edges(self) -> int:
        packed = self.graphs if isinstance(self.graphs, PackedGraphs) else None
        return sum(graph.num_edges for graph in self.graphs) if packed is None else packed.num_edges

    @property
    def is_molecular(self) -> bool:
        """Whether every label is an atom, so that graphs can be drawn and checked as molecules."""
        return are_atoms(self.label_names)

    def subset(self, indices: Iterable[int]) -> GraphDataset:
        """The graphs at the given indices, in that order."""
        chosen = list(indices)
        names = tuple(self.names[i] for i in chosen) if self.names else ()
        graphs: Sequence[Graph]
        if isinstance(self.graphs, PackedGraphs) and len(chosen) > _UNPACKED:
            graphs = self.graphs.subset(chosen)
        else:
            graphs = tuple(self.graphs[i] for i in chosen)
        return replace(self, graphs=graphs, classes=self.classes[chosen], names=names)

    def batch(self, start: int, stop: int) -> GraphBatch:
        """The graphs from one index up to another, as flat arrays."""
        if isinstance(self.graphs, PackedGraphs):
            return self.graphs.batch(start, min(stop, len(self)))
        return GraphBatch.from_graphs(self.graphs[start:stop])

    def to_pyg(self) -> list[Data]:
        """The graphs as PyG `Data` with features `x`, both directions of every edge, and class `y`."""
        pairs = zip(self.graphs, self.classes, strict=True)
        return [to_data(graph, self.features, target=int(target)) for graph, target in pairs]

    def __len__(self) -> int:
        return len(self.graphs)

    @overload
    def __getitem__(self, index: int) -> Graph: ...
    @overload
    def __getitem__(self, index: slice) -> GraphDataset: ...
    def __getitem__(self, index: int | slice) -> Graph | GraphDataset:
        return self.subset(range(len(self))[index]) if isinstance(index, slice) else self.graphs[index]

    def __iter__(self) -> Iterator[Graph]:
        return iter(self.graphs)

    def __repr__(self) -> str:
        return (
            f"GraphDataset({self.name!r}, graphs={len(self)}, nodes={self.num_nodes}, edges={self.num_edges}, "
            f"labels={self.num_labels}, accept={int(self.classes.sum())})"
        )


def _parts(graphs: Sequence[Graph]) -> Iterable[Graph | GraphBatch]:
    """The graphs, or batches of packed ones."""
    return graphs.batches() if isinstance(graphs, PackedGraphs) else graphs


@dataclass(frozen=True)
class Repairs:
    """What was not as it should be in lists of edges.

    Args:
        rows: Rows that were read.
        edges: Edges they hold.
        repeated: Rows that repeat an earlier one.
        one_way: Edges that are listed in one direction only.
    """

    rows: int = 0
    edges: int = 0
    repeated: int = 0
    one_way: int = 0

    def __add__(self, other: Repairs) -> Repairs:
        return Repairs(
            self.rows + other.rows,
            self.edges + other.edges,
            self.repeated + other.repeated,
            self.one_way + other.one_way,
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence on each."""
        notes = []
        if self.repeated:
            notes.append(f"{self.repeated} of {self.rows} rows of edges repeated an earlier row and were merged.")
        if self.one_way:
            notes.append(
                f"{self.one_way} of {self.edges} edges were listed in one direction only and taken as undirected."
            )
        return tuple(notes)


def merge_directions(pairs: LongArray, num_nodes: int) -> tuple[LongArray, LongArray, LongArray, Repairs]:
    """Each undirected edge once.

    Args:
        pairs: Two different nodes in each row, `[E, 2]`.
        num_nodes: Number of nodes of all graphs.

    Returns:
        The edges with `i < j`, sorted, `[M, 2]`; the row each was first seen in, `[M]`; the edge of each row, `[E]`;
        what was not as it should be.
    """
    low, high = pairs.min(axis=1), pairs.max(axis=1)
    keys, first_row, edge_of_row = np.unique(low * num_nodes + high, return_index=True, return_inverse=True)
    edges = np.stack([keys // num_nodes, keys % num_nodes], axis=1)
    num_directed = len(np.unique(pairs[:, 0] * num_nodes + pairs[:, 1]))
    repairs = Repairs(len(pairs), len(edges), len(pairs) - num_directed, 2 * len(edges) - num_directed)
    return edges, first_row, edge_of_row, repairs
