"""What a chemist looks at before making a molecule: lipophilicity, polar surface, weight, synthetic accessibility, structural alerts."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from comrecgc.graphs import Graph
from comrecgc.molecules.smiles import sanitise, without_logs

if TYPE_CHECKING:
    from rdkit.Chem import Mol


PROPERTIES = ("logp", "tpsa", "weight", "sa_score")
"""Crippen's logP, topological polar surface in Å², molecular weight, and Ertl's synthetic accessibility, 1 easy to 10 hard."""

REACTIVE = ("BRENK", "unstable")
"""The alerts that changes may not bring: Brenk's reactive, unstable and toxic groups, and what falls apart or rearranges on its own."""

# What Brenk's catalog does not have, as compounds in catalogs are never of this kind, but changed molecules may be.
_UNSTABLE = {
    "carbonic_or_carbamic_acid": "[OX2,NX3][CX3](=O)[OX2H1]",
    "hemiacetal_or_hemiaminal": "[OX2H1][CX4][OX2,NX3]",
    "aminal_of_ammonia": "[NX3H2][CX4][OX2,NX3]",
    "halogen_beside_heteroatom": "[OX2H1,$([OX2]([#6])[#6]),$([NX3]);!$(OC(F)F)][CX4][F,Cl,Br,I]",
    "halogen_on_heteroatom": "[#7,#8][F,Cl,Br,I]",
    "enol": "[OX2H1][CX3]=[CX3]",
    "enamine_of_ammonia": "[NX3H2][CX3]=[CX3;!$(C[C,S,N]=[O,N])]",
    "enamine_of_a_ketone": "[NX3][CX3]([#6])=[CX3H2]",
    "trifluoromethyl_ketone": "[#6][CX3](=O)C(F)(F)F",
    "acyl_cyanide": "[CX3](=O)C#N",
}

_CATALOGS = ("BRENK", "PAINS")
_DIGITS = {"logp": 2, "tpsa": 1, "weight": 1, "sa_score": 2}
_MOST = 200  # molecules that a median is of


def properties_of(molecule: Mol) -> dict[str, float]:
    """Its `PROPERTIES`, rounded."""
    from rdkit.Chem import Crippen, Descriptors, rdMolDescriptors
    from rdkit.Contrib.SA_Score import sascorer

    with without_logs():
        values = {
            "logp": Crippen.MolLogP(molecule),
            "tpsa": rdMolDescriptors.CalcTPSA(molecule),
            "weight": Descriptors.MolWt(molecule),
            "sa_score": sascorer.calculateScore(molecule),
        }
    return {name: round(float(value), _DIGITS[name]) for name, value in values.items()}


def alerts_of(molecule: Mol, catalogs: tuple[str, ...] = _CATALOGS) -> tuple[str, ...]:
    """Names of its structural alerts (Brenk, PAINS), sorted.

    Args:
        molecule: A sanitised molecule.
        catalogs: Which of rdkit's catalogs count; "unstable" is one of our own.
    """
    with without_logs():
        return tuple(sorted({match.GetDescription() for match in _catalog(catalogs).GetMatches(molecule)}))


def property_changes(
    before: Sequence[Graph], after: Sequence[Graph], label_names: Sequence[str]
) -> dict[str, Any] | None:
    """What changes do to the properties of some molecules: medians, and how many lose or gain alerts; None where none are molecules.

    Args:
        before: The molecules.
        after: What became of each.
        label_names: Atom behind each label.
    """
    rises: dict[str, list[float]] = {name: [] for name in PROPERTIES}
    fewer = more = 0
    for one, other in list(zip(before, after, strict=True))[:_MOST]:
        old, new = sanitise(one, label_names), sanitise(other, label_names)
        if old is None or new is None:
            continue
        was, now = properties_of(old), properties_of(new)
        for name in PROPERTIES:
            rises[name].append(now[name] - was[name])
        lost, gained = set(alerts_of(old)), set(alerts_of(new))
        fewer += bool(lost - gained)
        more += bool(gained - lost)
    if not rises["logp"]:
        return None
    medians = {name: round(statistics.median(values), _DIGITS[name]) for name, values in rises.items()}
    return {**medians, "num": len(rises["logp"]), "lose_alerts": fewer, "gain_alerts": more}


@cache
def _catalog(names: tuple[str, ...]) -> Any:
    from rdkit.Chem import FilterCatalog

    parameters = FilterCatalog.FilterCatalogParams()
    for name in names:
        if name != "unstable":
            parameters.AddCatalog(getattr(FilterCatalog.FilterCatalogParams.FilterCatalogs, name))
    catalog = FilterCatalog.FilterCatalog(parameters)
    for name, smarts in _UNSTABLE.items() if "unstable" in names else ():
        catalog.AddEntry(FilterCatalog.FilterCatalogEntry(name, FilterCatalog.SmartsMatcher(name, smarts, 1)))
    return catalog
