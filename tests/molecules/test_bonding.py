"""Changes of molecules whose hydrogens are nodes: hydrogens follow, valences are right, rdkit agrees, and so does the ladder."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from comrecgc.algorithms.rules.mining import Changes, ChangeScorer, Oracle
from comrecgc.algorithms.rules.reading import read_rule
from comrecgc.algorithms.rules.vocabulary import Vocabulary
from comrecgc.data import GraphDataset
from comrecgc.graphs import ChangedGraphs, Graph, GraphBatch, NeighbourIndex, Rung, carry_out
from comrecgc.graphs.rewriting import find_sites
from comrecgc.molecules import is_valid_molecule
from comrecgc.scoring.change_kernels import CUT, JOIN, REBOND, RELABEL, SWAP
from tests.algorithms.rules import oracles
from tests.stubs import Always

Chem = pytest.importorskip("rdkit.Chem")

NAMES = ("H", "C", "N", "O", "F", "Cl", "S")
MODEL = Always(0.3, len(NAMES))
SMILES = (
    "Cc1ccccc1", "Oc1ccccc1", "Nc1ccccc1", "Clc1ccccc1", "O=[N+]([O-])c1ccccc1", "O=[N+]([O-])c1ccc(C)cc1", "CCO", "CCCO", "CCN",
    "CC(=O)O", "CC(=O)N", "CC(C)C", "CCCl", "CC(F)(F)F", "FC(F)(F)c1ccccc1", "CC=C", "CC=O", "CC#N", "N#Cc1ccccc1", "CSC", "CS(=O)(=O)C",
    "C1CCCCC1", "C1CCNCC1", "c1ccncc1", "CN(C)C", "COC", "COc1ccccc1", "OCCO", "NCCN", "CC(N)C(=O)O", "C[N+](=O)[O-]", "SCC", "C1CC1",
)  # fmt: skip


def kekulised(smiles: str) -> Graph:
    """A molecule with its hydrogens as nodes and its rings in single and double bonds."""
    molecule = Chem.AddHs(Chem.MolFromSmiles(smiles))
    Chem.Kekulize(molecule, clearAromaticFlags=True)
    orders = {Chem.BondType.SINGLE: 0, Chem.BondType.DOUBLE: 1, Chem.BondType.TRIPLE: 2}
    rows = sorted(
        (*sorted((bond.GetBeginAtomIdx(), bond.GetEndAtomIdx())), orders[bond.GetBondType()])
        for bond in molecule.GetBonds()
    )
    labels = [NAMES.index(atom.GetSymbol()) for atom in molecule.GetAtoms()]
    return Graph(labels, [row[:2] for row in rows], [row[2] for row in rows])


@pytest.fixture(scope="module")
def data() -> GraphDataset:
    graphs = tuple(kekulised(smiles) for smiles in SMILES)
    return GraphDataset(
        name="molecules",
        graphs=graphs,
        classes=np.zeros(len(graphs), np.int8),
        label_names=NAMES,
        edge_label_names=("single", "double", "triple"),
    )


@pytest.fixture(scope="module")
def mined(data: GraphDataset) -> tuple[ChangeScorer, Changes]:
    vocabulary = Vocabulary.of(data, rung=Rung.PLAUSIBLE, theta=0.25, min_seen=1)
    scorer = ChangeScorer(inputs=data.graphs, vocabulary=vocabulary)
    return scorer, scorer.changes(Oracle(classifier=MODEL))


def changed_graphs(scorer: ChangeScorer, inputs: np.ndarray, changes: np.ndarray) -> ChangedGraphs:
    after, origins = scorer.built(inputs, changes)
    before = GraphBatch.from_graphs(scorer.inputs)
    start = np.repeat(before.node_ptr[inputs], after.node_counts())
    origin = np.concatenate(origins)
    return ChangedGraphs(
        before=before, after=after, source=inputs.astype(np.int64), origin=np.where(origin < 0, -1, origin + start)
    )


def test_there_are_changes_of_every_kind_that_leaves_hydrogens_to_follow(mined: tuple[ChangeScorer, Changes]) -> None:
    assert mined[0].vocabulary.bonding is not None
    assert mined[0].vocabulary.bonding.hydrogen == 0
    assert set(mined[1].change[:, 0, 0].tolist()) == {RELABEL, SWAP, JOIN, CUT, REBOND}


def test_every_result_is_a_molecule_and_plausible(mined: tuple[ChangeScorer, Changes]) -> None:
    scorer, changes = mined
    rows = np.random.default_rng(0).permutation(len(changes))[:1200]
    changed = changed_graphs(scorer, changes.input[rows], changes.change[rows])
    assert (scorer.vocabulary.ladder.rungs(changed) == Rung.PLAUSIBLE).all()
    assert all(is_valid_molecule(graph, NAMES) for graph in changed.after)
    valence = {"H": {1}, "C": {4}, "N": {3, 4}, "O": {1, 2}, "F": {1}, "Cl": {1}, "S": {2, 4, 6}}
    for graph in changed.after:
        assert graph.edge_labels is not None
        bonds = np.bincount(graph.edges.ravel(), np.repeat(graph.edge_labels + 1, 2), minlength=graph.num_nodes)
        assert all(bond in valence[NAMES[label]] for bond, label in zip(bonds, graph.labels, strict=True))


def test_every_change_is_the_rule_that_is_read_from_it(mined: tuple[ChangeScorer, Changes]) -> None:
    scorer, changes = mined
    rows = np.random.default_rng(1).permutation(len(changes))[:250]
    batch, origins = scorer.built(changes.input[rows], changes.change[rows])
    kinds = oracles.Kinds()
    number_of: dict[tuple[int, int], int] = {}
    for row, changed, origin in zip(rows, batch, origins, strict=True):
        graph = scorer.inputs[changes.input[row]]
        for radius in (0, 1):
            rule, site = read_rule(
                graph, changed, origin.tolist(), changes.change[row], scorer.vocabulary.groups, radius
            )
            assert oracles.same(oracles.to_networkx(carry_out(rule, graph, site)), oracles.to_networkx(changed))
            assert rule.cost == changes.cost[row]
            assert rule.size_change == changes.grown[row]
            assert next(find_sites(rule, NeighbourIndex(graph), frozenset(site)), None) is not None
            number = kinds.number(oracles.rule_graph(rule))
            assert number_of.setdefault((radius, int(changes.rule[row, radius])), number) == number


def test_the_ladder_judges_like_the_kernel(mined: tuple[ChangeScorer, Changes], data: GraphDataset) -> None:
    """Changes of heavy atoms as the lowest rung has them, hydrogens following: kernel and ladder agree which are plausible."""
    scorer = mined[0]
    same = scorer.vocabulary  # changes name groups by their place in it
    lowest = replace(same, rung=Rung.ANY, theta=0.15, bonding=None, offered=np.ones(len(same.groups), bool))
    loose = ChangeScorer(inputs=data.graphs, vocabulary=lowest)
    found = loose.changes(Oracle(classifier=MODEL))
    kind, first, second = found.change[:, 0, 0], found.change[:, 0, 1], found.change[:, 0, 2]
    labels = [graph.labels for graph in data.graphs]
    heavy = np.array([labels[i][v] != 0 and (k == SWAP or u < 0 or labels[i][u] != 0) for i, k, v, u in zip(
        found.input, kind, first, second, strict=True
    )])  # fmt: skip
    rows = np.flatnonzero(heavy & np.isin(kind, (RELABEL, SWAP, JOIN, CUT, REBOND)))
    rows = np.random.default_rng(2).permutation(rows)[:2500]
    plausible = np.isfinite(scorer.margins(MODEL, found.input[rows], found.change[rows]))
    rungs = scorer.vocabulary.ladder.rungs(changed_graphs(scorer, found.input[rows], found.change[rows]))
    assert 50 < plausible.sum() < len(rows) - 50
    assert np.array_equal(plausible, rungs == Rung.PLAUSIBLE)
