"""Explain a random forest on fingerprints: a table of molecules in, rules in words out, in about a minute.

Cells begin with `# %%`: open it as a notebook in any editor that knows them, or run `python examples/fingerprint_forest.py`, with the path of
a table of your own if you have one: a column of SMILES and one of classes. Needs the `chem` and `notebook` extras.
"""

# %% Data: a table of molecules; without one, molecules made by code, of which half carry a nitro group, an epoxide or a nitrosamine
import csv
import sys
import tempfile
from pathlib import Path

import numpy as np
from rdkit import Chem, DataStructs
from rdkit.Chem import rdFingerprintGenerator
from sklearn.ensemble import RandomForestClassifier

from comrecgc.data import from_smiles_table
from comrecgc.data import load_planted
from comrecgc.molecules import to_smiles

if len(sys.argv) > 1 and Path(sys.argv[1]).suffix in (".csv", ".tsv", ".smi", ".sdf"):
    table = Path(sys.argv[1])
else:
    table = Path(tempfile.mkdtemp()) / "molecules.csv"
    made = load_planted(num_graphs=70)
    with table.open("w", newline="", encoding="utf-8") as file:
        rows = zip((to_smiles(graph, made.label_names) for graph in made), made.classes.tolist(), strict=True)
        csv.writer(file).writerows([("smiles", "class"), *rows])
dataset = from_smiles_table(table, on_error="skip")
smiles = [to_smiles(graph, dataset.label_names) for graph in dataset]
print(dataset, *dataset.notes, sep="\n")

# %% Model: Morgan fingerprints and a random forest; the explained function goes from a list of SMILES to probabilities
morgan = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=1024)


def fingerprints(molecules: list[str]) -> np.ndarray:
    bits = np.zeros((len(molecules), 1024), dtype=np.uint8)
    for row, text in zip(bits, molecules, strict=True):
        DataStructs.ConvertToNumpyArray(morgan.GetFingerprint(Chem.MolFromSmiles(text)), row)
    return bits


forest = RandomForestClassifier(50, class_weight="balanced", min_samples_leaf=2, random_state=0, n_jobs=1)
forest.fit(fingerprints(smiles), dataset.classes)


def score(molecules: list[str]) -> np.ndarray:
    return forest.predict_proba(fingerprints(molecules))


# %% Explain; rules of one change, among groups that are common in the table
from comrecgc.models import as_classifier
from comrecgc import CommonRecourseExplainer, Rules

classifier = as_classifier(score, dataset, call="smiles")
explainer = CommonRecourseExplainer(classifier, Rules(max_changes=1), num_recourses=10, panel=len(sys.argv) > 1)
explanation = explainer.fit(dataset).explanation_
print(explanation, *explanation.notes, *explanation.warnings, sep="\n")
for place, recourse in enumerate(explanation.recourses, start=1):
    known = recourse.statistics
    confirmed = "" if known["confirmed"] is None else f", {known['confirmed']} confirmed"
    print(f"{place}. {recourse.summary}: {known['accepted']} of {known['applicable']}{confirmed}")

# %% One molecule: before, after, and the reaction that leads there
first = explanation.recourses[0]
member = first.covered[0]
print(to_smiles(explanation.inputs[member.input].graph, dataset.label_names), "becomes")
print(to_smiles(member.counterfactual, dataset.label_names), "by", first.smirks)

# %% Files: recourses.csv, molecules.csv (SMILES, properties and alerts before and after), explanation.json; and an SDF file
folder = table.parent / f"{table.stem}-forest" if len(sys.argv) == 1 else Path(f"{table.stem}-forest")
explanation.save(folder)
explanation.to_sdf(folder / "molecules.sdf")
