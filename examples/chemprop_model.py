"""Explain a chemprop model: a message-passing network trained on a table of SMILES, asked as a function from SMILES to probabilities.

Cells begin with `# %%`: open it as a notebook in any editor that knows them, or run `python examples/chemprop_model.py`, with the path of
a table of your own if you have one: a column of SMILES and one of classes. Needs the `chem` and `notebook` extras, and
`pip install 'chemprop>=2.1'`.
"""

# %% Data: a table of molecules; without one, molecules made by code, of which half carry a nitro group, an epoxide or a nitrosamine
import csv
import logging
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import torch
from chemprop import data, models, nn
from lightning import pytorch as lightning

from comrecgc.data import from_smiles_table
from comrecgc.data import load_planted
from comrecgc.molecules import to_smiles

if len(sys.argv) > 1 and Path(sys.argv[1]).suffix in (".csv", ".tsv", ".smi", ".sdf"):
    table = Path(sys.argv[1])
else:
    table = Path(tempfile.mkdtemp()) / "molecules.csv"
    made = load_planted(num_graphs=100)
    with table.open("w", newline="", encoding="utf-8") as file:
        rows = zip((to_smiles(graph, made.label_names) for graph in made), made.classes.tolist(), strict=True)
        csv.writer(file).writerows([("smiles", "class"), *rows])
dataset = from_smiles_table(table, on_error="skip")
smiles = [to_smiles(graph, dataset.label_names) for graph in dataset]
print(dataset, *dataset.notes, sep="\n")

# %% Model: chemprop's own network, trained as its manual does; one of yours is `models.MPNN.load_from_file("model.pt")`
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
warnings.filterwarnings("ignore", module="lightning")
lightning.seed_everything(0, verbose=False)
points = [data.MoleculeDatapoint.from_smi(text, [float(y)]) for text, y in zip(smiles, dataset.classes, strict=True)]
network = models.MPNN(
    nn.BondMessagePassing(d_h=64, depth=3), nn.MeanAggregation(), nn.BinaryClassificationFFN(input_dim=64)
)
trainer = lightning.Trainer(
    max_epochs=60, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
    enable_model_summary=False,
)  # fmt: skip
trainer.fit(network, data.build_dataloader(data.MoleculeDataset(points), batch_size=32, seed=0))
network.eval()


def score(molecules: list[str]) -> np.ndarray:
    asked = data.MoleculeDataset([data.MoleculeDatapoint.from_smi(text) for text in molecules])
    with torch.inference_mode():
        parts = [network(batch.bmg) for batch in data.build_dataloader(asked, batch_size=512, shuffle=False)]
    return torch.cat(parts).flatten().numpy()  # the probability of class 1


# %% Explain; every changed molecule is asked about once
from comrecgc.models import as_classifier
from comrecgc import CommonRecourseExplainer, Rules

classifier = as_classifier(score, dataset, call="smiles", return_type="probs")
explainer = CommonRecourseExplainer(classifier, Rules(max_changes=1), num_recourses=10, panel=len(sys.argv) > 1)
explanation = explainer.fit(dataset).explanation_
print(explanation, *explanation.notes, *explanation.warnings, sep="\n")
for place, recourse in enumerate(explanation.recourses, start=1):
    known = recourse.statistics
    print(f"{place}. {recourse.summary}: {known['accepted']} of {known['applicable']}")
