"""Datasets by name or path as `GraphDataset`: the paper's six benchmarks, your own data, and the planted demo set.

The benchmarks of molecules keep only labels that occur more than 50 times, as in the paper. With the released classifiers
this gives one feature column per remaining label, in the order of the raw labels.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from comrecgc.data.alphabet import Ranges, find_columns
from comrecgc.data.dataset import (
    MAX_LABELS,
    ChosenClasses,
    GraphDataset,
    GraphReading,
    all_classes,
    choose_classes,
    classes_by_threshold,
    reading_with,
)
from comrecgc.data.planted import PLANTED, load_planted
from comrecgc.data.pyg import from_pyg_file
from comrecgc.data.smiles import TableReading, from_smiles_table
from comrecgc.data.tables import TABLES, is_table
from comrecgc.data.tu import TUData, find_archive, read_tu
from comrecgc.errors import InputError
from comrecgc.graphs import BoolArray, IntArray, LongArray, PackedGraphs
from comrecgc.molecules import BOND_NAMES, atomic_numbers_as_names


@dataclass(frozen=True, kw_only=True)
class TUMeaning:
    """Meaning of the integers of a TU dataset; other names come from the archive's readme."""

    reject: Collection[int] | None  # raw classes that mean reject; all others mean accept. None if the user chooses
    class_names: tuple[str, str] | None  # names of reject and accept
    label_names: Mapping[int, str] | None = None  # name of each raw node label
    archive: str = ""  # the NAME of its files in the collection
    rare: int | None = None  # graphs with a node label that occurs at most this often are dropped
    source: str = ""  # where the data comes from, for errors

    def __post_init__(self) -> None:
        if self.rare is not None and self.rare < 0:
            raise InputError(f"rare must not be negative (got {self.rare})")


_RARE = 50
_SAMPLE = 10_000  # graphs that tell whether numbers are atomic numbers

# The archive of NCI1 names nothing. The collection numbers elements in the order the screening data first shows them,
# here from 1 (its MOLT-4, from the same source, spells out the like order), and degrees agree: O at most 2, F always 1,
# Br and I 1 or a lone ion, Cl 1, a lone ion or perchlorate, P 3 or 4, Na always a lone ion. The ninth is some metal,
# mostly of degree 2 and bound to C and Cl alone; the data do not show which.
_NCI1_ELEMENTS = "O N C S Cl P F Na * Pt Ni Zn Mn Br Cu Co Se Au Pb Ge I Si".split()

_MEANINGS = {
    "aids": TUMeaning(archive="AIDS", reject={1}, class_names=("inactive", "active"), rare=_RARE),
    "mutagenicity": TUMeaning(archive="Mutagenicity", reject={0}, class_names=("mutagen", "nonmutagen"), rare=_RARE),
    "nci1": TUMeaning(
        archive="NCI1",
        reject={1},
        class_names=("active", "inactive"),
        label_names=dict(enumerate(_NCI1_ELEMENTS, start=1)),
        rare=_RARE,
    ),
    "proteins": TUMeaning(
        archive="PROTEINS",
        reject={2},
        class_names=("non-enzyme", "enzyme"),
        label_names={0: "helix", 1: "sheet", 2: "turn"},
    ),
    # The archives name no genres; classes are in the order in which the data's authors list them.
    "imdb-binary": TUMeaning(
        archive="IMDB-BINARY", reject={0}, class_names=("action", "romance"), label_names={0: "actor"}
    ),
    "imdb-multi": TUMeaning(
        archive="IMDB-MULTI", reject={1}, class_names=("comedy", "romance or sci-fi"), label_names={0: "actor"}
    ),
}

BENCHMARKS = tuple(_MEANINGS)
"""Names of the benchmarks."""

# How the collection's readmes write bonds: as valences, 4 being an aromatic bond in the file format they come from.
_BONDS = {"1": 0, "2": 1, "3": 2, "4": 3, "1.5": 3} | {name: label for label, name in enumerate(BOND_NAMES)}


_PYG_FILES = (".pt", ".pth")


def load_dataset(
    name: str | Path,
    root: str | Path | None = None,
    *,
    need_classes: bool = True,
    reading: TableReading | GraphReading | None = None,
) -> GraphDataset:
    """Load a dataset by its name or path.

    Args:
        name: A benchmark (`BENCHMARKS`), `planted`, the path of a folder or zip archive in the TU format, of a `.pt` file with a
            list of PyG `Data`, or of a `.csv`, `.tsv`, `.smi`, `.sdf` or `.parquet` file of molecules, gzipped or not. A name wins over a path; write `./aids`
            for a folder so named.
        root: Folder to look for benchmarks in, before `$COMRECGC_DATA` and the user's cache.
        need_classes: Whether two classes are required; if not, classes are not read and every class is 0.
        reading: How a table of molecules is read, or, as `GraphReading`, all other data.

    Raises:
        InputError: If there is no such dataset, or it cannot be used.
    """
    text = str(name)
    path = Path(name)
    suffix = path.suffix.lower()
    if not is_table(path) and isinstance(reading, TableReading) and reading != TableReading():
        raise InputError(f"TableReading is for tables, {', '.join(TABLES)} (got {text!r})")
    if is_table(path) and isinstance(reading, GraphReading):
        raise InputError(f"GraphReading is for archives and PyG files, not for tables (got {text!r})")
    how = reading if isinstance(reading, GraphReading) else GraphReading()
    if text.lower() in BENCHMARKS and not isinstance(name, Path):
        return load_benchmark(text, root, reading=how)
    if text.lower() == PLANTED and not isinstance(name, Path):
        if how != GraphReading():
            raise InputError("The planted molecules have fixed classes and labels (got a choice of classes or bins)")
        return load_planted()
    if is_table(path):
        table = reading if isinstance(reading, TableReading) else None
        return from_smiles_table(path, need_classes=need_classes, reading=table)
    if path.is_dir() or suffix == ".zip":
        return from_tu_folder(path, need_classes=need_classes, reading=how)
    if suffix in _PYG_FILES:
        return _from_pyg_file(path, how, need_classes=need_classes)
    raise InputError(_unknown(text))


def _from_pyg_file(path: Path, how: GraphReading, *, need_classes: bool) -> GraphDataset:
    if how.threshold is not None:
        raise InputError(f"threshold is for archives and tables; PyG graphs need a class as y (got {path})")
    if set(how.bins) - {"all"}:
        raise InputError(
            f"All columns of x are cut into the same number of ranges, as in --bin 4 (got {next(iter(how.bins))!r})"
        )
    options = {"accept": how.accept, "reject": how.reject} if need_classes else {"need_classes": False}
    return from_pyg_file(path, bins=how.bins.get("all"), **options)


def _unknown(name: str) -> str:
    names = (*BENCHMARKS, PLANTED)
    near = difflib.get_close_matches(name.lower(), names, n=2, cutoff=0.5)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    rule = f"A dataset is one of {', '.join(names)}, or the path of a TU folder or .zip, of a .pt file of PyG graphs, or of a .csv, .tsv, .smi, .sdf or .parquet table"
    return f"{rule} (got {name!r}{hint})"


def paper_theta(name: str) -> float:
    """The paper's `θ` on a dataset: 0.15 on Proteins, whose counterfactuals are more distant, 0.1 on all others."""
    return 0.15 if name.lower() == "proteins" else 0.1


def load_benchmark(name: str, root: str | Path | None = None, *, reading: GraphReading | None = None) -> GraphDataset:
    """Load one of the paper's benchmarks, filtered as in the paper; `reading` may ask for other classes, or for node attributes cut into ranges."""
    key = name.lower()
    if key not in _MEANINGS:
        raise InputError(f"A benchmark is one of {', '.join(BENCHMARKS)} (got {name!r})")
    meaning, reading = _MEANINGS[key], reading or GraphReading()
    archive, numbers = find_archive(meaning.archive, root), reading.threshold is not None
    data = read_tu(archive, meaning.archive, numbers=numbers, attributes=bool(reading.bins))
    return make_dataset(data, meaning, name=key, reading=reading)


def from_tu_folder(
    path: str | Path,
    *,
    name: str | None = None,
    rare: int | None = None,
    need_classes: bool = True,
    reading: GraphReading | None = None,
    **options: Any,
) -> GraphDataset:
    """Load your own dataset in the TU format.

    Args:
        path: Folder or zip archive with `NAME_A.txt`, `NAME_graph_indicator.txt`, `NAME_graph_labels.txt` and,
            if there are any, `NAME_node_labels.txt`, `NAME_edge_labels.txt`, `NAME_node_attributes.txt`, and names of labels in
            `NAME_label_readme.txt` or `README.txt`. Numbers to be classes are in `NAME_graph_attributes.txt`.
        name: Name of the dataset; the NAME of its files by default.
        rare: Drop graphs with a node label that occurs at most this often in the whole dataset.
        need_classes: Whether two classes are required; if not, classes are not read and every class is 0.
        reading: How to read it. Where accept and reject are given, graphs of further classes are left out.
        **options: Fields of `GraphReading`, in place of it.
    """
    reading = reading_with(reading or GraphReading(), options)
    data = read_tu(path, numbers=reading.threshold is not None, attributes=bool(reading.bins))
    meaning = TUMeaning(reject=None, class_names=None, rare=rare, source=str(path))
    return make_dataset(data, meaning, name=name or data.name, reading=reading, need_classes=need_classes)


def make_dataset(
    data: TUData, meaning: TUMeaning, *, name: str, reading: GraphReading | None = None, need_classes: bool = True
) -> GraphDataset:
    """The dataset with its integers interpreted by `meaning`, unless `reading` overrides it."""
    reading = reading or GraphReading()
    names = _label_names(data, meaning.label_names)
    kept_labels, kept_graphs, notes = _without_rare(data, names, meaning.rare)
    chosen = _classes(data, meaning, reading, name, need_classes=need_classes)
    class_of = np.full(len(data.targets), -1, dtype=np.int8)
    class_of[chosen.kept] = chosen.classes
    kept_graphs = kept_graphs[class_of[kept_graphs] >= 0]
    # A dropped label only occurs in dropped graphs.
    new_label = np.maximum(np.cumsum(kept_labels, dtype=np.int32) - 1, 0)
    bonds, edge_label_names = _edge_labels(data)
    graphs = data.graphs.relabel(new_label, bonds)
    names = tuple(label for label, kept in zip(names, kept_labels, strict=True) if kept)
    graphs, names, more = _with_attributes(data, graphs, names, reading.bins)
    graphs = graphs if len(kept_graphs) == len(graphs) else graphs.subset(kept_graphs)
    return GraphDataset(
        name=name,
        graphs=graphs.unpack(),
        classes=class_of[kept_graphs],
        label_names=names,
        class_names=chosen.class_names,
        edge_label_names=edge_label_names,
        notes=data.notes + notes + chosen.notes + more,
    )


def _classes(
    data: TUData, meaning: TUMeaning, reading: GraphReading, name: str, *, need_classes: bool
) -> ChosenClasses:
    if not need_classes:
        return all_classes(np.zeros(len(data.targets), bool), meaning.class_names or ("reject", "accept"))
    if reading.threshold is not None:
        return classes_by_threshold(
            data.targets, reading.threshold, higher=reading.accept != "lower", what="the number"
        )
    if meaning.reject is not None and reading.accept is None and reading.reject is None:
        accepted = ~np.isin(data.targets, list(meaning.reject))
        return all_classes(accepted, meaning.class_names or ("reject", "accept"))
    names, source = data.maps.classes, meaning.source or name
    chosen = choose_classes(data.targets, accept=reading.accept, reject=reading.reject, names=names, source=source)
    if reading.accept is None and reading.reject is None:
        said = f"To be reached is {chosen.class_names[1]!r}, the larger of two; accept (--accept) would choose another."
        return replace(chosen, notes=(said, *chosen.notes))
    return chosen


def _with_attributes(
    data: TUData, graphs: PackedGraphs, names: tuple[str, ...], bins: Mapping[str, int]
) -> tuple[PackedGraphs, tuple[str, ...], tuple[str, ...]]:
    """The graphs with labels that say in which range each chosen attribute of a node lies, the names of those labels, and a
    note on attributes that were left out."""
    num_columns = data.attributes.shape[1]
    given = data.maps.attributes
    titles = given if len(given) == num_columns else tuple(f"attribute {place + 1}" for place in range(num_columns))
    columns = find_columns(bins, titles, data.name)
    for column, count in columns.items():
        ranges = Ranges.of(data.attributes[:, column], count, titles[column])
        labels = graphs.label_of[graphs.labels].astype(np.int64) * len(ranges.names) + ranges.range_of
        used, index = np.unique(labels, return_inverse=True)
        split = [divmod(value, len(ranges.names)) for value in used.tolist()]
        names = tuple(f"{names[old]}, {ranges.names[place]}" for old, place in split)
        if len(names) > MAX_LABELS:
            raise InputError(
                f"bins must leave at most {MAX_LABELS} node labels (got {len(names)}): use fewer or wider ranges"
            )
        graphs = replace(graphs, labels=index.astype(np.uint16), label_of=np.arange(len(used), dtype=np.int32))
    left_out = [title for column, title in enumerate(titles) if column not in columns]
    if not left_out:
        return graphs, names, ()
    shown = ", ".join(left_out[:4]) + (", …" if len(left_out) > 4 else "")
    what = f"{len(left_out)} node attribute{'s were' if len(left_out) > 1 else ' was'} left out ({shown})"
    example = left_out[0] if given else left_out[0].removeprefix("attribute ")
    note = f"{what}, since rules need labels of a finite alphabet. --bin {example}=4 cuts one into four ranges."
    return graphs, names, (note,)


def _without_rare(
    data: TUData, names: Sequence[str], at_most: int | None
) -> tuple[BoolArray, LongArray, tuple[str, ...]]:
    """Mask of labels kept, indices of graphs without any other, and a note on what was dropped."""
    if at_most is None:
        return np.ones(len(names), bool), np.arange(len(data.targets)), ()
    counts = np.sum([np.bincount(batch.labels, minlength=len(names)) for batch in data.graphs.batches()], axis=0)
    kept = counts > at_most
    if kept.all():
        return kept, np.arange(len(data.targets)), ()
    num_rare = np.concatenate(
        [np.add.reduceat(~kept[batch.labels], batch.node_ptr[:-1], dtype=np.int64) for batch in data.graphs.batches()]
    )
    graphs = np.flatnonzero(num_rare == 0)
    if len(graphs) == 0:
        raise InputError(f"rare must leave some graphs of {data.name} (got {at_most}: every graph has a rarer label)")
    rare = ", ".join(name for name, is_kept in zip(names, kept, strict=True) if not is_kept)
    note = f"{len(num_rare) - len(graphs)} graphs with labels that occur at most {at_most} times were dropped: {rare}."
    return kept, graphs, (note,)


def _label_names(data: TUData, names: Mapping[int, str] | None) -> tuple[str, ...]:
    if data.label_values.shape[1] == 0:
        return ((names or {}).get(0, "node"),)
    if names is not None or not data.maps.nodes:
        return _names(data.label_values, () if names is None else (names,))
    named = _names(data.label_values, data.maps.nodes)
    return atomic_numbers_as_names(named, data.graphs.batch(0, min(len(data.graphs), _SAMPLE))) or named


def _names(values: LongArray, maps: Sequence[Mapping[int, str]]) -> tuple[str, ...]:
    """Name of each row of raw labels; several components are joined, and a value without a name is written as it is."""
    columns = list(maps) + [{}] * values.shape[1]
    return tuple(
        "/".join(column.get(value, str(value)) for column, value in zip(columns, row, strict=False))
        for row in values.tolist()
    )


def _edge_labels(data: TUData) -> tuple[IntArray | None, tuple[str, ...] | None]:
    """What each edge label becomes, and their names; bonds become the edge labels that this package uses for molecules."""
    values = data.edge_label_values
    if values is None:
        return None, None
    names = _names(values, data.maps.edges)
    if not data.maps.edges or not all(name in _BONDS for name in names):
        return np.arange(len(names), dtype=np.int32), names
    bonds = np.array([_BONDS[name] for name in names], dtype=np.int32)
    return bonds, BOND_NAMES[: bonds.max(initial=-1) + 1]
