"""An explanation whose page is alive: rules mined from planted molecules, with the votes of a panel and the estimates of a jury made up."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import numpy.typing as npt

from comrecgc.data import GraphDataset, load_planted
from comrecgc.explainer import CommonRecourseExplainer
from comrecgc.explanation import Explanation, RuleChooser
from comrecgc.graphs import Graph, GraphBatch
from comrecgc.run import RunContext
from tests.stubs import AvoidsLabel

NITROGEN = 2


@cache
def live_explanation() -> Explanation:
    """Rules that rid molecules of nitrogen, each result with up to four made-up votes, and made-up odds of coming true."""
    dataset = load_planted(0, num_graphs=160)
    model = AvoidsLabel(NITROGEN, dataset.num_labels)
    found = (
        CommonRecourseExplainer(model, panel=False, jury=False, num_recourses=5, context=RunContext(jobs=1))
        .fit(dataset)
        .explanation_
    )
    chooser = chooser_of(found)
    rng, before = np.random.default_rng(0), chooser.mined.table
    entries = replace(
        before.entries,
        votes=rng.integers(0, 5, len(before.entries)).astype(np.int8),
        truth=rng.integers(0, 101, len(before.entries)).astype(np.int8),
    )
    table = replace(before, entries=entries, needed=rng.integers(1, 4, before.num_inputs).astype(np.int8))
    return replace(chooser, mined=replace(chooser.mined, table=table)).explain()


@dataclass(frozen=True)
class WantsRoofs:
    """Accepts graphs with four nodes of the last label and more."""

    num_labels: int = 3

    def accept_probability(self, batch: GraphBatch) -> npt.NDArray[np.float64]:
        roofs = np.bincount(batch.graph_of_node(), batch.labels == 2, minlength=len(batch))
        probability: npt.NDArray[np.float64] = 1 / (1 + np.exp(3.5 - roofs))
        return probability


@cache
def roofed_explanation() -> Explanation:
    """Rules on rings, some of whose edges have a roof: a node tied to both ends. Many rules tie such a node, which no molecule's do."""
    rng = np.random.default_rng(0)
    graphs = []
    for _ in range(60):
        num = int(rng.integers(6, 9))
        labels = rng.choice(2, num).tolist()
        edges = [(i, (i + 1) % num) for i in range(num)]
        for i in np.flatnonzero(rng.random(num) < 0.4).tolist():
            edges += [(i, len(labels)), ((i + 1) % num, len(labels))]
            labels.append(2)
        graphs.append(Graph(labels, [sorted(edge) for edge in edges]))
    classes = np.array([(graph.labels == 2).sum() > 3 for graph in graphs], np.int8)
    dataset = GraphDataset(name="roofs", graphs=tuple(graphs), classes=classes, label_names=("A", "B", "C"))
    explainer = CommonRecourseExplainer(
        WantsRoofs(), panel=False, jury=False, num_recourses=5, theta=0.3, context=RunContext(jobs=1)
    )
    return explainer.fit(dataset).explanation_


def chooser_of(explanation: Explanation) -> RuleChooser:
    """The chooser behind an explanation."""
    assert explanation.chooser is not None
    chooser = explanation.chooser.in_memory()
    assert isinstance(chooser, RuleChooser)
    return chooser
