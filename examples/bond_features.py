"""Explain a network with features of its own: a GINE on nine features of each atom and three of each bond, as Open Graph Benchmark defines them.

Cells begin with `# %%`: open it as a notebook in any editor that knows them, or run `python examples/bond_features.py`, with the path of
a table of your own if you have one: a column of SMILES and one of classes. Needs the `chem` and `notebook` extras.
"""

# %% Data: a table of molecules; without one, molecules made by code, of which half carry a nitro group, an epoxide or a nitrosamine
import csv
import sys
import tempfile
from pathlib import Path

import torch
from rdkit import Chem
from torch import Tensor
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GINEConv, global_add_pool
from torch_geometric.utils import from_rdmol

from comrecgc.data import from_smiles_table
from comrecgc.data import load_planted
from comrecgc.molecules import to_smiles

if len(sys.argv) > 1 and Path(sys.argv[1]).suffix in (".csv", ".tsv", ".smi", ".sdf"):
    table = Path(sys.argv[1])
else:
    table = Path(tempfile.mkdtemp()) / "molecules.csv"
    made = load_planted(num_graphs=40)
    with table.open("w", newline="", encoding="utf-8") as file:
        rows = zip((to_smiles(graph, made.label_names) for graph in made), made.classes.tolist(), strict=True)
        csv.writer(file).writerows([("smiles", "class"), *rows])
dataset = from_smiles_table(table, on_error="skip")
print(dataset, *dataset.notes, sep="\n")

# %% Model: features are whole numbers, each with an embedding of its own; `from_rdmol` makes those of a molecule
HIGHEST_ATOM, HIGHEST_BOND = (119, 9, 11, 12, 9, 5, 8, 2, 2), (22, 6, 2)


class Embeddings(torch.nn.Module):
    def __init__(self, sizes: tuple[int, ...], width: int) -> None:
        super().__init__()
        self.columns = torch.nn.ModuleList(torch.nn.Embedding(size, width) for size in sizes)

    def forward(self, features: Tensor) -> Tensor:
        return sum(column(features[:, k]) for k, column in enumerate(self.columns))


class BondNetwork(torch.nn.Module):
    def __init__(self, width: int = 32, num_layers: int = 3) -> None:
        super().__init__()
        self.atoms = Embeddings(HIGHEST_ATOM, width)
        self.bonds = torch.nn.ModuleList(Embeddings(HIGHEST_BOND, width) for _ in range(num_layers))
        self.layers = torch.nn.ModuleList(
            GINEConv(torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.ReLU(), torch.nn.Linear(width, width)))
            for _ in range(num_layers)
        )
        self.head = torch.nn.Linear(width, 2)

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor, batch: Tensor) -> Tensor:
        x = self.atoms(x)
        for layer, bonds in zip(self.layers, self.bonds, strict=True):
            x = x + layer(x, edge_index, bonds(edge_attr)).relu()
        return self.head(global_add_pool(x, batch))


torch.manual_seed(0)
model = BondNetwork()
data = [from_rdmol(Chem.MolFromSmiles(to_smiles(graph, dataset.label_names))) for graph in dataset]
for one, target in zip(data, dataset.classes.tolist(), strict=True):
    one.y = torch.tensor([target])
optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
for _ in range(40):
    for batch in DataLoader(data, batch_size=32, shuffle=True):
        optimizer.zero_grad()
        logits = model(batch.x, batch.edge_index, batch.edge_attr, batch.batch)
        torch.nn.functional.cross_entropy(logits, batch.y).backward()
        optimizer.step()

# %% Explain: `featurise` makes what the network takes of every changed molecule
from comrecgc.models import as_classifier
from comrecgc import CommonRecourseExplainer, Rules

classifier = as_classifier(model, dataset, featurise=from_rdmol, call="tensors", return_type="raw")
explainer = CommonRecourseExplainer(classifier, Rules(max_changes=1), num_recourses=10, panel=len(sys.argv) > 1)
explanation = explainer.fit(dataset).explanation_
print(explanation, *explanation.notes, *explanation.warnings, sep="\n")
for place, recourse in enumerate(explanation.recourses, start=1):
    known = recourse.statistics
    print(f"{place}. {recourse.summary}: {known['accepted']} of {known['applicable']}")
