"""Compare two models on the same molecules: which rules hold for both, and which are a quirk of one?

Cells begin with `# %%`: open it as a notebook in any editor that knows them, or run `python examples/compare_models.py`.
"""

# %% Data and two models: molecules made by code, of which half carry a toxic group; a GCN and a GIN trained on the same classes
from comrecgc import ClassifierTraining, Rules
from comrecgc import CommonRecourseExplainer
from comrecgc import compare
from comrecgc import train_classifier
from comrecgc.data import load_planted

dataset = load_planted(num_graphs=100)
models = {
    name: train_classifier(dataset, ClassifierTraining(model=name, epochs=80, patience=60)).model
    for name in ("gcn", "gin")
}

# %% Explain both; a rule of one change names what the model looks at
explanations = {
    name: CommonRecourseExplainer(model, Rules(max_changes=1), num_recourses=4, panel=False).fit(dataset).explanation_
    for name, model in models.items()
}
for name, explanation in explanations.items():
    print(f"{name}: {explanation.coverage:.0%} of {len(explanation.inputs)} rejected molecules")

# %% Compare: every rule is looked up in the tables of both runs, so its figures are known where it was not chosen
comparison = compare(*explanations.values(), names=list(explanations))
print(comparison.to_markdown())
