"""What a chemist wants kept, avoided or changed, as SMARTS. Needs the `chem` extra (rdkit)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from comrecgc.errors import InputError
from comrecgc.graphs import Graph, edge_labels_by_id, edges_by_id, labels_by_id
from comrecgc.molecules.smiles import load_rdkit, sanitised, silently

if TYPE_CHECKING:
    from rdkit.Chem import Mol


_MOST_MATCHES = 1000


@dataclass(frozen=True, kw_only=True)
class SmartsWishes:
    """Limits on changes of molecules.

    Args:
        protect: What these match stays: its atoms, the bonds between them, and that they match.
        forbid: A result may not match any of these, unless the molecule did so as often before.
        only: Atoms that go or change, bonds that change and atoms that something is attached to must lie in a match of one of these.
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
            assert self._patterns is not None  # reads all, or says which cannot be read

    def __bool__(self) -> bool:
        return bool(self.protect or self.forbid or self.only)

    @cached_property
    def _patterns(self) -> dict[str, list[Any]]:
        chem = load_rdkit()
        found: dict[str, list[Any]] = {}
        for name in ("protect", "forbid", "only"):
            for smarts in getattr(self, name):
                with silently():
                    pattern = chem.MolFromSmarts(smarts) if isinstance(smarts, str) and smarts else None
                if pattern is None or pattern.GetNumAtoms() == 0:
                    raise InputError(f"{name} must be a SMARTS that rdkit reads (got {smarts!r})")
                found.setdefault(name, []).append(pattern)
        return found

    def allows(self, before: Graph, after: Graph, label_names: Sequence[str]) -> bool:
        """Whether a change keeps to the wishes.

        Args:
            before: The molecule before.
            after: The changed molecule, in which kept atoms have the same ids.
            label_names: Atom behind each label.
        """
        old, new = sanitised(before, label_names), sanitised(after, label_names)
        if new is None:
            return False
        if old is None:
            return not (self.protect or self.only)
        return (
            self._avoids(old, new) and self._keeps(before, after, old, new) and self._stays_within(before, after, old)
        )

    def _avoids(self, old: Mol, new: Mol) -> bool:
        return all(
            len(new.GetSubstructMatches(pattern))
            <= (len(old.GetSubstructMatches(pattern)) if old.HasSubstructMatch(pattern) else 0)
            for pattern in self._patterns.get("forbid", ())
        )

    def _keeps(self, before: Graph, after: Graph, old: Mol, new: Mol) -> bool:
        labels, new_labels = labels_by_id(before), labels_by_id(after)
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
    """Atoms that go or change, ends of bonds that change between atoms that stay, and atoms that only gain neighbours, by id."""
    labels, new_labels = labels_by_id(before), labels_by_id(after)
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
    return edge_labels_by_id(graph) or dict.fromkeys(edges_by_id(graph), 0)


def _matches(molecule: Mol, pattern: Any) -> list[tuple[int, ...]]:
    return list(molecule.GetSubstructMatches(pattern, maxMatches=_MOST_MATCHES))
