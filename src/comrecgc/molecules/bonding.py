"""Valences and hydrogens as plain tables, for code that changes molecules by the million."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from comrecgc.graphs import Graph
from comrecgc.molecules.atoms import BOND_NAMES, BOND_ORDERS, atom_of
from comrecgc.molecules.plausibility import MolecularChemistry, are_molecules

_CHARGED_NITROGEN = 4
_HALVES = 33
_BESIDE_CHARGED = 2


@dataclass(frozen=True, eq=False, kw_only=True)
class Bonding:
    """How many bonds atoms carry, all counted in half bonds, and how hydrogens follow.

    Args:
        hydrogen: Label of hydrogen where hydrogens are nodes, else -1.
        single: Label of a single bond.
        orders: Half bonds of each edge label.
        valences: Usual half bonds of each label, `[L, 3]`, increasing; 0 where there are no more.
        right: Whether a label may carry so many half bonds, `[L, halves]`; 2 where only beside a charged atom.
        charged: Label of nitrogen, which is charged when it carries four bonds; -1 if there is none, or labels say charges.
        most: Half bonds that rdkit accepts at most, `[L]`.
    """

    hydrogen: int
    single: int
    orders: npt.NDArray[np.int32]
    valences: npt.NDArray[np.int32]
    right: npt.NDArray[np.int8]
    charged: int
    most: npt.NDArray[np.int32]

    def is_whole(
        self, labels: Sequence[int], edges: Sequence[tuple[int, int]], edge_labels: Sequence[int], bond: int
    ) -> bool:
        """Whether every atom of a group carries the bonds it should, the one to its anchor included."""
        used = np.zeros(len(labels), dtype=np.int64)
        used[0] = self.orders[bond]
        for (i, j), label in zip(edges, edge_labels, strict=True):
            used[[i, j]] += self.orders[label]
        charged = [label == self.charged and used[k] == 2 * _CHARGED_NITROGEN for k, label in enumerate(labels)]
        beside = {i for one, other in edges for i, j in ((one, other), (other, one)) if charged[j]}
        states = [int(self.right[label, min(used[k], _HALVES - 1)]) for k, label in enumerate(labels)]
        return all(state == 1 or (state == _BESIDE_CHARGED and k in beside) for k, state in enumerate(states))


def bonding_of(graphs: Sequence[Graph], label_names: Sequence[str]) -> Bonding | None:
    """The bonding of some molecules; None if the graphs are none."""
    if not are_molecules(graphs, label_names):
        return None
    labelled = bool(graphs) and graphs[0].edge_labels is not None
    return bonding_under(MolecularChemistry.of(graphs, label_names), labelled=labelled)


def bonding_under(chemistry: MolecularChemistry, *, labelled: bool) -> Bonding:
    """The bonding that goes with a chemistry.

    Args:
        chemistry: Elements, and whether hydrogens are nodes.
        labelled: Whether edges have labels.
    """
    names = list(chemistry.label_names)
    orders = np.array(BOND_ORDERS if labelled else BOND_ORDERS[:1])
    valences = np.zeros((len(names), 3), np.int32)
    for label, name in enumerate(names):
        usual = atom_of(name).valences[:3]
        valences[label, : len(usual)] = [2 * bonds for bonds in usual]
    right = chemistry.allowed_half_bonds.astype(np.int8)
    if chemistry.explicit_hydrogens and not chemistry.has_types and {"N", "O"} <= set(names):
        oxygen = names.index("O")
        right[oxygen, 2] = max(right[oxygen, 2], _BESIDE_CHARGED)
    most = np.minimum(2 * chemistry.most_bonds, 10**6).astype(np.int32)
    return Bonding(
        hydrogen=names.index("H") if chemistry.explicit_hydrogens and labelled else -1,
        single=BOND_NAMES.index("single"),
        orders=(2 * orders).astype(np.int32),
        valences=valences,
        right=right,
        charged=names.index("N") if "N" in names and not chemistry.has_types else -1,
        most=most,
    )
