"""Models of molecules: functions of SMILES and rdkit molecules, and networks with features of their own."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from comrecgc.data import GraphDataset
from comrecgc.data.smiles import from_smiles_table
from comrecgc.errors import InputError
from comrecgc.graphs import Graph, GraphBatch
from comrecgc.models import as_classifier, predict

pytest.importorskip("rdkit", reason="models of molecules need rdkit")

SMILES = ("CCO", "CCN", "c1ccccc1", "c1ccncc1", "CC(=O)O", "C[N+](C)(C)C", "c1cc[nH]c1", "CCCCl")


@pytest.fixture
def dataset(tmp_path: Path) -> GraphDataset:
    path = tmp_path / "mine.csv"
    path.write_text("smiles,y\n" + "".join(f"{smiles},{k % 2}\n" for k, smiles in enumerate(SMILES)))
    return from_smiles_table(path)


def has_oxygen(molecules: Sequence[str]) -> list[list[float]]:
    return [[0.1, 0.9] if "O" in smiles else [0.8, 0.2] for smiles in molecules]


def test_a_function_of_smiles(dataset: GraphDataset) -> None:
    classifier = as_classifier(has_oxygen, dataset, call="smiles")
    assert predict(classifier, dataset).accepted.tolist() == ["O" in smiles for smiles in SMILES]


def test_a_function_of_rdkit_molecules(dataset: GraphDataset) -> None:
    def is_large(molecules: Sequence[Any]) -> np.ndarray:
        return np.array([0.9 if molecule.GetNumAtoms() > 3 else 0.1 for molecule in molecules])

    classifier = as_classifier(is_large, dataset, call="molecules", return_type="probs")
    assert predict(classifier, dataset).accepted.tolist() == [graph.num_nodes > 3 for graph in dataset]


def test_every_molecule_is_asked_about_once_and_what_is_none_is_not_accepted(dataset: GraphDataset) -> None:
    asked: list[str] = []

    def score(molecules: Sequence[str]) -> list[list[float]]:
        asked.extend(molecules)
        return [[0.0, 1.0]] * len(molecules)

    classifier = as_classifier(score, dataset, call="smiles")
    asked.clear()
    five_bonds = Graph([dataset.label_names.index("C")] * 6, [(0, k) for k in range(1, 6)], [0] * 5)
    batch = GraphBatch.from_graphs([dataset[0], dataset[0], five_bonds, dataset[1]])
    assert classifier.accept_probability(batch).tolist() == [1.0, 1.0, 0.0, 1.0]
    assert sorted(asked) == ["CCN", "CCO"]
    classifier.accept_probability(batch)
    assert len(asked) == 2


def test_a_model_that_fails_on_one_molecule_loses_nothing(
    dataset: GraphDataset, caplog: pytest.LogCaptureFixture
) -> None:
    fails: list[str] = []

    def score(molecules: Sequence[str]) -> list[list[float]]:
        if set(fails) & set(molecules):
            raise ValueError("cannot read\nthat")
        return has_oxygen(molecules)

    classifier = as_classifier(score, dataset, call="smiles")
    fails.append("CCN")
    with caplog.at_level(logging.WARNING, logger="comrecgc"):
        assert predict(classifier, dataset).accepted.tolist() == ["O" in smiles for smiles in SMILES]
    (record,) = caplog.records
    assert record.getMessage().startswith(
        "The model failed on CCN: ValueError: cannot read that; it counts as not accepted"
    )
    tried = as_classifier(score, dataset, call="smiles")  # it fails on one of the molecules it is tried on, too
    assert predict(tried, dataset).accepted.tolist() == ["O" in smiles for smiles in SMILES]
    fails += SMILES
    with pytest.raises(InputError, match=r"The model failed on \S+: ValueError"):
        as_classifier(score, dataset, call="smiles")


class Gine(nn.Module):
    """A network with edge features."""

    def __init__(self) -> None:
        super().__init__()
        from torch_geometric.nn import GINEConv

        self.first = GINEConv(nn.Linear(3, 8), edge_dim=2)
        self.scores = nn.Linear(8, 2)

    def forward(
        self, x: torch.Tensor, edge_index: torch.Tensor, edge_attr: torch.Tensor, batch: torch.Tensor
    ) -> torch.Tensor:
        from torch_geometric.nn import global_add_pool

        out: torch.Tensor = self.scores(global_add_pool(self.first(x, edge_index, edge_attr).relu(), batch))
        return out


def featurise(molecule: Any) -> Any:
    """Atoms with degree, hydrogens and charge, bonds with order and ring."""
    from torch_geometric.data import Data

    x = [[atom.GetDegree(), atom.GetTotalNumHs(), atom.GetFormalCharge()] for atom in molecule.GetAtoms()]
    ends = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in molecule.GetBonds()]
    bonds = [[bond.GetBondTypeAsDouble(), float(bond.IsInRing())] for bond in molecule.GetBonds()]
    edges = torch.tensor([*ends, *((j, i) for i, j in ends)]).T
    return Data(x=torch.tensor(x, dtype=torch.float), edge_index=edges, edge_attr=torch.tensor(bonds * 2))


def test_a_network_with_features_of_its_own(dataset: GraphDataset) -> None:
    from rdkit import Chem
    from torch_geometric.data import Batch

    torch.manual_seed(0)
    model = Gine().eval()
    classifier = as_classifier(model, dataset, featurise=featurise, call="tensors", return_type="raw")
    batch = Batch.from_data_list([featurise(Chem.MolFromSmiles(smiles)) for smiles in SMILES])
    with torch.no_grad():
        wanted = model(batch.x, batch.edge_index, batch.edge_attr, batch.batch).softmax(dim=1)[:, 1]
    assert np.allclose(predict(classifier, dataset).probability, wanted.numpy(), atol=1e-6)


def test_only_molecules() -> None:
    other = GraphDataset(name="other", graphs=(Graph([0], []),), classes=np.zeros(1, np.int8), label_names=("helix",))
    with pytest.raises(InputError, match="need graphs of atoms"):
        as_classifier(has_oxygen, other, call="smiles")
