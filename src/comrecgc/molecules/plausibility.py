"""Plausibility of changed molecules beyond familiar surroundings: valences are right, and rdkit sanitises the result."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from comrecgc.errors import InputError
from comrecgc.graphs import BoolArray, ChangedGraphs, Familiarity, Graph, GraphBatch, Ladder
from comrecgc.molecules.atoms import BOND_NAMES, BOND_ORDERS, CHARGED_NITROGEN, are_atoms, are_bonds, are_types, atom_of
from comrecgc.molecules.smiles import is_valid_molecule, sanitise, without_logs

if TYPE_CHECKING:
    from rdkit.Chem import Mol


_MOST_BONDS = 16
_AROMATIC = BOND_NAMES.index("aromatic")


@dataclass(frozen=True, kw_only=True)
class MolecularChemistry:
    """Valences and sanitising of changed molecules.

    Where hydrogens are nodes, an atom that was touched must carry exactly the bonds its element asks for, so hydrogens have
    to follow every change of heavy atoms. Where they are implicit, an atom may carry fewer. Aromatic atoms are left to
    rdkit. Without rdkit only valences are checked. Where labels say charges, a change may not charge a molecule: its net charge comes no
    farther from zero.
    """

    label_names: tuple[str, ...]  # atom behind each label
    explicit_hydrogens: bool  # whether hydrogens are nodes

    @classmethod
    def of(cls, graphs: Sequence[Graph], label_names: Sequence[str]) -> MolecularChemistry:
        """The chemistry of the data: hydrogens are explicit where at least half of the molecules have one."""
        names = tuple(label_names)
        with_hydrogen = sum(names.index("H") in graph.labels for graph in graphs) if "H" in names else 0
        return cls(label_names=names, explicit_hydrogens=2 * with_hydrogen >= max(len(graphs), 1))

    def plausible(self, changed: ChangedGraphs, touched: BoolArray, *, thorough: bool) -> BoolArray:
        """Mask of the changed molecules that are chemically right, `[B]`; `touched` are atoms that are new or have other surroundings than before.

        A `thorough` check lets rdkit look at every molecule. Otherwise it looks only at those with a touched aromatic atom: for the others valences
        decide, provided that rdkit accepts the molecule before the change.
        """
        batch = changed.after
        overloaded = (bonds_of_atoms(batch) > self.most_bonds[batch.labels]) & ~aromatic_atoms(batch)  # for rdkit
        wrong = (touched & ~self.right_valences(batch)) | overloaded
        mask = ~batch.graphs_with(wrong) & self.keeps_charge(changed)
        if not has_rdkit():
            return mask
        asked = mask.copy()
        if not thorough:
            asked &= batch.graphs_with(touched & aromatic_atoms(batch))
            mask &= self._valid_sources(changed)[changed.source]
        for index in np.flatnonzero(asked & mask).tolist():
            mask[index] = is_valid_molecule(batch[index], self.label_names)
        return mask

    def right_valences(self, batch: GraphBatch) -> BoolArray:
        """Mask of the atoms with an allowed number of bonds, `[N]`."""
        bonds = bonds_of_atoms(batch)
        halves = np.minimum(2 * bonds, 2 * _MOST_BONDS).astype(np.int64)
        right: BoolArray = self.allowed_half_bonds[batch.labels, halves]
        right |= aromatic_atoms(batch)
        if self.explicit_hydrogens and not self.has_types and {"N", "O"} <= set(self.label_names):
            right |= self._oxides(batch, bonds)
        return right

    def keeps_charge(self, changed: ChangedGraphs) -> BoolArray:
        """Which molecules have a net charge no larger than before, `[B]`."""
        before, after = (
            np.abs(np.bincount(batch.graph_of_node(), weights=self.charges[batch.labels], minlength=len(batch)))
            for batch in (changed.before, changed.after)
        )
        mask: BoolArray = after <= before[changed.source]
        return mask

    def _valid_sources(self, changed: ChangedGraphs) -> BoolArray:
        """Which molecules rdkit accepts before the change; without aromatic bonds right valences are enough."""
        valid = ~changed.before.graphs_with(aromatic_atoms(changed.before))
        for index in np.setdiff1d(changed.source, np.flatnonzero(valid)).tolist():
            valid[index] = is_valid_molecule(changed.before[index], self.label_names)
        return valid

    def _oxides(self, batch: GraphBatch, bonds: np.ndarray) -> BoolArray:
        """Oxygens with one bond, to a charged nitrogen."""
        oxygen, nitrogen = self.label_names.index("O"), self.label_names.index("N")
        charged = (batch.labels == nitrogen) & (bonds == CHARGED_NITROGEN)
        beside = np.zeros(len(batch.labels), dtype=bool)
        for side in range(2):
            beside[batch.edges[charged[batch.edges[:, 1 - side]], side]] = True
        oxides: BoolArray = beside & (batch.labels == oxygen) & (bonds == 1)
        return oxides

    @cached_property
    def most_bonds(self) -> np.ndarray:
        """Bonds an atom of each label may carry, `[L]`."""
        return np.array([max(self._valences(name), default=np.inf) for name in self.label_names])

    @cached_property
    def has_types(self) -> bool:
        """Whether labels say charges and aromaticity."""
        return are_types(self.label_names)

    @cached_property
    def charges(self) -> np.ndarray:
        """Formal charge of each label, `[L]`."""
        return np.array([atom_of(name).charge for name in self.label_names], dtype=float)

    @cached_property
    def aromatic(self) -> BoolArray:
        """Which labels are aromatic atoms, `[L]`."""
        return np.array([atom_of(name).is_aromatic for name in self.label_names], dtype=bool)

    @cached_property
    def carbons(self) -> BoolArray:
        """Which labels are carbons, `[L]`."""
        return np.array([atom_of(name).element == "C" for name in self.label_names], dtype=bool)

    @cached_property
    def halogens(self) -> BoolArray:
        """Which labels are halogens, `[L]`."""
        return np.array([atom_of(name).element in ("F", "Cl", "Br", "I") for name in self.label_names], dtype=bool)

    def _valences(self, name: str) -> tuple[int, ...]:
        """Bonds an atom can carry; a nitrogen whose charge no label says may have four."""
        allowed = atom_of(name).valences
        return (*allowed, CHARGED_NITROGEN) if name == "N" and not self.has_types else allowed

    @cached_property
    def allowed_half_bonds(self) -> BoolArray:
        """Whether an atom of each label may carry so many half bonds, `[L, halves]`."""
        table = np.zeros((len(self.label_names), 2 * _MOST_BONDS + 1), dtype=bool)
        for label, name in enumerate(self.label_names):
            allowed = self._valences(name)
            if self.explicit_hydrogens and allowed:
                table[label, [2 * bonds for bonds in allowed]] = True
            else:
                table[label, : 2 * max(allowed, default=_MOST_BONDS) + 1] = True
        return table


@cache
def has_rdkit() -> bool:
    """Whether rdkit is installed."""
    return find_spec("rdkit") is not None


def bonds_of_atoms(batch: GraphBatch) -> np.ndarray:
    """Bonds of each atom by their order, `[N]`; each counts one where the batch has no edge labels."""
    if batch.edge_labels is None:
        return np.bincount(batch.edges.ravel(), minlength=len(batch.labels)).astype(float)
    orders = np.array(BOND_ORDERS)[batch.edge_labels]
    return np.bincount(batch.edges.ravel(), weights=np.repeat(orders, 2), minlength=len(batch.labels))


def aromatic_atoms(batch: GraphBatch) -> BoolArray:
    """Which atoms have an aromatic bond, `[N]`."""
    mask = np.zeros(len(batch.labels), dtype=bool)
    if batch.edge_labels is not None:
        mask[batch.edges[batch.edge_labels == _AROMATIC]] = True
    return mask


def ladder_of(
    graphs: Iterable[Graph],
    label_names: Sequence[str],
    edge_label_names: Sequence[str] | None = None,
    *,
    min_seen: int = 5,
) -> Ladder:
    """The ladder of changes for some data, of all classes; labels that are atoms bring the rules of molecules.

    Edge labels without names are taken for bonds, in the order of `BOND_NAMES`. Surroundings that occur `min_seen` times are familiar.
    """
    graphs = list(graphs)
    is_molecular = are_molecules(graphs, label_names) and are_bonds(edge_label_names)
    chemistry = MolecularChemistry.of(graphs, label_names) if is_molecular else None
    return Ladder(familiarity=Familiarity.of(graphs, min_seen=min_seen), chemistry=chemistry)


def ladder_facts(ladder: Ladder) -> dict[str, Any]:
    """A ladder as JSON values, for a run folder."""
    familiarity, chemistry = ladder.familiarity, ladder.chemistry
    return {
        "min_seen": familiarity.min_seen,
        "edge_labels": familiarity.edge_labels,
        "known": familiarity.known.astype("<u8").tobytes().hex(),
        "explicit_hydrogens": chemistry.explicit_hydrogens if isinstance(chemistry, MolecularChemistry) else None,
    }


def ladder_from_facts(facts: object, label_names: Sequence[str]) -> Ladder:
    """The ladder that `ladder_facts` wrote."""
    try:
        assert isinstance(facts, dict)
        known = np.sort(np.frombuffer(bytes.fromhex(facts["known"]), dtype="<u8").astype(np.uint64))
        labelled, min_seen = bool(facts["edge_labels"]), int(facts["min_seen"])
        familiarity = Familiarity(known=known, edge_labels=labelled, min_seen=min_seen)
        hydrogens = facts["explicit_hydrogens"]
    except (AssertionError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"The ladder of changes must be as a run stores it (got {facts!r:.60})") from error
    names, is_molecular = tuple(label_names), hydrogens is not None
    chemistry = MolecularChemistry(label_names=names, explicit_hydrogens=bool(hydrogens)) if is_molecular else None
    return Ladder(familiarity=familiarity, chemistry=chemistry)


def are_molecules(graphs: Sequence[Graph], label_names: Sequence[str]) -> bool:
    """Whether labels are atoms and edge labels, where there are any, bonds."""
    bonds = [graph.edge_labels.max(initial=0) for graph in graphs if graph.edge_labels is not None]
    return are_atoms(label_names) and max(bonds, default=0) < len(BOND_ORDERS)


# Valences and hydrogens as plain tables, for compiled code.


_HALVES = 33
_BESIDE_CHARGED = 2


@dataclass(frozen=True, eq=False, kw_only=True)
class Bonding:
    """Bonds that atoms may carry, counted in half bonds, and how hydrogens follow a change."""

    hydrogen: int  # label of hydrogen where hydrogens are nodes, else -1
    single: int  # label of a single bond
    orders: npt.NDArray[np.int32]  # half bonds of each edge label
    valences: npt.NDArray[np.int32]  # usual half bonds of each label, `[L, 3]`, increasing; 0 where there are no more
    right: npt.NDArray[np.int8]  # whether a label may carry so many, `[L, halves]`; 2 where only beside a charged atom
    charged: int  # label of nitrogen, charged when it carries four bonds; -1 if there is none, or labels say charges
    most: npt.NDArray[np.int32]  # half bonds that rdkit accepts at most, `[L]`

    def is_whole(
        self, labels: Sequence[int], edges: Sequence[tuple[int, int]], edge_labels: Sequence[int], bond: int
    ) -> bool:
        """Whether every atom of a group has an allowed number of bonds, the one to its anchor included."""
        used = np.zeros(len(labels), dtype=np.int64)
        used[0] = self.orders[bond]
        for (i, j), label in zip(edges, edge_labels, strict=True):
            used[[i, j]] += self.orders[label]
        charged = [label == self.charged and used[k] == 2 * CHARGED_NITROGEN for k, label in enumerate(labels)]
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
    """The bonding of a chemistry as tables, for edges with or without labels."""
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
    return Bonding(
        hydrogen=names.index("H") if chemistry.explicit_hydrogens and labelled else -1, single=BOND_NAMES.index("single"),
        charged=names.index("N") if "N" in names and not chemistry.has_types else -1, valences=valences, right=right,
        orders=(2 * orders).astype(np.int32), most=np.minimum(2 * chemistry.most_bonds, 10**6).astype(np.int32),
    )  # fmt: skip


# What a chemist looks at before making a molecule: lipophilicity, polar surface, weight, synthetic accessibility, structural alerts.


PROPERTIES = ("logp", "tpsa", "weight", "sa_score", "qed")
"""Crippen's logP, topological polar surface in Å², molecular weight, Ertl's synthetic accessibility, 1 easy to 10 hard, and Bickerton's drug-likeness, 0 to 1."""

_DRUG_LIKE = {"logp": (-1, 5), "tpsa": (0, 140), "weight": (0, 500), "sa_score": (1, 6), "qed": (0.3, 1)}
# Lipinski's and Veber's limits; Ertl calls molecules beyond 6 hard to make, and Bickerton unattractive drugs are around 0.3.

REACTIVE = ("BRENK", "unstable")
"""Alerts that changes may not bring: Brenk's reactive, unstable and toxic groups, and groups that fall apart or rearrange on their own."""

# What Brenk's catalog does not have, as compounds in catalogs are never of this kind, but changed molecules may be.
_UNSTABLE = {
    "carbonic_or_carbamic_acid": "[OX2,NX3][CX3](=O)[OX2H1]",
    "hemiacetal_or_hemiaminal": "[OX2H1][CX4][OX2,NX3,n]",
    "aminal_of_ammonia": "[NX3H2][CX4][OX2,NX3,n]",
    "halogen_beside_heteroatom": "[OX2H1,$([OX2]([#6])[#6]),$([NX3]);!$(OC(F)F)][CX4][F,Cl,Br,I]",
    "halogen_on_heteroatom": "[#7,#8][F,Cl,Br,I]",
    "enol": "[OX2H1][CX3]=[CX3]",
    "enamine_of_ammonia": "[NX3H2][CX3]=[CX3;!$(C[C,S,N]=[O,N])]",
    "enamine_of_a_ketone": "[NX3][CX3]([#6])=[CX3H2]",
    "trifluoromethyl_ketone": "[#6][CX3](=O)C(F)(F)F",
    "bond_across_a_ring_of_six": "[#6]1~[#6]~[#6]~2~[#6]~[#6]~[#6]~1~2",
    "acyl_cyanide": "[CX3](=O)C#N",
    "cumulene": "[CX2](=[#6])=[#6]",
    "oxon": "[PX4](=O)([OX2,SX2][#6])([OX2,SX2,NX3])[OX2,SX2,NX3]",
    "vinyl_on_heteroatom": "[#7,#8,#16][CX3H1]=[CX3H2]",
    "styrene_or_azadiene": "[c,$([CX3]=[NX2])][CX3H1]=[CX3H2]",
}

_CATALOGS = ("BRENK", "PAINS")
_DIGITS = {"logp": 2, "tpsa": 1, "weight": 1, "sa_score": 2, "qed": 2}
_MOST = 50  # molecules that a median is of


def properties_of(molecule: Mol) -> dict[str, float]:
    """Its `PROPERTIES`, rounded."""
    from rdkit.Chem import QED, Crippen, Descriptors, rdMolDescriptors
    from rdkit.Contrib.SA_Score import sascorer

    with without_logs():
        values = {
            "logp": Crippen.MolLogP(molecule),
            "tpsa": rdMolDescriptors.CalcTPSA(molecule),
            "weight": Descriptors.MolWt(molecule),
            "sa_score": sascorer.calculateScore(molecule),
            "qed": QED.qed(molecule),
        }
    return {name: round(float(value), _DIGITS[name]) for name, value in values.items()}


def num_strays(before: Mol, after: Mol) -> int:
    """How many properties of a molecule leave the range of drugs, or, where they lay outside, come farther from it."""
    was, now = properties_of(before), properties_of(after)
    return sum(
        max(low - now[name], now[name] - high) > max(low - was[name], was[name] - high, 0)
        for name, (low, high) in _DRUG_LIKE.items()
    )


def has_other_alerts(molecule: Mol, known: frozenset[str]) -> bool:
    """Whether a sanitised molecule has an alert (`REACTIVE`) besides some that are known."""
    with without_logs():
        return bool(_catalog_without(known).HasMatch(molecule))


@lru_cache(maxsize=1000)
def _catalog_without(known: frozenset[str]) -> Any:
    """The catalog of `REACTIVE` without some of its entries."""
    catalog = _catalog(REACTIVE)
    if not known:
        return catalog
    from rdkit.Chem import FilterCatalog

    other = FilterCatalog.FilterCatalog()
    for entry in (catalog.GetEntry(k) for k in range(catalog.GetNumEntries())):
        if entry.GetDescription() not in known:
            other.AddEntry(entry)
    return other


def alerts_of(molecule: Mol, catalogs: tuple[str, ...] = _CATALOGS) -> tuple[str, ...]:
    """Names of the structural alerts of a sanitised molecule, sorted; `catalogs` are rdkit's, and "unstable" is one of our own."""
    with without_logs():
        return tuple(sorted({match.GetDescription() for match in _catalog(catalogs).GetMatches(molecule)}))


@lru_cache(maxsize=5000)  # figures, tables and pages ask about the same molecules
def facts_of(graph: Graph, label_names: tuple[str, ...]) -> tuple[dict[str, float], frozenset[str]] | None:
    """Properties and alerts of a molecule; None where rdkit does not accept it."""
    molecule = sanitise(graph, label_names)
    return None if molecule is None else (properties_of(molecule), frozenset(alerts_of(molecule)))


def property_changes(
    before: Sequence[Graph], after: Sequence[Graph], label_names: Sequence[str]
) -> dict[str, Any] | None:
    """What changes do to the properties of some molecules: medians, and how many lose or gain alerts; None where none are molecules."""
    rises: dict[str, list[float]] = {name: [] for name in PROPERTIES}
    fewer = more = 0
    for one, other in list(zip(before, after, strict=True))[:_MOST]:
        old, new = facts_of(one, tuple(label_names)), facts_of(other, tuple(label_names))
        if old is None or new is None:
            continue
        for name in PROPERTIES:
            rises[name].append(new[0][name] - old[0][name])
        fewer += bool(old[1] - new[1])
        more += bool(new[1] - old[1])
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
