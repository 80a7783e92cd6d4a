from __future__ import annotations

import pytest

from comrecgc.algorithms.baselines.gcfexplainer import GCFExplainer
from comrecgc.algorithms.settings import Settings
from comrecgc.errors import InputError
from comrecgc.sources import source_settings

SHARED = Settings(recourse="vectors", changes="any", delta=0.02, num_recourses=7, directional=False)


def test_each_row_is_asked_in_its_own_way() -> None:
    gcf = source_settings("gcfexplainer", {"alpha": 0.2}, SHARED, summary=3)
    assert gcf.baseline == GCFExplainer(alpha=0.2)
    assert (gcf.summary, gcf.resolved().selection) == (3, "dbscan")
    vectors = source_settings("vectors", {}, SHARED, min_samples=3, summary=3)
    assert (vectors.baseline, vectors.summary, vectors.resolved().selection) == (None, None, "ball")
    rules = source_settings("rules", {}, SHARED)
    assert (rules.recourse, rules.changes, rules.num_recourses) == ("rules", "plausible", 7)


@pytest.mark.parametrize(("name", "options"), [("walk", {}), ("rules", {"alpha": 1})])
def test_bad_rows_are_one_line(name: str, options: dict[str, object]) -> None:
    with pytest.raises(InputError, match="got"):
        source_settings(name, options, SHARED)
