"""Molecules as models should see them: one fragment, no needless charges. Needs the `chem` extra (rdkit)."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rdkit.Chem import Mol


@dataclass(eq=False)
class Standardiser:
    """Keeps the largest fragment and neutralises it, and counts what it did.

    Stereo marks are dropped in any case: graphs have none.

    Attributes:
        num_stripped: Molecules of which smaller fragments (salts, solvents) were dropped.
        num_neutralised: Molecules that lost charges a proton more or less explains.
    """

    num_stripped: int = field(default=0, init=False)
    num_neutralised: int = field(default=0, init=False)

    @cached_property
    def _tools(self) -> tuple[Any, Any]:
        from rdkit.Chem.MolStandardize import rdMolStandardize  # a third of a second to import

        return rdMolStandardize.LargestFragmentChooser(preferOrganic=True), rdMolStandardize.Uncharger()

    def __call__(self, molecule: Mol) -> Mol:
        """The standard form of a sanitised molecule, sanitised too."""
        from rdkit import Chem, rdBase

        with rdBase.BlockLogs():
            if len(Chem.GetMolFrags(molecule)) > 1:
                molecule = self._tools[0].choose(molecule)
                self.num_stripped += 1
            if any(atom.GetFormalCharge() for atom in molecule.GetAtoms()):
                neutral = self._tools[1].uncharge(molecule)
                # It gives hexafluorophosphate a proton that rdkit itself does not accept.
                if Chem.SanitizeMol(neutral, catchErrors=True) == Chem.SanitizeFlags.SANITIZE_NONE:
                    self.num_neutralised += _charges(neutral) != _charges(molecule)
                    molecule = neutral
        return molecule


def _charges(molecule: Any) -> list[int]:
    return [atom.GetFormalCharge() for atom in molecule.GetAtoms()]
