from __future__ import annotations

import hashlib
import itertools
from collections import Counter
from typing import Any

import networkx as nx
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.tree import DecisionTreeClassifier

from comrecgc.data import PlantedDataset, find_toxicophores, load_planted
from comrecgc.data.planted import ELEMENTS
from comrecgc.errors import InputError
from comrecgc.graphs import Edit, EditKind, Graph, apply_edit, graph_key, to_networkx
from comrecgc.molecules import FunctionalGroup, is_valid_molecule, to_rdkit
from comrecgc.molecules.smiles import from_smiles
from tests.data.true_recourses import true_recourses

PATTERNS = {"nitro": "[N+](=O)[O-]", "epoxide": "C1OC1", "nitrosamine": "[NX3]-[NX2]=O"}


@pytest.fixture(scope="module")
def planted() -> PlantedDataset:
    return load_planted()


def apply(graph: Graph, edits: tuple[Edit, ...]) -> Graph:
    for edit in edits:
        graph = apply_edit(graph, edit)
    return graph


def test_half_of_the_molecules_are_rejected(planted: PlantedDataset) -> None:
    assert len(planted) == 600
    assert planted.classes.sum() == 300
    assert planted.is_molecular
    assert [bool(found) for found in planted.toxicophores] == (planted.classes == 0).tolist()
    kinds = Counter(toxicophore.name for found in planted.toxicophores for toxicophore in found)
    assert min(kinds.values()) > 80
    assert {len(found) for found in planted.toxicophores} == {0, 1}


def test_molecules_are_connected_distinct_and_of_moderate_size(planted: PlantedDataset) -> None:
    assert {graph.num_nodes for graph in planted} == set(range(10, 31))
    assert all(nx.is_connected(to_networkx(graph)) for graph in planted)
    assert len({graph_key(graph) for graph in planted}) == len(planted)


def test_molecules_are_valid(planted: PlantedDataset) -> None:
    pytest.importorskip("rdkit", reason="checking molecules needs rdkit")
    assert all(is_valid_molecule(graph, planted.label_names) for graph in planted)


def test_toxicophores_are_those_a_chemist_would_find(planted: PlantedDataset) -> None:
    chem = pytest.importorskip("rdkit.Chem", reason="substructure search needs rdkit")
    patterns = {kind: chem.MolFromSmarts(smarts) for kind, smarts in PATTERNS.items()}
    for graph, found in zip(planted, planted.toxicophores, strict=True):
        molecule = to_rdkit(graph, planted.label_names)
        chem.SanitizeMol(molecule)
        matches = {
            (kind, frozenset(match))
            for kind, pattern in patterns.items()
            for match in molecule.GetSubstructMatches(pattern)
        }
        assert {(toxicophore.name, frozenset(toxicophore.nodes)) for toxicophore in found} == matches


def test_bits_never_change(planted: PlantedDataset) -> None:
    digest = hashlib.sha256()
    for graph in planted:
        for array in (graph.labels, graph.edges, graph.edge_labels):
            assert array is not None
            digest.update(array.astype("<i4").tobytes())
    assert digest.hexdigest() == "d972f9088d46325ac1ccac92ff5754a72c6f3a5a7e34e0692a463212e115f9f7"


def test_seeds_and_sizes() -> None:
    assert list(load_planted(num_graphs=20)) == list(load_planted())[:20]
    assert list(load_planted(1, num_graphs=20)) != list(load_planted(num_graphs=20))
    assert load_planted(1, num_graphs=21).classes.tolist() == [0, 1] * 10 + [0]


def test_true_recourses_leave_no_toxicophore_and_valid_molecules(planted: PlantedDataset) -> None:
    pytest.importorskip("rdkit", reason="checking molecules needs rdkit")
    for graph, found in zip(planted, planted.toxicophores, strict=True):
        for choice in itertools.product(*(true_recourses(toxicophore).values() for toxicophore in found)):
            healed = apply(graph, tuple(itertools.chain(*choice)))
            assert not find_toxicophores(healed)
            assert is_valid_molecule(healed, planted.label_names)


def test_healing_one_of_two_is_not_enough() -> None:
    overlapping = load_planted(num_graphs=120, several=True)
    assert {len(found) > 1 for found in overlapping.toxicophores[::2]} == {True}
    assert not any(overlapping.toxicophores[1::2])
    pairs = [
        (graph, found) for graph, found in zip(overlapping, overlapping.toxicophores, strict=True) if len(found) == 2
    ]
    assert pairs
    for graph, (first, second) in pairs:
        for edits in true_recourses(first).values():
            assert second in find_toxicophores(apply(graph, edits))


def test_counting_atoms_does_not_tell_the_classes_apart(planted: PlantedDataset) -> None:
    counts = np.stack([np.bincount(graph.labels, minlength=planted.num_labels) for graph in planted])
    sizes = np.array([(graph.num_nodes, graph.num_edges) for graph in planted])
    for features in (counts, np.hstack([counts, sizes])):
        for model in (LogisticRegression(max_iter=10_000), DecisionTreeClassifier(max_depth=1)):
            assert cross_val_score(model, features, planted.classes, cv=5).mean() < 0.68
    for label_class in (0, 1):
        assert (counts[planted.classes == label_class] > 0).any(axis=0).all()  # every element occurs in both


def test_subsets_carry_their_toxicophores(planted: PlantedDataset) -> None:
    chosen = planted.subset([4, 1, 2])
    assert chosen.toxicophores == tuple(planted.toxicophores[i] for i in (4, 1, 2))
    assert isinstance(planted[:5], PlantedDataset)
    assert repr(planted).startswith("GraphDataset('planted', graphs=600")


@pytest.mark.parametrize(("options", "message"), [({"seed": -1}, "seed"), ({"num_graphs": 1}, "num_graphs")])
def test_bad_choices(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=rf"^{message} must .* \(got -?1\)"):
        load_planted(**options)


@pytest.mark.parametrize(
    ("smiles", "found"),
    [
        ("C[N+](=O)[O-]", [FunctionalGroup("nitro", (1, 2, 3))]),
        ("c1ccccc1[N+](=O)[O-]", [FunctionalGroup("nitro", (6, 7, 8))]),
        ("C1OC1C", [FunctionalGroup("epoxide", (1, 0, 2))]),
        ("C1CCC2OC2C1", [FunctionalGroup("epoxide", (4, 3, 5))]),
        ("CN(C)N=O", [FunctionalGroup("nitrosamine", (1, 3, 4))]),
        ("O=NN(C)CC1CO1", [FunctionalGroup("epoxide", (7, 5, 6)), FunctionalGroup("nitrosamine", (2, 1, 0))]),
        ("[O-][N+](=O)C[N+](=O)[O-]", [FunctionalGroup("nitro", (1, 0, 2)), FunctionalGroup("nitro", (4, 5, 6))]),
        ("CC(=O)O", []),
        ("CC=NO", []),
        ("CN=O", []),
        ("CNN", []),
        ("CN(C)C=O", []),
        ("C1CC1O", []),
        ("C1COC1", []),
        ("CON", []),
        ("CON(C)OC", []),
        ("C1NC1", []),
        ("CN(C)N(C)O", []),
    ],
)
def test_known_molecules(smiles: str, found: list[FunctionalGroup]) -> None:
    pytest.importorskip("rdkit", reason="SMILES need rdkit")
    assert find_toxicophores(from_smiles(smiles, ELEMENTS)) == tuple(found)


def test_nodes_are_ids_not_positions() -> None:
    pytest.importorskip("rdkit", reason="SMILES need rdkit")
    graph = apply_edit(from_smiles("CC[N+](=O)[O-]", ELEMENTS), Edit(EditKind.REMOVE_NODE, 0))
    assert find_toxicophores(graph) == (FunctionalGroup("nitro", (2, 3, 4)),)
