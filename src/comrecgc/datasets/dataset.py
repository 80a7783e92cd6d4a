"""A dataset: graphs over one label alphabet, each with a class, reject (0) or accept (1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, overload

import numpy as np
import numpy.typing as npt

from comrecgc.errors import InputError
from comrecgc.graphs import Graph, to_data
from comrecgc.molecules import are_elements

if TYPE_CHECKING:
    from torch_geometric.data import Data

ClassArray = npt.NDArray[np.int8]


@dataclass(frozen=True, eq=False, kw_only=True)
class GraphDataset(Sequence[Graph]):
    """Graphs with their classes and the names of their labels.

    Args:
        name: What the dataset is called in files and reports.
        graphs: The graphs.
        classes: Class of each graph, `[len]`: 0 reject, 1 accept.
        label_names: Name of each node label; its length is the size of the alphabet.
        class_names: What classes 0 and 1 mean.
        edge_label_names: Name of each edge label, if edges have labels.
        features: Feature row a model sees for each label, `[num_labels, width]`; one-hot by default.
        notes: What reading did to the data (graphs dropped, duplicates merged …), one sentence each.
    """

    name: str
    graphs: tuple[Graph, ...]
    classes: ClassArray
    label_names: tuple[str, ...]
    class_names: tuple[str, str] = ("reject", "accept")
    edge_label_names: tuple[str, ...] | None = None
    features: npt.NDArray[np.float32] | None = None
    notes: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        classes = np.asarray(self.classes)
        if classes.shape != (len(self.graphs),):
            raise InputError(f"One class per graph is needed (got {classes.shape} for {len(self.graphs)} graphs)")
        if not np.isin(classes, (0, 1)).all():
            raise InputError(f"Classes must be 0 (reject) or 1 (accept) (got {sorted(set(classes.tolist()))[:5]})")
        largest = max((int(graph.labels.max()) for graph in self.graphs), default=-1)
        if largest >= len(self.label_names):
            raise InputError(f"Every node label needs a name (got {len(self.label_names)} names, label {largest})")
        if self.features is not None and len(self.features) != len(self.label_names):
            raise InputError(f"Every label needs a feature row (got {len(self.features)} of {len(self.label_names)})")
        object.__setattr__(self, "classes", classes.astype(np.int8))

    @property
    def num_labels(self) -> int:
        """Size of the node label alphabet."""
        return len(self.label_names)

    @property
    def feature_table(self) -> npt.NDArray[np.float32]:
        """Feature row of each label, `[num_labels, width]`."""
        return np.eye(self.num_labels, dtype=np.float32) if self.features is None else self.features

    @property
    def num_nodes(self) -> int:
        return sum(graph.num_nodes for graph in self.graphs)

    @property
    def num_edges(self) -> int:
        return sum(graph.num_edges for graph in self.graphs)

    @property
    def is_molecular(self) -> bool:
        """Whether every label is a chemical element, so that graphs can be drawn and checked as molecules."""
        return are_elements(self.label_names)

    def subset(self, indices: Iterable[int]) -> GraphDataset:
        """The graphs at the given indices, in that order."""
        chosen = list(indices)
        return replace(self, graphs=tuple(self.graphs[i] for i in chosen), classes=self.classes[chosen])

    def to_pyg(self) -> list[Data]:
        """The graphs as PyG `Data` with features `x`, both directions of every edge, and class `y`."""
        pairs = zip(self.graphs, self.classes, strict=True)
        return [to_data(graph, self.feature_table, target=int(target)) for graph, target in pairs]

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
