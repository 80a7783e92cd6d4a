"""Where to draw the atoms of a molecule, as rdkit does, and what to write for them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from comrecgc.errors import InputError
from comrecgc.graphs import Graph, Point, centred, edge_labels_by_id, labels_by_id
from comrecgc.molecules.atoms import are_types, element_of, read_atom
from comrecgc.molecules.smiles import to_rdkit
from comrecgc.molecules.substituents import charge_sign, count_hydrogens

_RDKIT_BOND = 1.5
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def shown_atoms(graph: Graph, label_names: Sequence[str], edge_label_names: Sequence[str] | None) -> dict[int, str]:
    """What to write for each atom, by id: "C", "NH₂", "O⁻"; hydrogens where they are no nodes and bonds are known.

    Args:
        graph: The molecule.
        label_names: Atom behind each label.
        edge_label_names: Name of each edge label ("single", "double" …), if edges have labels.
    """
    names = {node: label_names[label] for node, label in labels_by_id(graph).items()}
    hydrogens: dict[int, int] = {}
    if edge_label_names and ("H" not in label_names or are_types(label_names)):
        bonds: dict[tuple[int, int], str | None] = {
            edge: edge_label_names[label] for edge, label in edge_labels_by_id(graph).items()
        }
        hydrogens = count_hydrogens(names, bonds, {}, fill=True)
    return {node: _shown(name, hydrogens.get(node, 0)) for node, name in names.items()}


def _shown(name: str, hydrogens: int) -> str:
    atom = read_atom(name)
    element = element_of(name)
    if atom is None or element == "C":
        hydrogens = 0
    count = "" if not hydrogens else "H" if hydrogens == 1 else f"H{hydrogens}".translate(_SUBSCRIPTS)
    return f"{element}{count}{charge_sign(atom.charge) if atom else ''}"


def depict(graph: Graph, label_names: Sequence[str]) -> dict[int, Point] | None:
    """A position for every atom, by id, a bond being 1 long; None where rdkit is not installed or will not draw the graph.

    Args:
        graph: The molecule.
        label_names: Element behind each label.
    """
    try:
        from rdkit import Chem
        from rdkit.Chem import rdDepictor

        molecule = to_rdkit(graph, label_names)
        molecule.UpdatePropertyCache(strict=False)
        Chem.GetSymmSSSR(molecule)
        rdDepictor.Compute2DCoords(molecule, canonOrient=True)
        points = np.array(molecule.GetConformer().GetPositions()[:, :2], dtype=np.float64) / _RDKIT_BOND
    except (ImportError, InputError, RuntimeError, ValueError):
        return None
    points[:, 1] *= -1  # y grows downwards on a screen
    return centred(graph, points) if np.isfinite(points).all() else None
