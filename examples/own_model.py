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
graphs = [coloured_tree(rng) for _ in range(500)]
seen, unseen = graphs[:400], graphs[400:]


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
for _ in range(20):
    for batch in DataLoader(seen, batch_size=32, shuffle=True):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(batch.x, batch.edge_index, batch.batch), batch.y).backward()
        optimizer.step()

# %% Explain it
from comrecgc import CommonRecourseExplainer, Rules, from_pyg

dataset = from_pyg(seen, label_names=COLOURS)
explainer = CommonRecourseExplainer(model, Rules(max_changes=1), theta=0.15, num_recourses=4, panel=False)
explanation = explainer.fit(dataset).explanation_
print(explanation)
for recourse in explanation.recourses:
    print(f"{recourse.summary}: turns {recourse.statistics['accepted']} of {recourse.statistics['applicable']}")

# %% What is expected to come true
for recourse in explanation.recourses:
    print(f"{recourse.statistics['expected_true']:.0%} of the results expected to come true: {recourse.summary}")

# %% One row a rule
print(explanation.to_frame()[["summary", "gain", "applicable", "accepted", "success"]].to_string())

# %% One graph before and after
recourse = explanation.recourses[0]
recourse.plot(example=0).savefig("recourse.png")  # in a notebook: recourse.plot()
member = recourse.covered[0]
print(f"graph {member.input}: probability of accept {member.probability:.0%}, edits {member.edits}")

# %% How many rules are worth reading
explanation.plot().savefig("curve.png")

# %% Keep it, show it
from comrecgc import open_run, write_report

explainer.save("run")
write_report(explanation, "run")  # run/report.html
assert open_run("run", classifier=model).explanation == explanation

# %% The same rules on graphs that fit has not seen
applied = explainer.explain(unseen)
print(f"{applied.coverage:.0%} of {len(applied.inputs)} unseen rejects")
for index in list(applied.inputs)[:3]:
    found = applied.covering(index)
    print(f"graph {index}:", "not covered" if found is None else f"covered by rule {found[0] + 1}")
