"""Where to draw the atoms of a molecule, as rdkit does."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from comrecgc.errors import InputError
from comrecgc.graphs import Graph, Point, centred
from comrecgc.molecules.smiles import to_rdkit

_RDKIT_BOND = 1.5


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
