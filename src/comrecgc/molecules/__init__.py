"""All that knows chemistry: elements and bonds, valences, SMILES, functional groups, depictions. rdkit is imported where used."""

from comrecgc.molecules.atoms import (
    BOND_NAMES,
    BOND_ORDERS,
    VALENCES,
    Atom,
    Valence,
    are_atoms,
    are_elements,
    are_types,
    atom_of,
    atomic_numbers_as_names,
    element_of,
    read_atom,
)
from comrecgc.molecules.bonding import Bonding, bonding_of, bonding_under
from comrecgc.molecules.depiction import depict, shown_atoms
from comrecgc.molecules.families import family_of
from comrecgc.molecules.groups import Group, Molecule
from comrecgc.molecules.plausibility import MolecularChemistry, has_rdkit, ladder_facts, ladder_from_facts, ladder_of
from comrecgc.molecules.properties import PROPERTIES, REACTIVE, alerts_of, properties_of, property_changes
from comrecgc.molecules.smiles import (
    Parsed,
    canonical_smiles,
    from_smiles,
    is_valid_molecule,
    parse_molecule,
    parse_smiles,
    read_smiles,
    sanitised,
    to_rdkit,
    to_smiles,
)
from comrecgc.molecules.smirks import run_smirks, smirks_of
from comrecgc.molecules.standardise import Standardiser
from comrecgc.molecules.substituents import (
    BOND_SIGNS,
    RING_NAMES,
    Substituent,
    charge_sign,
    count_hydrogens,
    hill_formula,
    read_substituent,
)
from comrecgc.molecules.wishes import SmartsWishes, changed_atoms

__all__ = [
    "BOND_NAMES", "BOND_ORDERS", "BOND_SIGNS", "PROPERTIES", "REACTIVE", "RING_NAMES", "VALENCES", "Atom", "Bonding", "Group", "MolecularChemistry", "Molecule", "Parsed",
    "SmartsWishes", "Standardiser", "Substituent", "Valence", "alerts_of", "are_atoms", "are_elements", "are_types", "atom_of", "atomic_numbers_as_names", "bonding_of",
    "bonding_under", "canonical_smiles", "changed_atoms", "charge_sign", "count_hydrogens", "depict", "element_of", "family_of", "from_smiles", "has_rdkit", "hill_formula",
    "is_valid_molecule", "ladder_facts", "ladder_from_facts", "ladder_of", "parse_molecule", "parse_smiles", "properties_of", "property_changes",
    "read_atom", "read_smiles", "read_substituent", "run_smirks", "sanitised", "shown_atoms", "smirks_of", "to_rdkit", "to_smiles",
]  # fmt: skip
