"""All that knows chemistry: elements and bonds, valences, SMILES, functional groups, depictions. rdkit is imported where used."""

from comrecgc.molecules.atoms import BOND_NAMES, BOND_ORDERS, VALENCES, Valence, are_elements
from comrecgc.molecules.bonding import Bonding, bonding_of, bonding_under
from comrecgc.molecules.depiction import depict
from comrecgc.molecules.groups import Group, Molecule
from comrecgc.molecules.plausibility import MolecularChemistry, ladder_facts, ladder_from_facts, ladder_of
from comrecgc.molecules.smiles import from_smiles, is_valid_molecule, parse_smiles, to_rdkit, to_smiles
from comrecgc.molecules.smirks import smirks_of
from comrecgc.molecules.substituents import BOND_SIGNS, Substituent, count_hydrogens, hill_formula, read_substituent

__all__ = [
    "BOND_NAMES", "BOND_ORDERS", "BOND_SIGNS", "VALENCES", "Bonding", "Group", "MolecularChemistry", "Molecule", "Substituent", "Valence",
    "are_elements", "bonding_of", "bonding_under", "count_hydrogens", "depict", "from_smiles", "hill_formula", "is_valid_molecule", "ladder_facts",
    "ladder_from_facts", "ladder_of", "parse_smiles", "read_substituent", "smirks_of", "to_rdkit", "to_smiles",
]  # fmt: skip
