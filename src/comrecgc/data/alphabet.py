"""Labels from features: which rows share a label, and the names of labels.

Rules are stated in labels. Labels come from columns of categories if there are any, else from clusters of numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from comrecgc.data.dataset import MAX_LABELS
from comrecgc.errors import InputError
from comrecgc.graphs import IntArray, LongArray
from comrecgc.molecules import BOND_NAMES, ELEMENTS

FloatArray = npt.NDArray[np.float32]

ALL = "all"
"""The name that stands for every attribute."""

MOST_VALUES = 16
"""A column with more distinct values than this, not all of them integers, holds numbers, not categories."""

_MOST_WHOLE = 256  # values of a column of whole numbers that are categories
_CLUSTERS = 8  # labels that columns of numbers are grouped into, at most
_SAME_KIND = 1e-3  # spread of a column of categories, so small that no other kind is nearest
_JUDGED_ROWS = 1_000  # rows whose silhouettes tell how many clusters there are
_NAMED_COLUMNS = 4  # longest row that is named by its numbers


@dataclass(frozen=True, eq=False, kw_only=True)
class Ranges:
    """One attribute cut into ranges of about equally many nodes."""

    range_of: LongArray  # range of every node, `[N]`, the lowest first
    names: tuple[str, ...]  # name of each range
    middle: npt.NDArray[np.float64]  # median of the values in each range

    @classmethod
    def of(cls, values: npt.NDArray[Any], count: int, name: str) -> Ranges:
        """Cut the values of an attribute `[N]` at their quantiles into at most `count` ranges; empty ones are left out."""
        cuts = np.unique(np.quantile(values, np.linspace(0, 1, count + 1)[1:-1], method="inverted_cdf"))
        range_of = np.searchsorted(cuts, values, side="left")
        used, range_of = np.unique(range_of, return_inverse=True)
        parts = [values[range_of == place] for place in range(len(used))]
        names = tuple(f"{name} {_span(part)}".strip() for part in parts)
        return cls(range_of=range_of, names=names, middle=np.array([np.median(part) for part in parts]))


def find_columns(bins: Mapping[str, int], names: Sequence[str], where: str) -> dict[int, int]:
    """The number of ranges of each column to cut, from numbers given by attribute name, by position counted from 1, or for `ALL`."""
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


@dataclass(frozen=True, eq=False, kw_only=True)
class Alphabet:
    """Labels of rows of features."""

    columns: LongArray  # columns that labels are read from, `[k]`
    rows: FloatArray  # a row of these columns for each label, `[L, k]`, or the middle of a cluster
    names: tuple[str, ...]  # name of each label
    unit: FloatArray | None = None  # spread of each column, `[k]`, where rows get the nearest label
    notes: tuple[str, ...] = ()  # what a reader must know of it

    @classmethod
    def of(cls, table: FloatArray, columns: Sequence[int] | None, clusters: int | None, what: str = "x") -> Alphabet:
        """The labels of a table of features, `[N, width]`; `what` is its name in errors.

        Labels are read from all columns, from those of categories if others hold numbers, or from the given ones. Columns of numbers are grouped into
        `bins` clusters; with None into the best number (at most 8) if there are no categories, else not at all.
        """
        width = table.shape[1]
        chosen = np.arange(width) if columns is None else np.array(list(columns), np.int64)
        if columns is not None and (not len(chosen) or chosen.min() < 0 or chosen.max() >= width):
            raise InputError(f"labels must be columns 0…{width - 1} of {what} (got {list(columns)})")
        if is_one_hot(table[:, chosen]):
            eye, names = np.eye(len(chosen), dtype=np.float32), tuple(map(str, chosen.tolist()))
            return cls(columns=chosen, rows=eye, names=names if len(names) > 1 else ("node",))
        numeric = np.array([is_numeric(table[:, column]) for column in chosen.tolist()], bool)
        kinds, numbers = chosen[~numeric], chosen[numeric]
        if len(kinds) and len(distinct_rows(table[:, kinds])[1]) > MAX_LABELS:
            kinds, numbers = chosen[:0], chosen
        if not len(numbers):
            if is_one_hot(table[:, kinds]):
                return cls.of(table, kinds.tolist(), None, what)
            _, rows = distinct_rows(table[:, kinds])
            return cls(columns=kinds, rows=rows, names=tuple(row_names(rows, kinds)))
        if clusters is None and len(kinds) and (table[:, kinds] != table[0, kinds]).any():
            note = f"Labels are read from column{_columns(kinds)} of {what}; nodes keep column{_columns(numbers)} as they are, but rules do not speak of them."
            found = cls.of(table, kinds.tolist(), None, what)
            return cls(columns=found.columns, rows=found.rows, names=found.names, notes=(note,))
        return cls._of_clusters(table, kinds, numbers, clusters, what)

    @classmethod
    def _of_clusters(
        cls, table: FloatArray, kinds: LongArray, numbers: LongArray, clusters: int | None, what: str
    ) -> Alphabet:
        """Categories together with clusters of numbers: ranges of one column, k-means of several in units of their spread."""
        values = table[:, numbers].astype(np.float64)
        spread = values.std(axis=0)
        scaled = (values - values.mean(axis=0)) / np.where(spread > 0, spread, 1)
        if len(numbers) == 1:
            cluster = np.asarray(Ranges.of(values[:, 0], clusters or _CLUSTERS, "").range_of, np.int64)
        else:
            cluster = _clustered(scaled, clusters)
        group, category = distinct_rows(table[:, kinds]) if len(kinds) else (np.zeros(len(table), np.int32), None)
        pairs, label = np.unique(np.stack([group, cluster], axis=1), axis=0, return_inverse=True)
        if len(pairs) > MAX_LABELS:
            raise InputError(f"bins must leave at most {MAX_LABELS} labels: use fewer (got {len(pairs)})")
        label, columns = label.reshape(-1), np.concatenate([kinds, numbers])
        middle = np.stack([np.median(table[label == one][:, columns], axis=0) for one in range(len(pairs))])
        names = []
        for one, (kind, _) in enumerate(pairs.tolist()):
            mine = label == one
            offset = np.abs(scaled[mine].mean(axis=0))
            parts = [] if category is None else [row_names(category, kinds)[kind]]
            if len(numbers) == 1:
                parts.append(("" if table.shape[1] == 1 else f"{what}[{numbers[0]}] ") + _span(values[mine, 0]))
            else:
                place = int(offset.argmax())
                parts.append(f"{what}[{numbers[place]}]≈{np.median(values[mine, place]):.2g}")
            names.append(" ".join(parts))
        note = (
            f"Labels are {len(pairs)} clusters of column{_columns(numbers)} of {what}; nodes that a change does not touch keep their own numbers, "
            "and new or relabelled ones get those of a typical node."
        )
        names = [name if names.count(name) == 1 else f"{name} ({k + 1})" for k, name in enumerate(names)]
        unit = np.concatenate([np.full(len(kinds), _SAME_KIND), np.where(spread > 0, spread, 1)]).astype(np.float32)
        return cls(columns=columns, rows=middle.astype(np.float32), names=tuple(names), unit=unit, notes=(note,))

    def labels_of(self, table: FloatArray) -> IntArray:
        """The label of each row of a table, `[N]`; -1 for rows without one."""
        rows = np.ascontiguousarray(table[:, self.columns])
        if self.unit is not None:
            from scipy.spatial import cKDTree

            return np.asarray(cKDTree(self.rows / self.unit).query(rows / self.unit)[1], dtype=np.int32)
        place = {row.tobytes(): label for label, row in enumerate(self.rows)}
        index, distinct = distinct_rows(rows)
        return np.array([place.get(row.tobytes(), -1) for row in distinct], np.int32)[index]


def _clustered(rows: npt.NDArray[np.float64], clusters: int | None) -> LongArray:
    """The cluster of each row by k-means; without a number, as many as have the largest mean silhouette."""
    from sklearn.cluster import KMeans
    from sklearn.metrics import silhouette_score

    some = rows[np.random.default_rng(0).permutation(len(rows))[:_JUDGED_ROWS]]
    most = min(clusters or _CLUSTERS, len(np.unique(some, axis=0)))
    sizes = [most] if clusters is not None or most < 3 else range(2, min(most, len(some) - 1) + 1)
    found = [KMeans(size, n_init=10, random_state=0).fit(some) for size in sizes]
    merits = [0.0 if len(found) == 1 else silhouette_score(some, one.labels_) for one in found]
    return np.asarray(found[int(np.argmax(merits))].predict(rows), np.int64)


def is_one_hot(table: npt.NDArray[Any]) -> bool:
    """Whether every row has a single 1 among zeros."""
    return bool(((table == 0) | (table == 1)).all() and (table.sum(axis=1) == 1).all())


def is_numeric(values: npt.NDArray[Any]) -> bool:
    """Whether a column holds numbers rather than categories."""
    distinct = np.unique(values)
    whole = bool((distinct == np.floor(distinct)).all())
    return len(distinct) > (_MOST_WHOLE if whole else MOST_VALUES)


def distinct_rows(rows: FloatArray) -> tuple[IntArray, FloatArray]:
    """Each row as an index into the distinct rows, and those in lexicographic order."""
    rows = np.ascontiguousarray(rows)
    as_bytes = rows.view(np.dtype((np.void, rows.shape[1] * rows.itemsize)))[:, 0]  # far faster than unique by axis
    _, first, index = np.unique(as_bytes, return_index=True, return_inverse=True)
    distinct = rows[first]
    order = np.lexsort(distinct.T[::-1])
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return rank[index.reshape(-1)], distinct[order]


def row_names(rows: FloatArray, columns: npt.NDArray[Any] | None = None) -> list[str]:
    """Names of distinct rows: the numbers that tell them apart, with as few digits as keep them distinct; `columns` are their numbers."""
    columns = np.arange(rows.shape[1]) if columns is None else columns
    if len(rows) == 1 and rows.shape[1] > 1:
        return ["node"]
    is_wide = rows.shape[1] > _NAMED_COLUMNS
    if is_wide:
        varying = (rows != rows[0]).any(axis=0)
        rows, columns = rows[:, varying], columns[varying]
    if is_wide and ((rows == 0) | (rows == 1)).all():
        return ["+".join(str(column) for column in columns[row == 1].tolist()) or "none" for row in rows]
    names: list[str] = []
    for digits in (2, 3, 4, 9):
        names = [_row_name(row, columns, digits) for row in rows.tolist()]
        if len(set(names)) == len(names):
            break
    return names


def _row_name(row: list[float], columns: npt.NDArray[Any], digits: int) -> str:
    numbers = [f"{value:.{digits}g}" for value in row]
    if len(row) > _NAMED_COLUMNS:  # what is not 0, by column
        return (
            " ".join(f"[{column}]={text}" for column, text in zip(columns, numbers, strict=True) if text != "0") or "0"
        )
    return numbers[0] if len(row) == 1 else f"({', '.join(numbers)})"


def _span(values: npt.NDArray[Any]) -> str:
    low, high = f"{values.min():.4g}", f"{values.max():.4g}"
    return low if low == high else f"{low}…{high}"


def _columns(columns: LongArray) -> str:
    listed = [str(column) for column in columns.tolist()]
    shown = ", ".join(listed[:6]) + (f", … {listed[-1]}" if len(listed) > 6 else "")
    return f" {shown}" if len(listed) == 1 else f"s {shown}"


# Names that are known: PyG's molecules come without them.


@dataclass(frozen=True)
class KnownNames:
    """Known meanings of the labels of a dataset."""

    nodes: Mapping[int, str]  # name of each column of one-hot node features, or of each value of column 0
    edges: Mapping[int, str]  # the same of edge features
    columns: bool = False  # whether labels are column 0 of rows of whole numbers


def _numbered(names: str) -> dict[int, str]:
    return dict(enumerate(names.split()))


_VALENCES = dict(enumerate(BOND_NAMES[:3]))
_AIDS = "C O N Cl F S Se P Na I Co Br Li Si Mg Cu As B Pt Ru K Pd Au Te W Rh Zn Bi Pb Ge Sb Sn Ga Hg Ho Tl Ni Tb"
_PTC = "In P O N Na C Cl S Br F K Cu Zn I Ba Sn Pb Ca"
_TU = {  # as the readmes of the collection list them
    "mutag": KnownNames(_numbered("C N O F I Cl Br"), _numbered("aromatic single double triple")),
    "mutagenicity": KnownNames(_numbered("C O Cl H N F Br S P I Na K Li Ca"), _VALENCES),
    "aids": KnownNames(_numbered(_AIDS), _VALENCES),
    "ptc_mr": KnownNames(_numbered(_PTC), _numbered("triple double single aromatic")),
    "zinc": KnownNames({}, dict(enumerate(BOND_NAMES[:3], start=1))),
}
_OGB = KnownNames(dict(enumerate(ELEMENTS)), dict(enumerate(BOND_NAMES)), columns=True)
_FROM_SMILES = KnownNames(  # torch_geometric.utils.from_smiles: atomic numbers, and rdkit's numbers of bonds
    dict(enumerate(ELEMENTS, start=1)), {1: "single", 2: "double", 3: "triple", 12: "aromatic"}, columns=True
)


def known_names(name: str, graph: Any) -> KnownNames | None:
    """Known meanings of the labels of a PyG dataset, from its name or from the way its graphs were made."""
    if name.lower().startswith("ogbg-mol"):
        return _OGB
    x, bonds = graph.x, graph.edge_attr
    if isinstance(graph.get("smiles"), str) and x is not None and bonds is not None and x.ndim == bonds.ndim == 2:
        return _FROM_SMILES if (x.shape[1], bonds.shape[1]) == (9, 3) else None
    return _TU.get(name.lower())
