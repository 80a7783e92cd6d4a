"""The six benchmarks, your own data, and the planted demo set, all as `GraphDataset`."""

from __future__ import annotations

import difflib
from pathlib import Path

from comrecgc.datasets.benchmarks import BENCHMARKS, from_tu_folder, load_benchmark, paper_theta
from comrecgc.datasets.dataset import GraphDataset
from comrecgc.datasets.planted import PlantedDataset, find_toxicophores, load_planted, true_recourses
from comrecgc.datasets.pyg import from_pyg
from comrecgc.datasets.smiles import TableReading, from_smiles_table
from comrecgc.errors import InputError

__all__ = [
    "BENCHMARKS", "GraphDataset", "PlantedDataset", "TableReading", "find_toxicophores", "from_pyg", "from_smiles_table",
    "from_tu_folder", "load_benchmark", "load_dataset", "load_planted", "paper_theta", "true_recourses",
]  # fmt: skip

_PLANTED = "planted"
_TABLES = (".csv", ".tsv", ".smi", ".sdf")


def load_dataset(
    name: str | Path, root: str | Path | None = None, *, need_classes: bool = True, reading: TableReading | None = None
) -> GraphDataset:
    """A dataset by its name or its path.

    Args:
        name: A benchmark (`BENCHMARKS`), `planted`, the path of a folder or zip archive in the TU format, or the path
            of a `.csv`, `.tsv`, `.smi` or `.sdf` file of molecules. A name wins over a path; write `./aids` for a folder so named.
        root: Folder to look for benchmarks in, before `$COMRECGC_DATA` and the user's cache.
        need_classes: Whether a table of molecules must have a column of classes; without one, every class is 0.
        reading: How a table of molecules is read; other data have no such options.

    Raises:
        InputError: If there is no such dataset, or it cannot be used.
    """
    text = str(name)
    path = Path(name)
    if reading is not None and path.suffix.lower() not in _TABLES and reading != TableReading():
        raise InputError(f"Columns, classes and thresholds are of tables, {', '.join(_TABLES)} (got {text!r})")
    if text.lower() in BENCHMARKS and not isinstance(name, Path):
        return load_benchmark(text, root)
    if text.lower() == _PLANTED and not isinstance(name, Path):
        return load_planted()
    if path.suffix.lower() in _TABLES:
        return from_smiles_table(path, need_classes=need_classes, reading=reading)
    if path.is_dir() or path.suffix.lower() == ".zip":
        return from_tu_folder(path)
    raise InputError(_unknown(text))


def _unknown(name: str) -> str:
    names = (*BENCHMARKS, _PLANTED)
    near = difflib.get_close_matches(name.lower(), names, n=2, cutoff=0.5)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    rule = f"A dataset is one of {', '.join(names)}, or the path of a TU folder, .zip, .csv, .tsv, .smi or .sdf file"
    return f"{rule} (got {name!r}{hint})"
