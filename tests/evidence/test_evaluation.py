from __future__ import annotations

import numpy as np

from comrecgc.graphs import GraphBatch, batch_keys
from tests.evidence.scenes import Shortcut, subject_of, trees


def test_results_are_what_each_recourse_makes_of_every_input_it_turns() -> None:
    subject = subject_of(trees(120), Shortcut())
    assert len(subject.results) == len(subject.explanation.recourses)
    for pairs, recourse in zip(subject.results, subject.explanation.recourses, strict=True):
        assert len(pairs) == len(recourse.covered) + len(recourse.also_covers)
        before, after = (GraphBatch.from_graphs(graphs) for graphs in zip(*pairs, strict=True))
        assert (subject.classifier.accept_probability(before) <= 0.5).all()
        assert (subject.classifier.accept_probability(after) > 0.5).all()
        shown = batch_keys(GraphBatch.from_graphs(member.counterfactual for member in recourse.covered))
        assert np.isin(shown, batch_keys(after)).all()
