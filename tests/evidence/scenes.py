"""Models with a known flaw on graphs with a known truth."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from comrecgc.algorithms.registry import Rules
from comrecgc.data import GraphDataset
from comrecgc.evidence.evaluation import EvaluatedRun
from comrecgc.explanation import RuleChooser
from comrecgc.graphs import Graph, GraphBatch
from comrecgc.models import Classifier, Panel, PanelMember, predict
from known_truth import fitted_subject
from tests.stubs import AvoidsLabel, explainer_of

NAMES = ("A", "B", "C", "D")


def trees(num_graphs: int = 240, seed: int = 0) -> GraphDataset:
    """Random trees of 3 to 6 nodes over A, B, C and sometimes D; those with a C are of class 0, whatever else they have."""
    rng = np.random.default_rng(seed)
    graphs = []
    for _ in range(num_graphs):
        num_nodes = int(rng.integers(3, 7))
        labels = rng.choice(4, num_nodes, p=[0.5, 0.25, 0.15, 0.1])
        graphs.append(Graph(labels, [[int(rng.integers(j)), j] for j in range(1, num_nodes)]))
    classes = np.array([not (graph.labels == 2).any() for graph in graphs], np.int8)
    return GraphDataset(name="trees", graphs=tuple(graphs), classes=classes, label_names=NAMES)


@dataclass(frozen=True)
class Shortcut:
    """Rejects what has a C, unless it has a D too (or what is given): an added atom flips it."""

    num_labels: int = 4
    unless: int = 3

    def accept_probability(self, batch: GraphBatch) -> npt.NDArray[np.float64]:
        has = np.zeros((len(batch), 4), bool)
        has[batch.graph_of_node(), batch.labels] = True
        return np.where(~has[:, 2] | has[:, self.unless], 0.9, 0.1)


def honest(num: int = 4) -> Panel:
    """Models that know what the labels are about."""
    return Panel(tuple(PanelMember(name=f"honest {k}", classifier=AvoidsLabel(2, 4)) for k in range(num)))


def subject_of(dataset: GraphDataset, model: Classifier, panel: Panel | None = None, **options: object) -> EvaluatedRun:
    """A model explained, with everything evidence needs; rules are chosen for coverage, so that shortcuts are among them."""
    asked: dict[str, Any] = {"theta": 0.4, "num_recourses": 3, "changes": "connected", "jury": False} | options
    if asked.get("kind", Rules) is Rules:
        asked.setdefault("max_changes", 1)
    return fitted_subject(explainer_of(model, panel=panel or honest(), **asked).fit(dataset))


def chosen_again(subject: EvaluatedRun, **wishes: object) -> EvaluatedRun:
    """The same with rules chosen under other wishes."""
    chooser = subject.explanation.chooser
    assert isinstance(chooser, RuleChooser)
    other = chooser.with_wishes(**wishes)
    return replace(subject, explanation=other.explain(), wishes=other.wishes)


def num_rejects(model: Classifier, dataset: GraphDataset) -> int:
    return len(predict(model, dataset).rejects)
