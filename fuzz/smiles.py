"""The reader of SMILES tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from comrecgc.data.smiles import from_smiles_table
from comrecgc.errors import InputError
from comrecgc.graphs import Graph
from comrecgc.molecules import is_valid_molecule, to_smiles
from comrecgc.molecules.smiles import from_smiles
from fuzz.choices import Choices
from fuzz.mutation import TEXTS, mutated_bytes, mutated_table
from fuzz.validity import check_dataset

NAMES_FILE = True
MAX_SECONDS = 5.0

_MOLECULES = (
    "CCO", "c1ccccc1", "C#N", "CC(=O)O", "[O-][N+](=O)c1ccccc1", "C1CC1", "c1ccc2ccccc2c1", "OS(=O)(=O)O", "C/C=C/C",
    "N[C@@H](C)C(=O)O", "[Na+].[Cl-]", "*C", "[2H]O[2H]", "F[P-](F)(F)(F)(F)F", "c1ccc[nH]1", "C12C3C4C1C5C2C3C45",
)  # fmt: skip
_PIECES = (
    "C", "c", "N", "n", "O", "o", "Cl", "Br", "[Fe]", "[#0]", "[#119]", "[999C]", "[C+99]", "[CH99]", "[C:99999]", "[nH]",
    "=", "#", "$", ":", "~", "->", "<-", ".", "/", "\\", "(", ")", "1", "2", "%10", "%99", "%(1000)", "0", "@", "@@", "@TH1",
    "[se]", "[te+]", "[H]", "[Xe]", "*", "{", "}", "|$;$|", " ", "\t", "\x00", "é", ">", ">>", "&", ";", "?", "-", "+", "[", "]",
)  # fmt: skip


def write(choices: Choices, folder: Path) -> None:
    """A table of molecules with something wrong."""
    name, separator = choices.one_of((("t.csv", ","), ("t.csv", ";"), ("t.tsv", "\t"), ("t.smi", " "), ("t.CSV", ",")))
    header = choices.one_of(
        (["smiles", "class"], ["id", "SMILES", "y"], ["class", "smi"], ["canonical_smiles", "active", "x"])
    )
    rows = [header] if separator != " " or choices.chance(0.3) else []
    rows += [[_cell(choices, column) for column in header] for _ in range(1 + choices.below(4))]
    text = "\n".join(separator.join(row) for row in rows) + "\n"
    if choices.chance(0.4):
        text = mutated_table(choices, text, separator)
    data = text.encode("utf-8", "surrogatepass")
    if choices.chance(0.2):
        data = mutated_bytes(choices, data)
    if choices.chance(0.05):
        data = text.encode(choices.one_of(("utf-16", "utf-8-sig", "utf-32")), "replace")
    (folder / name).write_bytes(data)


def _cell(choices: Choices, column: str) -> str:
    if column in ("id", "x"):
        return choices.one_of(("1", "2", "m", *TEXTS))
    if "smi" not in column.lower():
        return choices.one_of(("0", "1", "1", "0", "0.0", " 1 ", "2", '"1"')) if choices.chance(0.5) else "1"
    smiles = choices.one_of(_MOLECULES)
    for _ in range(choices.below(4)):
        start, stop = choices.span(len(smiles), most=8)
        piece = choices.one_of(_PIECES if choices.chance(0.8) else _MOLECULES)
        smiles = smiles[:start] + piece * (choices.one_of((2, 30, 500)) if choices.chance(0.1) else 1) + smiles[stop:]
    return f'"{smiles}"' if choices.chance(0.2) else smiles


def read(folder: Path) -> None:
    """Read the molecules, and read each again after writing it: rdkit accepts all, and they stay the same."""
    dataset = from_smiles_table(next(folder.iterdir()))
    check_dataset(dataset)
    assert dataset.is_molecular
    for graph in dataset:
        assert is_valid_molecule(graph, dataset.label_names)
        text = to_smiles(graph, dataset.label_names)
        try:
            again = from_smiles(text, dataset.label_names)
        except InputError as error:
            raise AssertionError(f"{text} is refused when read again: {error}") from error
        assert _heavy(again, dataset.label_names) == _heavy(graph, dataset.label_names)


def _heavy(graph: Graph, names: Sequence[str]) -> list[str]:
    """Atoms but hydrogen, which may become implicit."""
    return sorted(names[label] for label in graph.labels.tolist() if names[label] != "H")
