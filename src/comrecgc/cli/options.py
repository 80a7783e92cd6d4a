"""Options on how data is read, which every command that reads data shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from comrecgc.errors import InputError
from comrecgc.terminal import err

if TYPE_CHECKING:
    from comrecgc.data import GraphDataset


_LONGEST_COUNT = 4  # digits

SmilesColumn = Annotated[
    str | None, typer.Option("--smiles", help="Tables: the column of SMILES.", show_default="found by name or contents")
]
TargetColumn = Annotated[
    str | None,
    typer.Option(
        "--target", help="Tables: the column of classes, or of numbers with --threshold.", show_default="found"
    ),
]
Accept = Annotated[
    str | None,
    typer.Option(
        "--accept", help="The class to reach, by its value or name; needed where there are more than two. With --threshold: higher or lower.",
        show_default="1, or the larger; higher",
    ),
]  # fmt: skip
Reject = Annotated[
    str | None,
    typer.Option("--reject", help="Archives, PyG files: the only class to leave.", show_default="all others"),
]
Bins = Annotated[
    list[str] | None,
    typer.Option(
        "--bin", help="Archives, PyG files: a node attribute to cut into ranges, as NAME=4, once per attribute; 4 alone cuts every one.",
        show_default="attributes are left out",
    ),
]  # fmt: skip
Threshold = Annotated[
    float | None,
    typer.Option(
        "--threshold", help="Tables, archives of numbers: makes classes of them, high from here on.", show_default=False
    ),
]
IdColumn = Annotated[
    str | None,
    typer.Option("--id-column", help="Tables: the column that names molecules.", show_default="found by name"),
]
ClassNames = Annotated[
    str | None,
    typer.Option("--class-names", help="Tables: what reject and accept mean: toxic,harmless.", show_default=False),
]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Tables: leave out rows that cannot be read.")]
Standardise = Annotated[
    bool,
    typer.Option(
        "--standardise/--as-written", help="Tables: keep the largest fragment, neutralise it, and merge what is then the same."
    ),
]  # fmt: skip


def load_table_or_dataset(
    dataset: str,
    data_root: Path | None,
    *,
    smiles: str | None,
    target: str | None,
    accept: str | None,
    threshold: float | None,
    id_column: str | None,
    class_names: str | None,
    skip_bad: bool,
    standardise: bool,
    reject: str | None = None,
    bins: Sequence[str] | None = None,
    need_classes: bool = True,
    label_names: Sequence[str] | None = None,
) -> GraphDataset:
    """The data that `--dataset` names, read as the options say; what reading did to it goes to stderr."""
    from comrecgc.data import GraphReading, TableReading, is_table, load_dataset

    names = None if class_names is None else tuple(name.strip() for name in class_names.split(","))
    if names is not None and (len(names) != 2 or not all(names)):
        raise InputError(f"--class-names must name reject and accept: toxic,harmless (got {class_names!r})")
    reading = TableReading(
        smiles=smiles,
        target=target,
        accept=accept,
        threshold=threshold,
        id_column=id_column,
        class_names=None if names is None else (names[0], names[1]),
        on_error="skip" if skip_bad else "raise",
        standardise=standardise,
        label_names=label_names,
    )
    how: TableReading | GraphReading = reading
    if is_table(dataset):
        if reject is not None or bins:
            raise InputError("--reject and --bin are for archives and PyG files (got a table)")
    elif replace(reading, accept=None, threshold=None, label_names=None) == TableReading():
        how = GraphReading(accept=accept, reject=reject, threshold=threshold, bins=_parse_bins(bins or ()))
    loaded = load_dataset(dataset, root=data_root, need_classes=need_classes, reading=how)
    for note in loaded.notes:
        err.print(f"note: {note}", markup=False, soft_wrap=True)
    return loaded


def _parse_bins(texts: Sequence[str]) -> dict[str, int]:
    """Attributes and numbers of ranges, from NAME=4; 4 alone is for all."""
    parsed = {}
    for text in texts:
        name, _, count = text.rpartition("=") if "=" in text else ("all", "=", text)
        if not name or not count.isdecimal() or len(count) > _LONGEST_COUNT:
            raise InputError(
                f"--bin must be a number of ranges, as 4, or one for an attribute, as charge=4 (got {text!r})"
            )
        parsed[name.strip()] = int(count)
    return parsed
