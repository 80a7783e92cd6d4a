from __future__ import annotations

import numpy as np

from comrecgc.algorithms.baselines.gcfexplainer import GCFExplainer, GCFNearest
from comrecgc.graphs import graph_key
from tests.algorithms.baselines.subjects import small_subject
from tests.stubs import Histogram

SUBJECT = small_subject(20)


def test_the_nearest_counterfactual_of_every_input_stays_and_no_other() -> None:
    walked = GCFExplainer(num_steps=80, walk_theta=0.12).run(SUBJECT, np.random.default_rng(0)).found
    found = GCFNearest(num_steps=80, walk_theta=0.12).run(SUBJECT, np.random.default_rng(0)).found
    measure = Histogram(3)
    nearest = set()
    for graph in SUBJECT.inputs:
        lengths = [float(np.linalg.norm(measure.vector(graph, each.graph))) for each in walked]
        nearest.add(int(np.argmin(np.round(lengths, 6))))  # equal lengths: the first
    assert [(graph_key(each.graph), each.path) for each in found] == [
        (graph_key(walked[i].graph), walked[i].path) for i in sorted(nearest)
    ]
