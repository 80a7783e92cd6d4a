"""Chemistry: atoms and bonds, SMILES, SMARTS and SMIRKS, functional groups, plausibility and properties of molecules."""

from comrecgc.molecules.atoms import (
    BOND_NAMES,
    BOND_ORDERS,
    CHARGED_NITROGEN,
    ELEMENTS,
    Valence,
    are_atoms,
    are_bonds,
    are_types,
    atomic_numbers_as_names,
    element_of,
    read_atom,
)
from comrecgc.molecules.groups import (
    BOND_SIGNS,
    FunctionalGroup,
    Molecule,
    Substituent,
    bond_order,
    charge_sign,
    count_hydrogens,
    family_of,
    hill_formula,
    name_substituent,
    times,
)
from comrecgc.molecules.plausibility import (
    PROPERTIES,
    REACTIVE,
    Bonding,
    MolecularChemistry,
    alerts_of,
    bonding_of,
    bonding_under,
    facts_of,
    has_other_alerts,
    has_rdkit,
    ladder_facts,
    ladder_from_facts,
    ladder_of,
    num_strays,
    property_changes,
)
from comrecgc.molecules.smarts import POSITIONS, SmartsWishes, positions_of, smirks_of
from comrecgc.molecules.smiles import (
    ParsedMolecule,
    Standardiser,
    canonical_smiles,
    is_smiles,
    is_valid_molecule,
    load_rdkit,
    parse_molecule,
    read_smiles,
    restore_stereo,
    sanitise,
    stereo_of,
    to_rdkit,
    to_smiles,
)

__all__ = [
    "BOND_NAMES", "BOND_ORDERS", "BOND_SIGNS", "CHARGED_NITROGEN", "ELEMENTS", "POSITIONS", "PROPERTIES",
    "REACTIVE", "Bonding", "FunctionalGroup", "MolecularChemistry", "Molecule", "ParsedMolecule", "SmartsWishes",
    "Standardiser", "Substituent", "Valence", "alerts_of", "are_atoms", "are_bonds", "are_types",
    "atomic_numbers_as_names", "bond_order", "bonding_of", "bonding_under", "canonical_smiles", "charge_sign",
    "count_hydrogens", "element_of", "facts_of", "family_of", "has_other_alerts", "has_rdkit", "hill_formula",
    "is_smiles", "is_valid_molecule", "ladder_facts", "ladder_from_facts", "ladder_of", "load_rdkit",
    "name_substituent", "num_strays", "parse_molecule", "positions_of", "property_changes", "read_atom",
    "read_smiles", "restore_stereo", "sanitise", "smirks_of", "stereo_of", "times", "to_rdkit", "to_smiles",
]  # fmt: skip
