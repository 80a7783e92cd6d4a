"""The classifiers with a mean pool instead of the paper's max pool, which is common for GAT, GraphSAGE and GIN."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from comrecgc.data import GraphDataset
from comrecgc.graphs import GraphBatch, LongArray
from comrecgc.models import ClassifierTraining, GraphClassifier, save_classifier
from comrecgc.models.networks import GraphTensors, load_classifier
from comrecgc.models.training import split_dataset
from comrecgc.run import reproducible


class MeanPooled(GraphClassifier):
    """A classifier whose linear layer sees the mean state of the nodes."""

    def logits(self, x: Tensor, graphs: GraphTensors) -> Tensor:
        """Scores of the classes before log-softmax, `[B, 2]`."""
        states, owner = self.node_states(x, graphs), graphs.graph_of_node()
        counts = torch.bincount(owner, minlength=len(graphs)).clamp(min=1)
        sums = states.new_zeros(len(graphs), states.shape[1]).index_add(0, owner, states)
        return self.fc(sums / counts[:, None])  # type: ignore[no-any-return]


def obtain_mean_pooled(dataset: GraphDataset, training: ClassifierTraining, path: Path) -> MeanPooled:
    """The classifier of an earlier call, or one trained by plain autograd: Adam, the epoch of the best validation accuracy."""
    model = _first(dataset, training)
    if path.exists():
        model.load_state_dict(load_classifier(path).state_dict())
        return model.eval()
    with reproducible():
        _train(model, dataset, training)
    path.parent.mkdir(parents=True, exist_ok=True)
    save_classifier(model, path, {"pool": "mean"})
    return model.eval()


def _train(model: MeanPooled, dataset: GraphDataset, training: ClassifierTraining) -> None:
    rng = np.random.default_rng(training.seed)
    split = split_dataset(dataset, rng)
    classes = torch.from_numpy(np.asarray(dataset.classes, dtype=np.int64))
    optimiser = torch.optim.Adam(model.parameters(), lr=training.learning_rate)
    best, weights, waited = (-1.0, -np.inf), copy.deepcopy(model.state_dict()), 0
    for _ in range(training.epochs):
        model.train()
        order = rng.permutation(split.train)
        for chosen in np.array_split(order, -(-len(order) // training.batch_size)):
            optimiser.zero_grad()
            F.cross_entropy(_logits(model, dataset, chosen), classes[chosen]).backward()  # type: ignore[no-untyped-call]
            optimiser.step()
        model.eval()
        with torch.no_grad():
            logits, target = _logits(model, dataset, split.validation), classes[split.validation]
            score = float((logits.argmax(1) == target).float().mean()), -float(F.cross_entropy(logits, target))
        waited += 1
        if score > best:
            best, weights, waited = score, copy.deepcopy(model.state_dict()), 0
        if training.patience is not None and waited >= training.patience:
            break
    model.load_state_dict(weights)


def _first(dataset: GraphDataset, training: ClassifierTraining) -> MeanPooled:
    with torch.random.fork_rng(devices=[]):  # torch initialises weights from its global generator only
        torch.manual_seed(training.seed)
        return MeanPooled(training.model, dataset.features, hidden=training.hidden)


def _logits(model: MeanPooled, dataset: GraphDataset, chosen: LongArray) -> Tensor:
    graphs = GraphTensors.from_batch(GraphBatch.from_graphs([dataset.graphs[i] for i in chosen.tolist()]), model.device)
    return model.logits(model.features[graphs.labels], graphs)
