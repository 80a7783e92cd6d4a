"""The six benchmarks, your own data, and the planted demo set, all as `GraphDataset`."""

from __future__ import annotations

import difflib
from pathlib import Path

from comrecgc.data.benchmarks import BENCHMARKS, from_tu_folder, load_benchmark
from comrecgc.data.dataset import GraphDataset, GraphReading
from comrecgc.data.planted import load_planted
from comrecgc.data.pyg import from_pyg_file
from comrecgc.data.smiles import TableReading, from_smiles_table
from comrecgc.data.tables import TABLES, is_table
from comrecgc.errors import InputError

_PLANTED = "planted"
_PYG_FILES = (".pt", ".pth")


def load_dataset(
    name: str | Path,
    root: str | Path | None = None,
    *,
    need_classes: bool = True,
    reading: TableReading | GraphReading | None = None,
) -> GraphDataset:
    """A dataset by its name or its path.

    Args:
        name: A benchmark (`BENCHMARKS`), `planted`, the path of a folder or zip archive in the TU format, of a `.pt` file with a
            list of PyG `Data`, or of a `.csv`, `.tsv`, `.smi`, `.sdf` or `.parquet` file of molecules, gzipped or not. A name wins over a path; write `./aids`
            for a folder so named.
        root: Folder to look for benchmarks in, before `$COMRECGC_DATA` and the user's cache.
        need_classes: Whether there must be two classes; without, every class is 0.
        reading: How a table of molecules is read, or, as `GraphReading`, all other data.

    Raises:
        InputError: If there is no such dataset, or it cannot be used.
    """
    text = str(name)
    path = Path(name)
    suffix = path.suffix.lower()
    if not is_table(path) and isinstance(reading, TableReading) and reading != TableReading():
        raise InputError(f"Columns and names of classes are of tables, {', '.join(TABLES)} (got {text!r})")
    if is_table(path) and isinstance(reading, GraphReading):
        raise InputError(f"GraphReading is of archives and PyG files, not of tables (got {text!r})")
    how = reading if isinstance(reading, GraphReading) else GraphReading()
    if text.lower() in BENCHMARKS and not isinstance(name, Path):
        return load_benchmark(text, root, reading=how)
    if text.lower() == _PLANTED and not isinstance(name, Path):
        if how != GraphReading():
            raise InputError("The planted molecules are read in one way only (got a choice of classes or bins)")
        return load_planted()
    if is_table(path):
        table = reading if isinstance(reading, TableReading) else None
        return from_smiles_table(path, need_classes=need_classes, reading=table)
    if path.is_dir() or suffix == ".zip":
        return from_tu_folder(
            path,
            accept=how.accept,
            reject=how.reject,
            threshold=how.threshold,
            bins=how.bins,
            need_classes=need_classes,
        )
    if suffix in _PYG_FILES:
        return _from_pyg_file(path, how, need_classes=need_classes)
    raise InputError(_unknown(text))


def _from_pyg_file(path: Path, how: GraphReading, *, need_classes: bool) -> GraphDataset:
    if how.threshold is not None:
        raise InputError(f"threshold is for archives and tables: give graphs of numbers a class as y (got {path})")
    if set(how.bins) - {"all"}:
        raise InputError(f"Columns of x are cut all alike, --bin 4 (got {next(iter(how.bins))!r})")
    options = {"accept": how.accept, "reject": how.reject} if need_classes else {"need_classes": False}
    return from_pyg_file(path, bins=how.bins.get("all"), **options)


def _unknown(name: str) -> str:
    names = (*BENCHMARKS, _PLANTED)
    near = difflib.get_close_matches(name.lower(), names, n=2, cutoff=0.5)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    rule = f"A dataset is one of {', '.join(names)}, or the path of a TU folder or .zip, of a .pt file of PyG graphs, or of a .csv, .tsv, .smi, .sdf or .parquet table"
    return f"{rule} (got {name!r}{hint})"
