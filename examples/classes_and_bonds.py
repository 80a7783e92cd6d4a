"""A GINE with bonds and three classes: from one class to another, bonds changed like everything else.

Cells begin with `# %%`: open it as a notebook in any editor that knows them, or run `python examples/classes_and_bonds.py`.
"""

# %% Data: trees whose edges are weak, strong or broken; class 1 has a strong edge, class 2 a broken one, class 0 neither
import numpy as np
import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GINEConv, global_add_pool

rng = np.random.default_rng(0)


def tree(kind: int) -> Data:
    num_nodes = int(rng.integers(5, 8))
    edges = torch.tensor([[int(rng.integers(node)), node] for node in range(1, num_nodes)]).T
    bonds = np.zeros(num_nodes - 1, dtype=int)
    bonds[int(rng.integers(num_nodes - 1))] = kind
    return Data(
        x=torch.eye(2)[rng.integers(0, 2, num_nodes)],
        edge_index=torch.cat([edges, edges.flip(0)], dim=1),
        edge_attr=torch.eye(3)[np.concatenate([bonds, bonds])],
        y=torch.tensor([kind]),
    )


graphs = [tree(place % 3) for place in range(45)]


# %% Model: its `forward` takes edge_attr, which is all that has to be known
class GINE(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(2, 16)
        self.conv = GINEConv(nn.Sequential(nn.Linear(16, 16), nn.ReLU()), edge_dim=3)
        self.scores = nn.Linear(16, 3)

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor, batch: Tensor) -> Tensor:
        return self.scores(global_add_pool(self.conv(self.first(x), edge_index, edge_attr), batch))


torch.manual_seed(0)
model, whole = GINE(), Batch.from_data_list(graphs)
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for _ in range(100):
    optimizer.zero_grad()
    scores = model(whole.x, whole.edge_index, whole.edge_attr, whole.batch)
    nn.functional.cross_entropy(scores, whole.y).backward()
    optimizer.step()

# %% Explain: from class 2 to class 1; so few trees cannot say what is plausible, so any connected result will do
from comrecgc import CommonRecourseExplainer, Rules

explainer = CommonRecourseExplainer(model, Rules(changes="connected", max_changes=1), accept=1, reject=2, panel=False)
explanation = explainer.fit(graphs).explanation_
print(f"from class 2 to class 1: {explanation.coverage:.0%} of {len(explanation.inputs)} graphs")
for recourse in explanation.recourses:
    print(f"{recourse.summary}: {recourse.gain} more")
