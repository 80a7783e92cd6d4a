"""An explanation whose page is alive: rules mined from planted molecules, with a panel's votes made up."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from comrecgc.data import load_planted
from comrecgc.explainer import CommonRecourseExplainer
from comrecgc.explanation import Explanation, RuleChooser
from comrecgc.run import RunContext
from tests.stubs import AvoidsLabel

NITROGEN = 2


@cache
def live_explanation() -> Explanation:
    """Rules that rid molecules of nitrogen, each result with up to four made-up votes."""
    dataset = load_planted(0, num_graphs=160)
    model = AvoidsLabel(NITROGEN, dataset.num_labels)
    found = (
        CommonRecourseExplainer(model, panel=False, num_recourses=5, context=RunContext(jobs=1))
        .fit(dataset)
        .explanation_
    )
    chooser = chooser_of(found)
    votes = np.random.default_rng(0).integers(0, 5, len(chooser.mined.table.input)).astype(np.int8)
    table = replace(chooser.mined.table, votes=votes, majority=3)
    return replace(chooser, mined=replace(chooser.mined, table=table)).chosen()


def chooser_of(explanation: Explanation) -> RuleChooser:
    """The chooser behind an explanation."""
    assert explanation.chooser is not None
    chooser = explanation.chooser.in_memory()
    assert isinstance(chooser, RuleChooser)
    return chooser
