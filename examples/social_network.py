"""Explain a classifier of social networks, whose nodes have no labels: what makes a circle of friends an open one?

Cells begin with `# %%`: open it as a notebook in any editor that knows them, or run `python examples/social_network.py`.
"""

# %% Data: circles of friends in which nearly all know each other; in class 0 there are newcomers, who know one person only
import networkx as nx
import numpy as np
import torch
from torch_geometric.utils import from_networkx

rng = np.random.default_rng(0)


def circle(newcomers: int) -> nx.Graph:
    size = int(rng.integers(5, 8))
    graph = nx.complete_graph(size)
    graph.remove_edge(*rng.choice(size, 2, replace=False).tolist())
    graph.add_edges_from((int(rng.integers(size)), size + place) for place in range(newcomers))
    return graph


graphs = []
for place in range(80):
    data = from_networkx(circle(newcomers=0 if place % 2 else 1 + place % 4 // 2))
    data.y = torch.tensor([place % 2])
    graphs.append(data)

# %% Model: one of the package's own; every node has the same label, so it can only see who knows whom
from comrecgc import ClassifierTraining, Rules
from comrecgc import from_pyg
from comrecgc import train_classifier

dataset = from_pyg(graphs, name="circles", label_names=["person"], class_names=("newcomers", "closed"))
trained = train_classifier(dataset, ClassifierTraining(model="gin", epochs=150, patience=50))
print({part: f"{share:.0%}" for part, share in trained.accuracy.items()})

# %% Explain: plausible changes are those after which everybody looks like somebody in the data
from comrecgc import CommonRecourseExplainer

explainer = CommonRecourseExplainer(trained.model, Rules(max_changes=1), num_recourses=3, theta=0.2, panel=False)
explanation = explainer.fit(dataset).explanation_
print(explanation)
for recourse in explanation.recourses:
    known = recourse.statistics
    print(
        f"{recourse.summary}: turns {known['accepted']} of the {known['applicable']} networks it can be carried out on"
    )
