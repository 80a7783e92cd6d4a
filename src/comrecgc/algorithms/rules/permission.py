"""Which changed molecules count: those that rdkit accepts with their labels, that gain no charge and no structural alert, and that keep to a
chemist's wishes. Results of a molecule that rdkit does not accept before the change always count; archives have some.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from comrecgc.algorithms.rules.vocabulary import Group
from comrecgc.graphs import (
    BoolArray,
    ChangedGraphs,
    Graph,
    GraphBatch,
    IntArray,
    NeighbourIndex,
    Rule,
    can_be_carried_out,
    carry_out,
    distinct_sites,
)
from comrecgc.molecules import (
    BOND_NAMES,
    REACTIVE,
    MolecularChemistry,
    SmartsWishes,
    alerts_of,
    has_other_alerts,
    num_strays,
    sanitise,
)
from comrecgc.run import UNLIMITED, RunContext
from comrecgc.scoring import change_kernels

if TYPE_CHECKING:
    from rdkit.Chem import Mol

    from comrecgc.algorithms.rules.mining import ChangeScorer


MOST_PLACES = 256
"""Most sites of a rule in one molecule that are checked against wishes."""
_SINGLE = 0


@dataclass(frozen=True, eq=False, kw_only=True)
class MolecularPermission:
    """Checks changed molecules one by one, except for kinds of change that are certainly fine.

    Groups that hang on a single bond, carry no charge and are no alert leave valences, which are checked before, and aromaticity as they are. Beside
    heteroatoms they may still be one: a hydroxy on the carbon of an ether is a hemiacetal.
    Where labels are atom types, a group takes the place only of one that hangs on the same kind of bond: "=O by propyl" is no exchange of groups
    but another carbon.
    """

    chemistry: MolecularChemistry  # the chemistry of the data
    wishes: SmartsWishes = field(default_factory=SmartsWishes)  # what a chemist wants
    # Whether a result may have no structural alert (`REACTIVE`) that the molecule had not before
    avoid_alerts: bool = True
    keep_druglike: bool = False  # whether properties of a result must stay in the range of drugs (`num_strays`)

    def allowed(
        self, scorer: ChangeScorer, inputs: IntArray, changes: IntArray, context: RunContext = UNLIMITED
    ) -> tuple[BoolArray, IntArray]:
        """Which rows of changes `[V, k, 4]` count, whatever the model answers, `[V]`, and the inputs that there was no time for.

        Inputs are checked in random order, so that those checked by the deadline are a fair sample. Rows of the others do not count.
        """
        mask = np.ones(len(inputs), bool)
        order = np.argsort(inputs, kind="stable")
        bounds = np.searchsorted(inputs[order], np.arange(len(scorer.inputs) + 1))
        unusual = self._unusual(scorer.vocabulary.groups)
        hetero = np.array([not self.chemistry.carbons[group.labels[0]] for group in scorer.vocabulary.groups] + [False])
        trying = np.random.default_rng(0).permutation(len(scorer.inputs)).astype(np.int32)
        for done, i in enumerate(trying.tolist()):
            if context.is_late:
                untried = np.sort(trying[done:])
                mask[np.isin(inputs, untried)] = False
                return mask, untried
            rows = order[bounds[i] : bounds[i + 1]]
            if not len(rows):
                continue
            graph = scorer.inputs[i]
            if self.chemistry.has_types:
                mask[rows] = self._can_be_made(graph, changes[rows], scorer.vocabulary.groups)
                rows = rows[mask[rows]]
            if self.chemistry.has_types and not (self.wishes or self.keep_druglike):
                rows = rows[self._in_doubt(graph, changes[rows], unusual, hetero)]
            if len(rows):
                batch, origin = scorer.changed(i, changes[rows])
                mask[rows] = self.permits(graph, batch, origin)
            context.show_progress("checking molecules", done + 1, len(scorer.inputs))
        return mask, np.zeros(0, np.int32)

    def permits(self, graph: Graph, batch: GraphBatch, origin: IntArray) -> BoolArray:
        """Which results of one molecule count; `origin` is the original atom of each atom, -1 for new ones."""
        names = self.chemistry.label_names
        changed = ChangedGraphs(
            before=GraphBatch.from_graphs([graph]),
            after=batch,
            source=np.zeros(len(batch), np.int64),
            origin=np.asarray(origin, np.int64),
        )
        mask = self.chemistry.keeps_charge(changed)
        old, alerts = _molecule_before(graph, names)
        for k in np.flatnonzero(mask).tolist() if old is not None or self.wishes else ():
            after = batch[k]
            molecule = sanitise(after, names)
            mask[k] = (molecule is not None) or old is None
            if old is not None and molecule is not None:
                mask[k] = not (self.avoid_alerts and has_other_alerts(molecule, alerts))
                mask[k] = mask[k] and not (self.keep_druglike and num_strays(old, molecule))
            if mask[k] and self.wishes:
                mask[k] = self.wishes.allows(
                    graph, _named(after, origin[batch.node_ptr[k] : batch.node_ptr[k + 1]]), names
                )
        return mask

    def strays(self, scorer: ChangeScorer, inputs: IntArray, changes: IntArray) -> list[int]:
        """How many properties of each changed molecule leave the range of drugs (`num_strays`); 0 if rdkit cannot read it."""
        found, names = [], self.chemistry.label_names
        for place, change in zip(inputs.tolist(), changes, strict=True):
            batch, _ = scorer.changed(place, change[None])
            before, after = sanitise(scorer.inputs[place], names), sanitise(batch[0], names)
            found.append(0 if before is None or after is None else num_strays(before, after))
        return found

    def permits_results(self, graph: Graph, results: Sequence[Graph]) -> BoolArray:
        """Which results, whose kept atoms have their former ids, keep to the wishes."""
        names = self.chemistry.label_names
        return np.array([not self.wishes or self.wishes.allows(graph, result, names) for result in results], bool)

    def _unusual(self, groups: Sequence[Group]) -> BoolArray:
        """Groups that do not hang on a single bond, are charged, or are an alert on an aliphatic or aromatic carbon, `[2, G + 1]`.

        The first row is about aliphatic anchors, the second about aromatic ones; the last column is for no group.
        """
        charges = self.chemistry.charges
        facts = np.zeros((2, len(groups) + 1), bool)
        for place, group in enumerate(groups):
            facts[:, place] = group.bond != _SINGLE or charges[list(group.labels)].sum() != 0
            if self.avoid_alerts:
                facts[0, place] |= is_alert(group, self.chemistry.label_names)
                facts[1, place] |= is_alert(group, self.chemistry.label_names, on_aromatic=True)
        return facts

    def _can_be_made(self, graph: Graph, changes: IntArray, groups: Sequence[Group]) -> BoolArray:
        """Rows of changes that can be made by synthesis, `[V]`.

        A group that is swapped leaves the bond it hangs on to the other. A carbon with several halogens loses them together. To an aliphatic carbon only
        single atoms are attached: larger groups ask for another way to the molecule.
        """
        bonds = np.full((graph.num_nodes, graph.num_nodes), -1)
        if graph.edge_labels is not None:
            bonds[graph.edges[:, 0], graph.edges[:, 1]] = bonds[graph.edges[:, 1], graph.edges[:, 0]] = (
                graph.edge_labels
            )
        hangs_on = np.array([group.bond for group in groups] or [_SINGLE])
        swaps = changes[:, :, 0] == change_kernels.SWAP
        first, second, value = (np.where(swaps, changes[:, :, k], 0) for k in (1, 2, 3))
        mask: BoolArray = (~swaps | (bonds[first, second] == hangs_on[value])).all(axis=1)
        kind, halogens = changes[:, :, 0], self.chemistry.halogens[graph.labels]
        first, second = np.maximum(changes[:, :, 1], 0), np.maximum(changes[:, :, 2], 0)
        beside = sum(
            np.bincount(graph.edges[:, side], halogens[graph.edges[:, 1 - side]], minlength=graph.num_nodes)
            for side in (0, 1)
        )
        takes = swaps | (kind == change_kernels.DETACH)
        mask &= ~(takes & halogens[second] & (np.asarray(beside)[first] > 1)).any(axis=1)
        is_large = np.array([len(group.labels) > 1 for group in groups] or [False])
        aliphatic = (self.chemistry.carbons & ~self.chemistry.aromatic)[graph.labels[first]]
        attached = np.where(kind == change_kernels.ATTACH, changes[:, :, 3], 0)
        mask &= ~((kind == change_kernels.ATTACH) & aliphatic & is_large[attached]).any(axis=1)
        return mask

    def _in_doubt(self, graph: Graph, changes: IntArray, unusual: BoolArray, hetero: BoolArray) -> BoolArray:
        """Rows to check, `[V]`: those of groups that are unusual or begin with a heteroatom."""
        changing = change_kernels
        if self.chemistry.charges[graph.labels].any():
            return np.ones(len(changes), bool)
        bonds = np.zeros((graph.num_nodes, graph.num_nodes), bool)
        if graph.edge_labels is not None:
            multiple = graph.edges[graph.edge_labels != _SINGLE]
            bonds[multiple[:, 0], multiple[:, 1]] = bonds[multiple[:, 1], multiple[:, 0]] = True
        kind, first, second, value = (changes[:, :, k] for k in range(4))
        takes = (kind == changing.DETACH) | (kind == changing.SWAP)
        gives = (kind == changing.ATTACH) | (kind == changing.SWAP)
        doubt = (kind == changing.RELABEL) | (kind >= changing.JOIN)
        doubt |= takes & bonds[np.maximum(first, 0), np.maximum(second, 0)]
        aromatic = self.chemistry.aromatic[graph.labels[np.maximum(first, 0)]].astype(np.int64)
        doubt |= gives & unusual[aromatic, np.where(gives, value, -1)]
        if self.avoid_alerts:
            doubt |= (gives | takes) & self._beside_heteroatoms(graph)[np.maximum(first, 0)]
            # On a ring, one heteroatom may make an alert with another: a hydroxy beside a hydroxy is a catechol.
            doubt |= gives & (aromatic > 0) & hetero[np.where(gives, value, -1)]
        return np.asarray(doubt.any(axis=1))

    def _beside_heteroatoms(self, graph: Graph) -> BoolArray:
        """Atoms that are no carbon, and aliphatic ones that have a neighbour that is none, `[n]`."""
        other = ~self.chemistry.carbons[graph.labels]
        mask = other.copy()
        for side in range(2):
            mask[graph.edges[other[graph.edges[:, 1 - side]], side]] = True
        return other | (mask & ~self.chemistry.aromatic[graph.labels])


def can_be_carried_out_within(rule: Rule, graph: Graph, wishes: SmartsWishes, label_names: Sequence[str]) -> bool:
    """Whether a rule can be carried out somewhere in a molecule without breaking a chemist's wishes."""
    if not wishes:
        return can_be_carried_out(rule, graph)
    sites = distinct_sites(rule, NeighbourIndex(graph), MOST_PLACES)
    return any(wishes.allows(graph, carry_out(rule, graph, site), label_names) for site in sites)


@lru_cache(maxsize=5000)
def _molecule_before(graph: Graph, label_names: tuple[str, ...]) -> tuple[Mol | None, frozenset[str]]:
    """A molecule before its changes, which come in several rounds, and its alerts (`REACTIVE`)."""
    molecule = sanitise(graph, label_names)
    return molecule, frozenset() if molecule is None else frozenset(alerts_of(molecule, REACTIVE))


@cache
def is_alert(group: Group, label_names: Sequence[str], *, on_aromatic: bool = False) -> bool:
    """Whether a group on the carbon of methane, or of benzene, is a structural alert, or no molecule at all; not known without carbon."""
    name = "c" if on_aromatic else "C"
    if name not in label_names:
        return False
    carbon, size = label_names.index(name), 6 if on_aromatic else 1
    ring = [(k, (k + 1) % 6) for k in range(6)] if on_aromatic else []
    aromatic = BOND_NAMES.index("aromatic")
    graph = Graph(
        [*([carbon] * size), *group.labels],
        [*ring, (0, size), *((i + size, j + size) for i, j in group.edges)],
        [*([aromatic] * len(ring)), group.bond, *group.edge_labels],
    )
    molecule = sanitise(graph, label_names)
    return molecule is None or bool(alerts_of(molecule, REACTIVE))


def _named(graph: Graph, origin: IntArray) -> Graph:
    """A changed graph whose kept nodes have the ids of the nodes they were, new ones larger ids."""
    kept = [k for k in range(graph.num_nodes) if origin[k] >= 0]
    order = [*sorted(kept, key=lambda k: int(origin[k])), *(k for k in range(graph.num_nodes) if origin[k] < 0)]
    moved = graph.permute(np.array(order))
    first_new = int(max(origin.max(initial=-1) + 1, 0)) + 1_000
    new = range(first_new, first_new + graph.num_nodes - len(kept))
    ids = np.array([*(int(origin[k]) for k in order if origin[k] >= 0), *new], np.int32)
    return Graph.assemble(moved.labels, moved.edges, moved.edge_labels, ids, first_new + graph.num_nodes)
