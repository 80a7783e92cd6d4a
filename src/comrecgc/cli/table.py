"""Options for tables of molecules, which every command that reads data shares."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from comrecgc.errors import InputError

if TYPE_CHECKING:
    from comrecgc.datasets import GraphDataset

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
        "--accept", help="Tables: the value of the target that means accept; higher or lower with --threshold.",
        show_default="1; higher",
    ),
]  # fmt: skip
Threshold = Annotated[
    float | None,
    typer.Option("--threshold", help="Tables: makes classes of numbers, high from here on.", show_default=False),
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
    need_classes: bool = True,
    label_names: Sequence[str] | None = None,
) -> GraphDataset:
    """The data that `--dataset` names, read as the options say."""
    from comrecgc.datasets import TableReading, load_dataset

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
    return load_dataset(dataset, root=data_root, need_classes=need_classes, reading=reading)
