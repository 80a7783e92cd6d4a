from __future__ import annotations

import numpy as np

from comrecgc.algorithms.baselines.baseline import DatasetCounterfactuals
from tests.algorithms.baselines.subjects import small_subject
from tests.stubs import Always, small_dataset


def test_the_accepted_graphs_of_the_data_are_the_counterfactuals() -> None:
    subject = small_subject()
    found = DatasetCounterfactuals().run(subject, np.random.default_rng(0))
    assert [each.graph for each in found.found] == [graph for graph in subject.graphs if 2 not in graph.labels]
    assert all(each.input is None for each in found.found)


def test_nothing_accepted_is_an_empty_answer() -> None:
    dataset = small_dataset(6)
    found = DatasetCounterfactuals().run(
        small_subject(classifier=Always(0.2, 3), dataset=dataset), np.random.default_rng(0)
    )
    assert len(found) == 0
    assert found.complete
