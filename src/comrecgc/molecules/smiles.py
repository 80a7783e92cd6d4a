"""Graphs as molecules: from SMILES, and to rdkit for checking and drawing. Needs the `chem` extra (rdkit).

Edge labels are bonds: 0 single, 1 double, 2 triple, 3 aromatic. Labels that are atom types (`are_types`) hold charges, aromaticity and hydrogens, so
that a molecule comes back as it was. Labels that are elements do not, and the usual charges and hydrogens are put back. Stereo marks are kept beside
graphs, as text (`stereo_of`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import pairwise
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from comrecgc.errors import InputError
from comrecgc.graphs import Graph
from comrecgc.molecules.atoms import BOND_NAMES, CHARGED_NITROGEN, Atom, are_atoms, are_types, atom_of

if TYPE_CHECKING:
    from rdkit.Chem import Mol


_LONGEST = 5000  # rdkit writes a molecule by recursion, and one of tens of thousands of atoms ends the process
_AROMATIC = BOND_NAMES.index("aromatic")


class ParsedMolecule(NamedTuple):
    """A molecule: name of each atom, pairs of atoms that are bound, and the label of each bond."""

    atoms: list[str]
    bonds: list[tuple[int, int]]
    bond_labels: list[int]


def read_smiles(smiles: str) -> Mol:
    """The molecule, as rdkit reads it; an `InputError` if it cannot, or the SMILES names no atom."""
    if len(smiles) > _LONGEST:
        raise InputError(f"A SMILES must have at most {_LONGEST} characters (got {len(smiles)})")
    molecule = _molecule_of(smiles)
    if molecule is None:
        raise InputError(f"Not a valid SMILES of at least one atom (got {smiles[:80]!r})")
    return molecule


def is_smiles(text: str) -> bool:
    """Whether rdkit reads a text as a molecule of at least one atom."""
    return len(text) <= _LONGEST and _molecule_of(text) is not None


def _molecule_of(smiles: str) -> Mol | None:
    chem = load_rdkit()
    with without_logs():
        molecule = chem.MolFromSmiles(smiles)
    return molecule if molecule is not None and molecule.GetNumAtoms() else None


def parse_smiles(smiles: str) -> ParsedMolecule:
    """Element symbols, bonds and bond labels of a molecule; hydrogens stay implicit."""
    molecule = read_smiles(smiles)
    return _parse(molecule, [atom.GetSymbol() for atom in molecule.GetAtoms()])


def parse_molecule(molecule: Mol) -> ParsedMolecule:
    """Atom types, bonds and bond labels of a sanitised molecule; hydrogens stay implicit."""
    types = _types(molecule)
    for bond in molecule.GetBonds():
        aromatic = bond.GetBondType() == load_rdkit().BondType.AROMATIC
        if aromatic and not (types[bond.GetBeginAtomIdx()].is_aromatic and types[bond.GetEndAtomIdx()].is_aromatic):
            raise InputError("An aromatic bond must join aromatic atoms (got one that does not)")
    return _parse(molecule, [atom.name for atom in types])


def from_smiles(smiles: str, label_names: Sequence[str]) -> Graph:
    """The molecule as a graph over the given alphabet of elements or atom types; hydrogens stay implicit."""
    parsed = parse_molecule(read_smiles(smiles)) if are_types(label_names) else parse_smiles(smiles)
    missing = sorted(set(parsed.atoms) - set(label_names))
    if missing:
        raise InputError(f"Every element must be among {', '.join(label_names)} (got {missing[0]} in {smiles[:80]!r})")
    return Graph([label_names.index(atom) for atom in parsed.atoms], parsed.bonds, parsed.bond_labels)


def to_rdkit(graph: Graph, label_names: Sequence[str]) -> Mol:
    """The graph as an rdkit molecule with atoms in node order, not sanitised.

    Bonds are single where the graph has no edge labels. Where labels are elements, charges are not stored in graphs, so the usual ones
    are put back: a nitrogen with four bonds is N+, and an oxygen with one bond to it is O-, which makes nitro groups and N-oxides read as
    they are drawn.
    """
    if not are_atoms(label_names):
        raise InputError(f"Only graphs of chemical elements are molecules (got labels {', '.join(label_names)[:80]})")
    bond_types = _bond_types()
    molecule = load_rdkit().RWMol()
    for label, degree in zip(graph.labels.tolist(), graph.degrees().tolist(), strict=True):
        molecule.AddAtom(_rdkit_atom(label_names[label], is_third_bound=degree > 2))
    bonds = [0] * graph.num_edges if graph.edge_labels is None else graph.edge_labels.tolist()
    typed = are_types(label_names)
    for (i, j), bond in zip(graph.edges.tolist(), bonds, strict=True):
        if bond >= len(bond_types):
            raise InputError(f"Bonds must be 0 single, 1 double, 2 triple or 3 aromatic (got {bond})")
        molecule.AddBond(i, j, bond_types[bond])
        if bond == _AROMATIC and not typed:
            for atom in (i, j):
                molecule.GetAtomWithIdx(atom).SetIsAromatic(True)
    if not typed:
        restore_charges(molecule)
    return molecule.GetMol()


def sanitise(graph: Graph, label_names: Sequence[str]) -> Mol | None:
    """The graph as a molecule that rdkit accepts, with right valences, a Kekulé structure and the stated aromaticity; None if it is not one.

    Where labels are atom types, exactly the atoms and bonds that they call aromatic must be: then a molecule read from its SMILES again has the
    same labels.
    """
    chem = load_rdkit()
    aromatic = [] if graph.edge_labels is None else graph.edges[graph.edge_labels == _AROMATIC].tolist()
    wanted = {(i, j) for i, j in aromatic}
    typed = are_types(label_names)
    if typed:
        named = {node for node, label in enumerate(graph.labels.tolist()) if atom_of(label_names[label]).is_aromatic}
        if named != {atom for bond in wanted for atom in bond}:
            return None
    molecule = to_rdkit(graph, label_names)
    with without_logs():
        if chem.SanitizeMol(molecule, catchErrors=True) != chem.SanitizeFlags.SANITIZE_NONE:
            return None
    matches = molecule.GetSubstructMatches(_aromatic_bond(), maxMatches=graph.num_edges + 1)
    found = {(i, j) if i < j else (j, i) for i, j in matches}
    return molecule if found == wanted or (not typed and found >= wanted) else None


@cache
def _aromatic_bond() -> Any:
    return load_rdkit().MolFromSmarts("*:*")


def is_valid_molecule(graph: Graph, label_names: Sequence[str]) -> bool:
    """Whether rdkit accepts the graph as a molecule (`sanitised`)."""
    return sanitise(graph, label_names) is not None


def canonical_smiles(molecule: Mol) -> str:
    """Canonical SMILES of a sanitised molecule, stereo apart."""
    chem = load_rdkit()
    has_isotopes = any(atom.GetIsotope() for atom in molecule.GetAtoms())
    if has_isotopes:
        molecule = chem.Mol(molecule)
        chem.RemoveStereochemistry(molecule)
    return str(chem.MolToSmiles(molecule, isomericSmiles=has_isotopes))


def to_smiles(graph: Graph, label_names: Sequence[str], stereo: str = "") -> str:
    """Canonical SMILES of the graph; of one that rdkit does not accept, the SMILES of its raw connectivity.

    `stereo` has the stereo marks (`stereo_of`) of the molecule that it was made from, whose atoms have the same ids.
    """
    chem = load_rdkit()
    molecule = to_rdkit(graph, label_names)
    with without_logs():
        if chem.SanitizeMol(molecule, catchErrors=True) == chem.SanitizeFlags.SANITIZE_NONE and stereo:
            restore_stereo(molecule, graph, stereo)
        return str(chem.MolToSmiles(molecule))


def stereo_of(molecule: Mol) -> str:
    """Stereo marks of a molecule as text, empty if it has none.

    `@ 3 2 4 5` and `@@ 3 2 4 5` are the two ways round atom 3 with these neighbours in order, as rdkit counts; `cis 1 2 3 4` and `trans 1 2 3 4` are
    about the double bond of atoms 2 and 3. Marks are separated by semicolons.
    """
    ways, sides = _stereo_marks()
    marks = [
        (ways[atom.GetChiralTag()], atom.GetIdx(), *(other.GetIdx() for other in atom.GetNeighbors()))
        for atom in molecule.GetAtoms()
        if atom.GetChiralTag() in ways
    ]
    for bond in molecule.GetBonds():
        if bond.GetStereo() in sides:
            first, last = bond.GetStereoAtoms()
            marks.append((sides[bond.GetStereo()], first, bond.GetBeginAtomIdx(), bond.GetEndAtomIdx(), last))
    return ";".join(" ".join(map(str, mark)) for mark in marks)


def restore_stereo(molecule: Mol, graph: Graph, stereo: str) -> None:
    """Put stereo marks back where a change left them alone.

    An atom keeps its mark if it has the same neighbours as before, a double bond if it and the atoms that its mark names are still bound. The molecule,
    which is changed, is the graph sanitised, with atoms in node order; kept atoms have the ids of those before.
    """
    chem = load_rdkit()
    ways, sides = ({name: kind for kind, name in found.items()} for found in _stereo_marks())
    place = {node: k for k, node in enumerate(graph.ids.tolist())}
    for kind, *nodes in (mark.split(" ") for mark in stereo.split(";") if mark):
        atoms = [place.get(int(node), -1) for node in nodes]
        if min(atoms) < 0 or len(set(atoms)) < len(atoms):
            continue
        if kind in ways:
            centre = molecule.GetAtomWithIdx(atoms[0])
            around = [other.GetIdx() for other in centre.GetNeighbors()]
            if sorted(around) == sorted(atoms[1:]):
                order = [around.index(atom) for atom in atoms[1:]]
                swaps = sum(i > j for k, i in enumerate(order) for j in order[k + 1 :])
                centre.SetChiralTag(ways[kind])
                if swaps % 2:
                    centre.InvertChirality()
        elif kind in sides:
            bonds = [molecule.GetBondBetweenAtoms(*pair) for pair in pairwise(atoms)]
            if None not in bonds and bonds[1].GetBondType() == chem.BondType.DOUBLE:
                ends = (atoms[0], atoms[3]) if bonds[1].GetBeginAtomIdx() == atoms[1] else (atoms[3], atoms[0])
                bonds[1].SetStereoAtoms(*ends)
                bonds[1].SetStereo(sides[kind])
    chem.SetDoubleBondNeighborDirections(molecule)
    chem.AssignStereochemistry(molecule, cleanIt=True, force=True)


@cache
def _stereo_marks() -> tuple[dict[Any, str], dict[Any, str]]:
    """Our words for rdkit's stereo marks of atoms and double bonds; of several marks with one word the last is set."""
    chem = load_rdkit()
    ways, sides = chem.ChiralType, chem.BondStereo
    return {ways.CHI_TETRAHEDRAL_CCW: "@", ways.CHI_TETRAHEDRAL_CW: "@@"}, {
        sides.STEREOZ: "cis", sides.STEREOE: "trans", sides.STEREOCIS: "cis", sides.STEREOTRANS: "trans",
    }  # fmt: skip


def _parse(molecule: Any, atoms: list[str]) -> ParsedMolecule:
    bond_labels = _bond_types()
    bonds = list(molecule.GetBonds())
    unknown = [bond for bond in bonds if bond.GetBondType() not in bond_labels]
    if unknown:
        raise InputError(f"Bonds must be {', '.join(BOND_NAMES)} (got {str(unknown[0].GetBondType()).lower()})")
    return ParsedMolecule(
        atoms,
        [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in bonds],
        [bond_labels.index(bond.GetBondType()) for bond in bonds],
    )


def _types(molecule: Any) -> list[Atom]:
    """What each atom is; hydrogens are named only where rdkit would put another number."""
    types = [
        Atom(
            element=atom.GetSymbol(), charge=atom.GetFormalCharge(), is_aromatic=atom.GetIsAromatic(),
            is_donor=_is_donor(atom), isotope=atom.GetIsotope(),
        )
        for atom in molecule.GetAtoms()
    ]  # fmt: skip
    atoms = enumerate(molecule.GetAtoms())
    named = [index for index, atom in atoms if atom.GetNoImplicit() and not types[index].is_donor]
    if not named:
        return types
    usual = load_rdkit().RWMol(molecule)
    for index in named:
        atom = usual.GetAtomWithIdx(index)
        atom.SetNoImplicit(False)
        atom.SetNumExplicitHs(0)
        atom.SetNumRadicalElectrons(0)
    usual.UpdatePropertyCache(strict=False)
    for index in named:
        hydrogens = molecule.GetAtomWithIdx(index).GetTotalNumHs()
        if usual.GetAtomWithIdx(index).GetTotalNumHs() != hydrogens:
            types[index] = replace(types[index], hydrogens=hydrogens)
    return types


def _is_donor(atom: Any) -> bool:
    """Whether this is the nitrogen of pyrrole."""
    plain = atom.GetSymbol() == "N" and not atom.GetFormalCharge() and not atom.GetIsotope()
    return bool(plain and atom.GetIsAromatic() and atom.GetDegree() + atom.GetTotalNumHs() == 3)


@cache
def _rdkit_atom(name: str, *, is_third_bound: bool) -> Any:
    """The atom behind a label, of which molecules take copies."""
    known = atom_of(name)
    atom = load_rdkit().Atom(known.element)
    if known.charge:
        atom.SetFormalCharge(known.charge)
    if known.is_aromatic:
        atom.SetIsAromatic(True)
    if known.isotope:
        atom.SetIsotope(known.isotope)
    hydrogens = int(not is_third_bound) if known.is_donor else known.hydrogens
    if hydrogens is not None:
        atom.SetNumExplicitHs(hydrogens)
        atom.SetNoImplicit(True)
    return atom


def restore_charges(molecule: Any) -> None:
    """Put back the usual charges, and the hydrogens of aromatic nitrogens; graphs store neither."""
    plain = [atom for atom in molecule.GetAtoms() if atom.GetSymbol() == "N" and not atom.GetIsAromatic()]
    ammonium = {atom.GetIdx() for atom in plain if _bonds(atom) == CHARGED_NITROGEN}
    for index in sorted(ammonium | _settle_aromatic_nitrogens(molecule)):
        atom = molecule.GetAtomWithIdx(index)
        atom.SetFormalCharge(1)
        oxygens = [a for a in atom.GetNeighbors() if a.GetSymbol() == "O" and a.GetDegree() == 1 and _bonds(a) == 1]
        for oxygen in oxygens[:1]:
            oxygen.SetFormalCharge(-1)


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


@cache
def _bond_types() -> list[Any]:
    """rdkit's bond type behind each bond label."""
    return [getattr(load_rdkit().BondType, name.upper()) for name in BOND_NAMES]


@cache
def load_rdkit() -> Any:
    """rdkit's `Chem`; an `InputError` if it is not installed."""
    try:
        from rdkit import Chem
    except ImportError as error:
        raise InputError("Molecules need rdkit: pip install 'comrecgc[chem]'") from error
    module: ModuleType = Chem
    return module


def without_logs() -> Any:
    """Keep rdkit's messages off the terminal; errors show in return values."""
    from rdkit import rdBase

    return rdBase.BlockLogs()


# Molecules as models should see them: one fragment, no needless charges. Needs the `chem` extra (rdkit).


@dataclass(eq=False)
class Standardiser:
    """Keeps the largest fragment and neutralises it, and counts what it did."""

    num_stripped: int = field(default=0, init=False)  # molecules of which salts and solvents were dropped
    num_neutralised: int = field(default=0, init=False)  # molecules that lost charges a proton more or less explains

    @cached_property
    def _tools(self) -> tuple[Any, Any]:
        from rdkit.Chem.MolStandardize import rdMolStandardize  # a third of a second to import

        return rdMolStandardize.LargestFragmentChooser(preferOrganic=True), rdMolStandardize.Uncharger()

    def __call__(self, molecule: Mol) -> Mol:
        """The standard form of a sanitised molecule, sanitised too."""
        chem = load_rdkit()
        with without_logs():
            if len(chem.GetMolFrags(molecule)) > 1:
                molecule = self._tools[0].choose(molecule)
                self.num_stripped += 1
            if any(atom.GetFormalCharge() for atom in molecule.GetAtoms()):
                neutral = self._tools[1].uncharge(molecule)
                # It gives hexafluorophosphate a proton that rdkit itself does not accept.
                if chem.SanitizeMol(neutral, catchErrors=True) == chem.SanitizeFlags.SANITIZE_NONE:
                    charges = ([atom.GetFormalCharge() for atom in it.GetAtoms()] for it in (neutral, molecule))
                    self.num_neutralised += next(charges) != next(charges)
                    molecule = neutral
        return molecule
