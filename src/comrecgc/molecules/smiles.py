"""Graphs as molecules: from SMILES, and to rdkit for checking and drawing. Needs the `chem` extra (rdkit).

Edge labels are bonds: 0 single, 1 double, 2 triple, 3 aromatic.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from comrecgc.errors import InputError
from comrecgc.graphs import Graph
from comrecgc.molecules.atoms import BOND_NAMES, are_elements

if TYPE_CHECKING:
    from rdkit.Chem import Mol

_LONGEST = 5000  # rdkit writes a molecule by recursion, and one of tens of thousands of atoms ends the process


def parse_smiles(smiles: str) -> tuple[list[str], list[tuple[int, int]], list[int]]:
    """Element symbols, bonds and bond labels of a molecule; hydrogens stay implicit.

    Raises:
        InputError: If rdkit cannot read the SMILES, or it names no atom.
    """
    if len(smiles) > _LONGEST:
        raise InputError(f"A SMILES must have at most {_LONGEST} characters (got {len(smiles)})")
    chem = _rdkit()
    with _silent():
        molecule = chem.MolFromSmiles(smiles)
    if molecule is None or molecule.GetNumAtoms() == 0:
        raise InputError(f"Not a valid SMILES of at least one atom (got {smiles[:80]!r})")
    bond_labels = _bond_types(chem)
    bonds = list(molecule.GetBonds())
    unknown = [bond for bond in bonds if bond.GetBondType() not in bond_labels]
    if unknown:
        raise InputError(f"Bonds must be {', '.join(BOND_NAMES)} (got {unknown[0].GetBondType()} in {smiles[:80]!r})")
    return (
        [atom.GetSymbol() for atom in molecule.GetAtoms()],
        [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in bonds],
        [bond_labels.index(bond.GetBondType()) for bond in bonds],
    )


def from_smiles(smiles: str, label_names: Sequence[str]) -> Graph:
    """The molecule as a graph over the given alphabet of elements; hydrogens stay implicit.

    Args:
        smiles: The molecule.
        label_names: Element behind each label.
    """
    elements, bonds, bond_labels = parse_smiles(smiles)
    missing = sorted(set(elements) - set(label_names))
    if missing:
        raise InputError(f"Every element must be among {', '.join(label_names)} (got {missing[0]} in {smiles[:80]!r})")
    return Graph([label_names.index(element) for element in elements], bonds, bond_labels)


def to_rdkit(graph: Graph, label_names: Sequence[str]) -> Mol:
    """The graph as an rdkit molecule with atoms in node order, not sanitised.

    Bonds are single where the graph has no edge labels. Charges are not stored in graphs, so the usual ones are put
    back: a nitrogen with four bonds is N+, and an oxygen with one bond to it is O-, which makes nitro groups and
    N-oxides read as they are drawn.

    Args:
        graph: The molecule.
        label_names: Element behind each label.
    """
    if not are_elements(label_names):
        raise InputError(f"Only graphs of chemical elements are molecules (got labels {', '.join(label_names)[:80]})")
    chem = _rdkit()
    bond_types = _bond_types(chem)
    molecule = chem.RWMol()
    for label in graph.labels.tolist():
        molecule.AddAtom(chem.Atom(label_names[label]))
    bonds = [0] * graph.num_edges if graph.edge_labels is None else graph.edge_labels.tolist()
    for (i, j), bond in zip(graph.edges.tolist(), bonds, strict=True):
        if bond >= len(bond_types):
            raise InputError(f"Bonds must be 0 single, 1 double, 2 triple or 3 aromatic (got {bond})")
        molecule.AddBond(i, j, bond_types[bond])
        if bond == BOND_NAMES.index("aromatic"):
            for atom in (i, j):
                molecule.GetAtomWithIdx(atom).SetIsAromatic(True)
    _restore_charges(molecule)
    return molecule.GetMol()


def is_valid_molecule(graph: Graph, label_names: Sequence[str]) -> bool:
    """Whether rdkit accepts the graph as a molecule: valences, Kekulé structure, and that aromatic bonds are aromatic."""
    chem = _rdkit()
    molecule = to_rdkit(graph, label_names)
    aromatic = [bond.GetIdx() for bond in molecule.GetBonds() if bond.GetIsAromatic()]
    with _silent():
        if chem.SanitizeMol(molecule, catchErrors=True) != chem.SanitizeFlags.SANITIZE_NONE:
            return False
    return all(molecule.GetBondWithIdx(index).GetIsAromatic() for index in aromatic)


def to_smiles(graph: Graph, label_names: Sequence[str]) -> str:
    """Canonical SMILES of the graph; of one that rdkit does not accept, the SMILES of its raw connectivity."""
    chem = _rdkit()
    molecule = to_rdkit(graph, label_names)
    with _silent():
        chem.SanitizeMol(molecule, catchErrors=True)
        return str(chem.MolToSmiles(molecule))


def _restore_charges(molecule: Any) -> None:
    """Put back the usual charges, and the hydrogens of aromatic nitrogens; graphs store neither."""
    charged = {atom.GetIdx() for atom in molecule.GetAtoms() if _is_ammonium(atom)} | _settle_aromatic_nitrogens(
        molecule
    )
    for index in sorted(charged):
        atom = molecule.GetAtomWithIdx(index)
        atom.SetFormalCharge(1)
        oxygens = [a for a in atom.GetNeighbors() if a.GetSymbol() == "O" and a.GetDegree() == 1 and _bonds(a) == 1]
        for oxygen in oxygens[:1]:
            oxygen.SetFormalCharge(-1)


def _is_ammonium(atom: Any) -> bool:
    """Whether this is a nitrogen with four bonds, none of them aromatic."""
    return atom.GetSymbol() == "N" and not atom.GetIsAromatic() and _bonds(atom) == 4


def _bonds(atom: Any) -> float:
    return float(sum(bond.GetBondTypeAsDouble() for bond in atom.GetBonds()))


# How much it is worth that an aromatic atom takes part in a ring double bond: a carbon has to; a nitrogen of two bonds that
# does not has a hydrogen, as in pyrrole; one of three bonds that does is charged, as in pyridinium.
_CARBON, _PYRIDINE, _PYRIDINIUM = 1000, 1, -10


def _settle_aromatic_nitrogens(molecule: Any) -> set[int]:
    """Give aromatic nitrogens their hydrogens; the indices of those that are charged.

    Double bonds in aromatic rings are a matching. The one of greatest worth is a Kekulé structure if there is any.
    """
    worth: dict[int, int] = {}
    for atom in molecule.GetAtoms():
        outside = [bond for bond in atom.GetBonds() if not bond.GetIsAromatic()]
        if not atom.GetIsAromatic() or any(bond.GetBondTypeAsDouble() > 1 for bond in outside):
            continue
        if atom.GetSymbol() in ("C", "N"):
            nitrogen = _PYRIDINE if atom.GetDegree() < 3 else _PYRIDINIUM
            worth[atom.GetIdx()] = _CARBON if atom.GetSymbol() == "C" else nitrogen
    if all(value == _CARBON for value in worth.values()):
        return set()
    import networkx as nx

    rings: nx.Graph[int] = nx.Graph()
    for bond in molecule.GetBonds():
        i, j = bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()
        if bond.GetIsAromatic() and i in worth and j in worth:
            rings.add_edge(i, j, weight=worth[i] + worth[j])
    matched = {atom for pair in nx.max_weight_matching(rings) for atom in pair}
    for index, value in worth.items():
        if value == _PYRIDINE and index not in matched:
            molecule.GetAtomWithIdx(index).SetNumExplicitHs(1)
            molecule.GetAtomWithIdx(index).SetNoImplicit(True)
    return {index for index, value in worth.items() if value == _PYRIDINIUM and index in matched}


def _bond_types(chem: Any) -> list[Any]:
    """rdkit's bond type behind each bond label."""
    return [getattr(chem.BondType, name.upper()) for name in BOND_NAMES]


def _rdkit() -> Any:
    try:
        from rdkit import Chem
    except ImportError as error:
        raise InputError("Molecules need rdkit: pip install 'comrecgc[chem]'") from error
    module: ModuleType = Chem
    return module


def _silent() -> Any:
    """Keep rdkit's complaints off the terminal: they come back as return values."""
    from rdkit import rdBase

    return rdBase.BlockLogs()
