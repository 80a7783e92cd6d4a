"""Keep a scaffold: rules that leave a part of every molecule as it is, given as SMARTS.

Cells begin with `# %%`: open it as a notebook in any editor that knows them, or run `python examples/protect_scaffold.py`. Needs the
`chem` extra.
"""

# %% Data and model: a table of molecules made by code, of which half carry a toxic group, and a GCN trained on it
import csv
import tempfile
from pathlib import Path

from comrecgc import ClassifierTraining, Rules
from comrecgc import CommonRecourseExplainer
from comrecgc import train_classifier
from comrecgc.data import from_smiles_table
from comrecgc.data import load_planted
from comrecgc.molecules import to_smiles

made = load_planted(num_graphs=70)
table = Path(tempfile.mkdtemp()) / "molecules.csv"
with table.open("w", newline="", encoding="utf-8") as file:
    rows = zip((to_smiles(graph, made.label_names) for graph in made), made.classes.tolist(), strict=True)
    csv.writer(file).writerows([("smiles", "class"), *rows])
dataset = from_smiles_table(table)
model = train_classifier(dataset, ClassifierTraining(epochs=80, patience=60)).model

# %% Explain twice: as it is, and with every nitro group kept, which we suppose the compound cannot do without
KEPT = ["[N+](=O)[O-]"]
free = CommonRecourseExplainer(model, Rules(max_changes=1), num_recourses=4, panel=False).fit(dataset).explanation_
kept = (
    CommonRecourseExplainer(model, Rules(max_changes=1, protect=KEPT), num_recourses=4, panel=False)
    .fit(dataset)
    .explanation_
)
for title, explanation in (("any place", free), ("nitro groups kept", kept)):
    print(f"{title}: {explanation.coverage:.0%} of {len(explanation.inputs)} rejected molecules")
    for recourse in explanation.recourses:
        print(f"  {recourse.summary}: {recourse.gain} more")
