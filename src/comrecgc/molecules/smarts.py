"""SMARTS and SMIRKS: wishes of a chemist as SMARTS, and rules as reaction SMIRKS for rdkit and other tools.

A SMIRKS refers to molecules as the data write them: hydrogens are atoms where they are nodes (`Chem.AddHs`), and rings have single and double
bonds where the data have no aromatic ones (`Chem.Kekulize(molecule, clearAromaticFlags=True)`). Where labels are atom types it speaks of
molecules as rdkit reads them from SMILES without stereo marks, and hydrogens follow.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, reduce
from itertools import accumulate, combinations
from typing import TYPE_CHECKING, Any

from comrecgc.errors import InputError
from comrecgc.graphs import Graph, Pattern, Rule, write_pattern
from comrecgc.molecules import atoms as elements
from comrecgc.molecules.atoms import ANY_ELEMENT, BOND_NAMES, CHARGED_NITROGEN, Atom, are_types, atom_of
from comrecgc.molecules.smiles import canonical_smiles, load_rdkit, read_smiles, restore_charges, sanitise, without_logs

if TYPE_CHECKING:
    from rdkit.Chem import Mol


_MOST_MATCHES = 1000

POSITIONS = {
    "ortho to a ring nitrogen": "[c;$(c:n)]",
    "on a six-membered ring with nitrogen": "[c;$(c1naaaa1),$(c1anaaa1),$(c1aanaa1)]",
    "on a five-membered ring": "[c;$(c1aaaa1)]",
    "on a benzene ring": "[c;$(c1ccccc1)]",
    "ortho to a substituent": "[c;$(c:c!:*)]",
    "on a ring": "[!a;R]",
    "on a chain": "[!a;!R]",
    "beside an aromatic ring": "[!a;$(*-a)]",
    "beside a heteroatom": "[C;$(C~[!#6;!#1])]",
}
"""Positions of an atom in a chemist's words, with their SMARTS."""


def positions_of(graph: Graph, label_names: Sequence[str]) -> dict[str, frozenset[int]]:
    """The atoms at each of `POSITIONS`; none where rdkit does not read the molecule."""
    molecule = sanitise(graph, label_names)
    matches = {} if molecule is None else {name: molecule.GetSubstructMatches(it) for name, it in _positions().items()}
    return {name: frozenset(match[0] for match in found) for name, found in matches.items()}


@cache
def _positions() -> dict[str, Any]:
    return {name: load_rdkit().MolFromSmarts(smarts) for name, smarts in POSITIONS.items()}


@dataclass(frozen=True, kw_only=True)
class SmartsWishes:
    """Limits on changes of molecules, as SMARTS. Needs the `chem` extra (rdkit).

    Atoms that match `protect` stay, with the bonds between them, and still match afterwards. A result may not match `forbid` more often than the molecule
    did before. Atoms removed or relabelled, ends of changed bonds and atoms that gain a neighbour must lie in a match of `only`.
    """

    protect: tuple[str, ...] = ()
    forbid: tuple[str, ...] = ()
    only: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("protect", "forbid", "only"):
            values = getattr(self, name)
            if isinstance(values, str):
                values = (values,)
            object.__setattr__(self, name, tuple(values))
        if self:
            assert self._patterns is not None  # raises InputError for the first that rdkit cannot read

    def __bool__(self) -> bool:
        return bool(self.protect or self.forbid or self.only)

    @cached_property
    def _patterns(self) -> dict[str, list[Any]]:
        chem = load_rdkit()
        found: dict[str, list[Any]] = {}
        for name in ("protect", "forbid", "only"):
            for smarts in getattr(self, name):
                with without_logs():
                    pattern = chem.MolFromSmarts(smarts) if isinstance(smarts, str) and smarts else None
                if pattern is None or pattern.GetNumAtoms() == 0:
                    raise InputError(f"{name} must be a SMARTS that rdkit reads (got {smarts!r})")
                found.setdefault(name, []).append(pattern)
        return found

    def allows(self, before: Graph, after: Graph, label_names: Sequence[str]) -> bool:
        """Whether a change respects the limits; kept atoms have the same ids afterwards."""
        old, new = sanitise(before, label_names), sanitise(after, label_names)
        if new is None:
            return False
        if old is None:
            return not (self.protect or self.only)
        avoids = all(
            len(new.GetSubstructMatches(pattern)) <= len(old.GetSubstructMatches(pattern))
            for pattern in self._patterns.get("forbid", ())
        )
        return avoids and self._keeps(before, after, old, new) and self._stays_within(before, after, old)

    def _keeps(self, before: Graph, after: Graph, old: Mol, new: Mol) -> bool:
        labels, new_labels = before.labels_by_id(), after.labels_by_id()
        bonds, new_bonds = _bonds(before), _bonds(after)
        ids, new_ids = before.ids.tolist(), after.ids.tolist()
        for pattern in self._patterns.get("protect", ()):
            matches = [frozenset(ids[k] for k in match) for match in _matches(old, pattern)]
            if not matches:
                continue
            left = {frozenset(new_ids[k] for k in match) for match in _matches(new, pattern)}
            for atoms in matches:
                same = all(new_labels.get(atom) == labels[atom] for atom in atoms)
                inner = {pair: bond for pair, bond in bonds.items() if set(pair) <= atoms}
                new_inner = {pair: bond for pair, bond in new_bonds.items() if set(pair) <= atoms}
                if not same or inner != new_inner or atoms not in left:
                    return False
        return True

    def _stays_within(self, before: Graph, after: Graph, old: Mol) -> bool:
        patterns = self._patterns.get("only")
        if not patterns:
            return True
        ids = before.ids.tolist()
        inside = {ids[k] for pattern in patterns for match in _matches(old, pattern) for k in match}
        return changed_atoms(before, after) <= inside


def changed_atoms(before: Graph, after: Graph) -> set[int]:
    """Ids of atoms removed or relabelled, of ends of changed bonds between kept atoms, and of atoms that only gain neighbours."""
    labels, new_labels = before.labels_by_id(), after.labels_by_id()
    gone = labels.keys() - new_labels.keys()
    changed = gone | {node for node in labels.keys() & new_labels.keys() if labels[node] != new_labels[node]}
    bonds, new_bonds = _bonds(before), _bonds(after)
    for pair in bonds.keys() | new_bonds.keys():
        if set(pair) <= new_labels.keys() & labels.keys() and bonds.get(pair) != new_bonds.get(pair):
            changed |= set(pair)
    loses = {node for pair in bonds for node in pair if set(pair) & gone}
    gains = {node for pair in new_bonds for node in pair if set(pair) - labels.keys() and node in labels}
    return changed | (gains - loses)


def _bonds(graph: Graph) -> Mapping[tuple[int, int], int]:
    return graph.edge_labels_by_id() or dict.fromkeys(graph.edges_by_id(), 0)


def _matches(molecule: Mol, pattern: Any) -> list[tuple[int, ...]]:
    return list(molecule.GetSubstructMatches(pattern, maxMatches=_MOST_MATCHES))


# Rules as SMIRKS.


_BONDS = ("-", "=", "#", ":")
_MOST_PRODUCTS = 100_000
_ORIGIN = "react_atom_idx"  # rdkit's name for the atom that an atom of a product was


def smirks_of(rule: Rule, label_names: Sequence[str], edge_label_names: Sequence[str] | None) -> str | None:
    """The rule as a SMIRKS with atom maps; None where labels are no elements or bonds are not known.

    Atoms that the rule leaves open may have any other neighbours; closed ones have as many as the pattern shows. A SMIRKS cannot say that
    two atoms are not joined yet: one that joins atoms also fits where they are. Nor can it give a charge to a nitrogen that the rule leaves
    open and ties to one more atom: where that makes four bonds, the product needs N+.
    """
    labelled = rule.before.edge_labels is not None and rule.after.edge_labels is not None
    if (
        not labelled
        or not edge_label_names
        or not elements.are_atoms(label_names)
        or not set(edge_label_names) <= {*BOND_NAMES}
    ):
        return None
    kinds = [BOND_NAMES.index(name) for name in edge_label_names]
    if are_types(label_names):
        return _typed_smirks(rule, [atom_of(name) for name in label_names], kinds)
    charges = _charges(rule, label_names, kinds)
    before = [
        f"{_element(label_names[label])}{'' if label_names[label] == 'H' else _degree(rule, node)}"
        for node, label in enumerate(rule.before.labels)
    ]
    after = [f"{_element(label_names[label])}{charges.get(node, '')}" for node, label in enumerate(rule.after.labels)]
    return _written(rule, before, after, kinds)


def _written(rule: Rule, before: Sequence[str], after: Sequence[str], kinds: Sequence[int]) -> str:
    """The two sides of a rule from what each of its atoms is; kept atoms get the numbers that tell which is which."""
    old = {node: f":{k + 1}" for k, (node, _) in enumerate(rule.kept)}
    new = {node: f":{k + 1}" for k, (_, node) in enumerate(rule.kept)}
    sides = ((rule.before, before, old), (rule.after, after, new))
    bonds = [_BONDS[kind] for kind in kinds]
    return ">>".join(
        write_pattern(pattern, [f"[{atom}{maps.get(node, '')}]" for node, atom in enumerate(atoms)], bonds)
        for pattern, atoms, maps in sides
    )


def run_smirks(smirks: str, molecule: Any) -> set[str]:
    """Canonical SMILES of every molecule that a SMIRKS makes of one and rdkit accepts.

    rdkit returns only those parts of a salt that the reaction touches. The other parts are put back here. Data whose labels are elements have no
    charges: there, charges follow the bonds after the reaction too, as `to_rdkit` puts them.

    Args:
        smirks: The reaction.
        molecule: The molecule: SMILES, or what `to_rdkit` makes of a graph whose labels are elements.
    """
    from rdkit.Chem import AllChem

    chem = load_rdkit()
    made = set()
    with without_logs():
        reaction = AllChem.ReactionFromSmarts(smirks)
        has_charges = isinstance(molecule, str)
        if has_charges:
            molecule = read_smiles(molecule)
        else:
            molecule = chem.Mol(molecule)
            molecule.UpdatePropertyCache(strict=False)
            chem.FastFindRings(molecule)
        parts = chem.GetMolFrags(molecule, asMols=True, sanitizeFrags=False)
        most = 1 + smirks.partition(">>")[0].count(".")
        for touched in (places for k in range(most) for places in combinations(range(len(parts)), k + 1)):
            rest = [part for place, part in enumerate(parts) if place not in touched]
            for product in _products(reaction, [parts[place] for place in touched], chem):
                whole = reduce(chem.CombineMols, rest, product)
                if not has_charges:
                    whole = _reset_charges(whole, chem)
                if chem.SanitizeMol(whole, catchErrors=True) == chem.SanitizeFlags.SANITIZE_NONE:
                    made.add(canonical_smiles(read_smiles(canonical_smiles(whole))))
    return made


def _reset_charges(molecule: Any, chem: Any) -> Any:
    """A product with the charges that its bonds ask for, and no others."""
    molecule = chem.RWMol(molecule)
    for atom in molecule.GetAtoms():
        atom.SetFormalCharge(0)
    restore_charges(molecule)
    return molecule.GetMol()


def _products(reaction: Any, parts: Sequence[Any], chem: Any) -> Iterator[Any]:
    """Products of a reaction that touches all of some parts of a molecule."""
    bounds = list(accumulate(part.GetNumAtoms() for part in parts))
    for (product,) in reaction.RunReactants((reduce(chem.CombineMols, parts),), maxProducts=_MOST_PRODUCTS):
        origins = [atom.GetIntProp(_ORIGIN) for atom in product.GetAtoms() if atom.HasProp(_ORIGIN)]
        if {bisect_right(bounds, origin) for origin in origins} == set(range(len(parts))):
            yield product


def _typed_smirks(rule: Rule, atoms: Sequence[Atom], kinds: Sequence[int]) -> str:
    """The rule where labels say charges and aromaticity."""
    before = [
        f"{_primitive(atoms[label])}{_match_conditions(atoms[label])}{_degree(rule, node)}"
        for node, label in enumerate(rule.before.labels)
    ]
    back, used = {new: old for old, new in rule.kept}, _bonds_used(rule.after, kinds)
    after = [
        f"{_primitive(atoms[label])}{_hydrogens_after(rule, node, back.get(node), atoms, used[node])}"
        for node, label in enumerate(rule.after.labels)
    ]
    return _written(rule, before, after, kinds)


def _primitive(atom: Atom) -> str:
    """Isotope, element and charge, as SMARTS and products write them."""
    isotope = str(atom.isotope) if atom.isotope else ""
    symbol = "#1" if atom.element == "H" else "#0" if atom.element == ANY_ELEMENT else atom.element
    return f"{isotope}{symbol.lower() if atom.is_aromatic else symbol}{atom.charge:+d}"


def _match_conditions(atom: Atom) -> str:
    """Further conditions on an atom beyond element and charge: pyrrole nitrogens have three neighbours with their hydrogen."""
    if atom.hydrogens is not None:
        return f"H{atom.hydrogens}"
    if atom.element == "N" and atom.is_aromatic and not atom.charge:
        return "X3" if atom.is_donor else "X2"
    return ""


def _hydrogens_after(rule: Rule, node: int, old: int | None, atoms: Sequence[Atom], used: float) -> str:
    """Hydrogens of atoms that SMILES write in brackets, which rdkit does not add or drop by itself."""
    atom = atoms[rule.after.labels[node]]
    if atom.hydrogens is not None:
        return f"H{atom.hydrogens}"
    was = None if old is None else atoms[rule.before.labels[old]]
    gained = len(rule.after.neighbours[node]) - (0 if old is None else len(rule.before.neighbours[old]))
    known = old is None or rule.closed[old]
    if not atom.is_donor:
        in_brackets = was is not None and (was.is_donor or was.charge != 0)
        room = [int(valence - used) for valence in atom.valences if valence >= used]
        if in_brackets and known and room and not atom.is_aromatic:
            return f"H{room[0]}"
        return "H0" if was is not None and was.is_donor else ""
    if known:
        return "H1" if len(rule.after.neighbours[node]) < 3 else "H0"
    if was is not None and was.is_donor:  # an open one: what it gains or loses tells how many neighbours it had
        return "" if gained == 0 else "H0" if gained > 0 else "H1"
    return "H1" if was is not None and gained == 0 and was.element != "C" else "H0" if gained > 0 else ""


def _element(name: str) -> str:
    return "#0" if name == ANY_ELEMENT else f"#{elements.ELEMENTS.index(name) + 1}"


def _degree(rule: Rule, node: int) -> str:
    return f"D{len(rule.before.neighbours[node])}" if rule.closed[node] else ""


def _charges(rule: Rule, label_names: Sequence[str], kinds: Sequence[int]) -> dict[int, str]:
    """Charges after, of atoms all of whose bonds are known: graphs store none, and kept atoms would keep theirs."""
    after = rule.after
    names = [label_names[label] for label in after.labels]
    used, used_before = _bonds_used(after, kinds), _bonds_used(rule.before, kinds)
    known = {j for j in range(len(names)) if j not in rule.image.values()}
    known |= {j for i, j in rule.kept if rule.closed[i]}
    for i, label in enumerate(rule.before.labels):  # the only oxygen on a single bond there is O–
        if label_names[label] == "N" and used_before[i] == CHARGED_NITROGEN:
            oxygens = [k for k in rule.before.neighbours[i] if label_names[rule.before.labels[k]] == "O"]
            single = [k for k in oxygens if used_before[k] == 1]
            known |= {rule.image[k] for k in single if k in rule.image and len(single) == 1}
    charges = {node: "+0" for node in known if names[node] != "H"}
    for node in sorted(known):
        if names[node] == "N" and used[node] == CHARGED_NITROGEN:
            charges[node] = "+1"
            oxides = [k for k in sorted(after.neighbours[node]) if names[k] == "O" and k in known and used[k] == 1]
            charges |= dict.fromkeys(oxides[:1], "-1")
    return charges


def _bonds_used(pattern: Pattern, kinds: Sequence[int]) -> list[float]:
    """Bonds at each atom that a pattern shows, by their order."""
    used = [0.0] * len(pattern.labels)
    for edge, label in pattern.bonds.items():
        for node in edge:
            used[node] += elements.BOND_ORDERS[kinds[label]]
    return used
