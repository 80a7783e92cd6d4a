"""A dataset: graphs over one label alphabet, each with a class, reject (0) or accept (1); and functions that its readers share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field, fields, replace
from operator import add
from typing import TYPE_CHECKING, Any, NewType, TypeVar, overload

import numpy as np
import numpy.typing as npt

from comrecgc.data.goals import Goal, Numbers, check_numbers
from comrecgc.errors import InputError
from comrecgc.graphs import Graph, GraphBatch, LongArray, PackedGraphs, Schema, to_data
from comrecgc.molecules import are_atoms, are_bonds

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from torch_geometric.data import Data

    from comrecgc.data.attributes import Attributes


ClassArray = npt.NDArray[np.int8]

MAX_LABELS = 512
"""More distinct feature rows than this are not an alphabet: relabelling a node would be a choice among too many."""

DatasetIndex = NewType("DatasetIndex", int)
"""Index of a graph in its dataset; its index among the rejects is a `RejectPlace`."""


@dataclass(frozen=True, eq=False, kw_only=True)
class GraphDataset(Sequence[Graph]):
    """Graphs with their classes and the names of their labels.

    Args:
        name: Name of the dataset in files and reports.
        graphs: The graphs: a tuple, or `PackedGraphs` where there are very many.
        classes: Class of each graph, `[len]`: 0 reject, 1 accept.
        label_names: Name of each node label; its length is the size of the alphabet.
        class_names: Names of classes 0 and 1.
        edge_label_names: Name of each edge label, if edges have labels.
        features: Feature row a model sees for each label, `[num_labels, width]`; one-hot unless given.
        edge_features: Feature row a model sees for each edge label, `[num_edge_labels, width]`; one-hot unless given.
        notes: One sentence on each way in which reading changed the data (graphs dropped, duplicates merged …).
        names: Name of each graph; empty if they have none.
        stereo: Stereo marks of each molecule (`comrecgc.molecules.stereo_of`), which results keep; empty if there are none.
        attributes: The graphs' own tensors if they come from PyG; None if graphs have labels only.
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
    stereo: tuple[str, ...] = ()
    edge_features: npt.NDArray[np.float32] | None = None
    attributes: Attributes | None = None

    def __post_init__(self) -> None:
        classes = np.asarray(self.classes)
        if classes.shape != (len(self.graphs),):
            raise InputError(f"One class per graph is needed (got {classes.shape} for {len(self.graphs)} graphs)")
        if not np.isin(classes, (0, 1)).all():
            raise InputError(f"Classes must be 0 (reject) or 1 (accept) (got {sorted(set(classes.tolist()))[:5]})")
        largest = max((int(part.labels.max()) for part in _parts(self.graphs)), default=-1)
        if largest >= len(self.label_names):
            raise InputError(f"Every node label needs a name (got {len(self.label_names)} names, label {largest})")
        num = len(self.graphs)
        for what, some in (("name", self.names), ("text of stereo marks", self.stereo)):
            if len(some) not in (0, num):
                raise InputError(f"One {what} per graph is needed, or none (got {len(some)} for {num} graphs)")
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
        return sum(len(part.labels) for part in _parts(self.graphs))

    @property
    def num_edges(self) -> int:
        return sum(len(part.edges) for part in _parts(self.graphs))

    @property
    def is_molecular(self) -> bool:
        """Whether every label is an atom and every edge label a bond, so that graphs can be drawn and checked as molecules."""
        return are_atoms(self.label_names) and are_bonds(self.edge_label_names)

    @property
    def schema(self) -> Schema:
        """Names of labels and classes."""
        return Schema(self.label_names, self.edge_label_names, self.is_molecular, self.class_names, self.name)

    def subset(self, indices: Iterable[int]) -> GraphDataset:
        """The graphs at the given indices, in that order."""
        chosen = list(indices)
        names, stereo = (tuple(of[i] for i in chosen) if of else () for of in (self.names, self.stereo))
        packed = self.graphs if isinstance(self.graphs, PackedGraphs) else None
        graphs = tuple(self.graphs[i] for i in chosen) if packed is None else packed.subset(chosen).unpack()
        return replace(self, graphs=graphs, classes=self.classes[chosen], names=names, stereo=stereo)

    @property
    def numbers(self) -> Numbers:
        """Measured numbers; a `_NumberDataset` has some."""
        return Numbers()

    @property
    def values(self) -> npt.NDArray[np.float64] | None:
        """The measured number of each graph, `[len]`."""
        return self.numbers.values

    @property
    def goal(self) -> Goal | None:
        """The goal for the numbers; None if there are only classes."""
        return self.numbers.goal

    def with_numbers(self, numbers: Numbers) -> _NumberDataset:
        """The same graphs with measured numbers."""
        return _NumberDataset(**{it.name: getattr(self, it.name) for it in fields(GraphDataset)}, measured=numbers)

    def aiming(self, goal: Goal) -> _NumberDataset:
        """The same graphs with a goal for their numbers. Classes say which graphs reach it, or for a relative goal which lie above the median."""
        known = replace(self.numbers, goal=goal)
        if known.values is None:
            return self.with_numbers(known)
        check_numbers(known.values, goal, known.name)
        limit = float(np.median(known.values)) if goal.is_relative else goal.amount
        classes = (goal.sign * (known.values - limit) >= 0).astype(np.int8)
        now = f"{known.name} as it is" if goal.is_relative else f"{known.name} short of {limit:g}"
        return replace(self, classes=classes, class_names=(now, goal.words(known.name))).with_numbers(known)

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


@dataclass(frozen=True, eq=False, kw_only=True)
class _NumberDataset(GraphDataset):
    """Graphs with measured numbers and a goal for them."""

    measured: Numbers = Numbers()  # noqa: RUF009  # frozen

    @property
    def numbers(self) -> Numbers:
        return self.measured

    def subset(self, indices: Iterable[int]) -> GraphDataset:
        chosen = list(indices)
        values = None if self.measured.values is None else self.measured.values[chosen]
        return super().subset(chosen).with_numbers(replace(self.measured, values=values))


def _parts(graphs: Sequence[Graph]) -> Iterable[Graph | GraphBatch]:
    """The graphs, or batches of packed ones."""
    return graphs.batches() if isinstance(graphs, PackedGraphs) else graphs


@dataclass(frozen=True)
class Repairs:
    """Counts of what was repaired in lists of edges."""

    rows: int = 0  # number of rows read
    edges: int = 0  # number of distinct edges in them
    repeated: int = 0  # rows that repeat an earlier one
    one_way: int = 0  # edges that are listed in one direction only

    def __add__(self, other: Repairs) -> Repairs:
        return Repairs(*map(add, astuple(self), astuple(other)))

    @property
    def notes(self) -> tuple[str, ...]:
        """One sentence on each kind of repair."""
        notes = []
        if self.repeated:
            notes.append(f"{self.repeated} of {self.rows} rows of edges repeated an earlier row and were merged.")
        if self.one_way:
            notes.append(
                f"{self.one_way} of {self.edges} edges were listed in one direction only and taken as undirected."
            )
        return tuple(notes)


def merge_directions(pairs: LongArray, num_nodes: int) -> tuple[LongArray, LongArray, LongArray, Repairs]:
    """Each undirected edge once, from rows of two different nodes, `[E, 2]`.

    Returns:
        The edges with `i < j`, sorted, `[M, 2]`; the row each was first seen in, `[M]`; the edge of each row, `[E]`;
        and what was repaired.
    """
    low, high = pairs.min(axis=1), pairs.max(axis=1)
    keys, first_row, edge_of_row = np.unique(low * num_nodes + high, return_index=True, return_inverse=True)
    edges = np.stack([keys // num_nodes, keys % num_nodes], axis=1)
    num_directed = len(np.unique(pairs[:, 0] * num_nodes + pairs[:, 1]))
    repairs = Repairs(len(pairs), len(edges), len(pairs) - num_directed, 2 * len(edges) - num_directed)
    return edges, first_row, edge_of_row, repairs


# The choice of two classes out of those of a dataset.


_SHOWN = 8
_Reading = TypeVar("_Reading", bound="DataclassInstance")


@dataclass(frozen=True, kw_only=True)
class GraphReading:
    """How to read an archive or a file of graphs.

    Args:
        accept: The class that means accept, by its value or its name; the larger of two by default.
        reject: The class that means reject; all others by default.
        threshold: Turns numbers into classes: graphs with at least this number are accepted, or, if `accept` is "lower", rejected.
        bins: Number of ranges that a node attribute is cut into, by the attribute's name or its number, counted from 1; "all" is
            every attribute. Attributes that are not named are left out.
    """

    accept: int | str | None = None
    reject: int | str | None = None
    threshold: float | None = None
    bins: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.threshold is not None and not math.isfinite(self.threshold):
            raise InputError(f"threshold must be a finite number (got {self.threshold})")
        if self.threshold is not None and (self.accept not in (None, "higher", "lower") or self.reject is not None):
            got = self.accept if self.reject is None else self.reject
            raise InputError(f"With a threshold, accept must be 'higher' or 'lower' and reject none (got {got!r})")
        for name, count in self.bins.items():
            if count < 2:
                raise InputError(f"bins must cut attribute {name!r} into at least 2 ranges (got {count})")


def reading_with(reading: _Reading, options: Mapping[str, Any]) -> _Reading:
    """A reading with some of its fields replaced."""
    known = [each.name for each in fields(reading)]
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise InputError(f"Options are {', '.join(known)} (got {unknown[0]!r})")
    return replace(reading, **options)


@dataclass(frozen=True, eq=False, kw_only=True)
class ChosenClasses:
    """The graphs of two chosen classes."""

    kept: LongArray  # indices of the graphs of either class, `[n]`
    classes: ClassArray  # 1 for the class that means accept, 0 for the other, `[n]`
    class_names: tuple[str, str]  # names of reject and accept
    notes: tuple[str, ...] = ()  # a sentence on graphs that were left out


def choose_classes(
    values: npt.NDArray[Any],
    *,
    accept: int | str | None,
    reject: int | str | None,
    names: Mapping[int, str],
    source: str,
    known: Sequence[int] | None = None,
) -> ChosenClasses:
    """Read the values of a dataset's classes, `[B]`, as reject and accept, which are given by value or name: by default the larger of two, and all others.

    `names` are those of raw classes, and `known` all classes, where some may not occur; `source` is for errors.
    """
    distinct = np.unique(values).tolist() if known is None else list(known)
    if len(distinct) < 2:
        raise InputError(f"{source} must have two classes (got {', '.join(map(_plain, distinct))})")
    good = _find(accept, distinct, names, "accept")
    bad = _find(reject, distinct, names, "reject")
    if good is None and bad is None and len(distinct) > 2:
        counts = ", ".join(f"{_plain(v)} ({int((values == v).sum())} graphs)" for v in distinct[:_SHOWN])
        more = ", …" if len(distinct) > _SHOWN else ""
        raise InputError(
            f"{source} has {len(distinct)} classes: accept must name one of {counts}{more}; "
            "reject may name another, and is all others by default (got neither); numbers need classes, such as classes=[y > 1 for y in …]"
        )
    if good is None and len(distinct) == 2:
        good = distinct[1] if bad is None else distinct[1 - distinct.index(bad)]
    if bad is None and len(distinct) == 2:
        bad = distinct[1 - distinct.index(good)]
    if good == bad:
        raise InputError(f"accept and reject must be two classes (got {_plain(good)} for both)")
    titles = {value: names.get(value, f"class {_plain(value)}") for value in distinct}
    if good is None:
        return all_classes(values != bad, (titles[bad], f"not {titles[bad]}"))
    if bad is None:
        return all_classes(values == good, (f"not {titles[good]}", titles[good]))
    kept = np.flatnonzero((values == good) | (values == bad))
    left_out = len(values) - len(kept)
    notes = (f"{left_out} graphs of other classes were left out.",) if left_out else ()
    return ChosenClasses(
        kept=kept, classes=(values[kept] == good).astype(np.int8), class_names=(titles[bad], titles[good]), notes=notes
    )


def classes_by_threshold(values: npt.NDArray[Any], threshold: float, *, higher: bool, what: str) -> ChosenClasses:
    """Classes of graphs that have a number each: accepted from a threshold on, or below it."""
    low, high = f"{what} < {threshold:g}", f"{what} ≥ {threshold:g}"
    chosen = all_classes((values >= threshold) == higher, (low, high) if higher else (high, low))
    if len(np.unique(chosen.classes)) < 2:
        raise InputError(
            f"threshold must lie between the values of {what}, {values.min():g}…{values.max():g} (got {threshold:g})"
        )
    return chosen


def all_classes(accepted: npt.NDArray[np.bool_], names: tuple[str, str]) -> ChosenClasses:
    """Every graph, accepted or not."""
    return ChosenClasses(kept=np.arange(len(accepted)), classes=accepted.astype(np.int8), class_names=names)


def _find(wanted: int | str | None, distinct: Sequence[Any], names: Mapping[int, str], parameter: str) -> Any:
    """The raw class that a value or a name refers to."""
    if wanted is None:
        return None
    for value in distinct:
        if wanted == value or str(wanted).strip() in (_plain(value), names.get(value)):
            return value
    shown = ", ".join(names.get(value, _plain(value)) for value in distinct[:_SHOWN])
    raise InputError(f"{parameter} must be one of the classes {shown} (got {wanted})")


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
