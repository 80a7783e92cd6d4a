"""Explain a PyG model of your own, from the data to the report, in about half a minute.

Cells begin with `# %%`: open it as a notebook in any editor that knows them, or run `python examples/own_model.py`. The text
around the cells is docs/tutorial_pyg.md. Needs the `notebook` extra.
"""

# %% Data: trees with coloured nodes; a tree with two red neighbours is of class 0, reject
import numpy as np
import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GINConv, global_add_pool
from torch_geometric.utils import to_undirected

COLOURS = ["red", "green", "blue"]


def coloured_tree(rng: np.random.Generator) -> Data:
    num_nodes = int(rng.integers(6, 11))
    colours = torch.from_numpy(rng.integers(0, 3, num_nodes))
    tree = torch.tensor([[int(rng.integers(node)), node] for node in range(1, num_nodes)]).T
    has_red_pair = (colours[tree] == 0).all(dim=0).any()
    x = nn.functional.one_hot(colours, 3).float()
    return Data(x=x, edge_index=to_undirected(tree), y=torch.tensor([0 if has_red_pair else 1]))


rng = np.random.default_rng(0)
graphs = [coloured_tree(rng) for _ in range(130)]
seen, unseen = graphs[:100], graphs[100:]


# %% Model: any torch module; this one has two GIN layers
class GIN(nn.Module):
    def __init__(self, num_features: int, width: int = 16) -> None:
        super().__init__()
        self.first = GINConv(nn.Sequential(nn.Linear(num_features, width), nn.ReLU(), nn.Linear(width, width)))
        self.second = GINConv(nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width)))
        self.scores = nn.Linear(width, 2)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        x = self.first(x, edge_index).relu()
        x = self.second(x, edge_index).relu()
        return self.scores(global_add_pool(x, batch))


torch.manual_seed(0)
model = GIN(len(COLOURS))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(40):
    for batch in DataLoader(seen, batch_size=32, shuffle=True):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(batch.x, batch.edge_index, batch.batch), batch.y).backward()
        optimizer.step()

# %% Explain it by rules
from comrecgc import CommonRecourseExplainer, Rules, Vectors, from_pyg

dataset = from_pyg(seen, label_names=COLOURS)
rules = (
    CommonRecourseExplainer(model, Rules(max_changes=1), theta=0.15, num_recourses=3, panel=False)
    .fit(dataset)
    .explanation_
)
for recourse in rules.recourses:
    print(f"{recourse.summary}: turns {recourse.statistics['accepted']} of {recourse.statistics['applicable']}")

# %% Explain it by vectors
from comrecgc.models import EmbedderTraining

explainer = CommonRecourseExplainer(
    model,
    Vectors(embedder=EmbedderTraining(effort=0.005), changes="any"),
    theta=0.15,
    num_recourses=5,
    random_state=0,
)
explanation = explainer.fit(dataset).explanation_
print(explanation)

# %% Look: one row a recourse
print(explanation.to_frame()[["summary", "gain", "coverage", "norm", "median_edits"]].to_string())
for name in ("coverage", "directional_coverage", "trivial_coverage"):
    print(f"{name} {explanation.metrics[name]:.0%}")

# %% One graph before and after
recourse = explanation.recourses[0]
recourse.plot(example=0).savefig("recourse.png")  # in a notebook: recourse.plot()
index = recourse.covered[0].input
print(f"graph {index}: probability of accept {recourse.covered[0].probability:.0%}, edits {recourse.covered[0].edits}")

# %% How many recourses are worth reading
from matplotlib.figure import Figure

figure = Figure(figsize=(5, 3), layout="constrained")
axes = figure.subplots()
axes.plot(range(1, len(explanation.recourses) + 1), explanation.coverage_curve, marker="o")
axes.set(xlabel="recourses", ylabel="share covered", ylim=(0, 1))
figure.savefig("curve.png")

# %% Keep it, show it
from comrecgc.explanation import Explanation
from comrecgc.report import write_report

explanation.save("run")
write_report(explanation, "run")  # run/report.html
assert Explanation.load("run") == explanation

# %% The same recourses on graphs that fit has not seen
applied = explainer.explain(unseen)
print(f"{applied.coverage:.0%} of {len(applied.inputs)} unseen rejects")
for index in applied.inputs:
    found = applied.covering(index)
    print(index, "not covered" if found is None else f"recourse {found[0] + 1}, {len(found[1].edits)} edits")
