"""Many graphs through a sample: the same answer in one run, interrupted, on threads, and as the sample of all would give."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import comrecgc
from comrecgc.algorithms.rules import population as census
from comrecgc.algorithms.rules.population import BLOCK_FILES, Census
from comrecgc.data import GraphDataset, load_planted
from comrecgc.errors import InputError
from comrecgc.explainer import CommonRecourseExplainer
from comrecgc.graphs import GraphBatch, GraphPacker
from comrecgc.run import write_text
from tests.stubs import AvoidsLabel, explainer_of

NITROGEN = 2


@pytest.fixture(scope="module")
def data() -> GraphDataset:
    return load_planted(num_graphs=400)


@pytest.fixture(autouse=True, scope="module")
def small_blocks() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(census, "BLOCK", 60)
        yield


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a run that was stopped when all blocks were counted."""
    return tmp_path_factory.mktemp("kept")


@pytest.fixture(scope="module")
def fitted(data: GraphDataset, kept: Path) -> CommonRecourseExplainer:
    return explainer(checkpoint=kept).fit(data)


def explainer(**options: object) -> CommonRecourseExplainer:
    asked: dict[str, Any] = {"max_changes": 1, "sample": 100, "panel": False}
    return explainer_of(AvoidsLabel(label=NITROGEN, num_labels=7), **asked | options)


def test_rules_of_a_sample_are_carried_out_on_all(data: GraphDataset, fitted: CommonRecourseExplainer) -> None:
    found, mined = fitted.explanation_, fitted.mined_
    with_nitrogen = [index for index, graph in enumerate(data.graphs) if NITROGEN in graph.labels]
    assert mined is not None
    assert mined.census is not None
    assert found.metrics["population_inputs"] == mined.census.num_inputs == len(with_nitrogen)
    assert set(found.inputs) < set(with_nitrogen)
    assert all(found.inputs[index].graph == data.graphs[index] for index in found.inputs)
    assert "sample" in found.notes[-2] + found.notes[-1]
    # On all graphs at once the same rules turn as many.
    whole = explainer(sample=1000).fit(data).mined_
    assert whole is not None
    assert whole.census is None
    place = np.searchsorted(whole.table.rules.key, mined.table.rules.key).clip(max=len(whole.table) - 1)
    both = whole.table.rules.key[place] == mined.table.rules.key
    assert both.mean() > 0.9
    assert (mined.census.num_accepted[both] <= whole.table.num_accepted[place[both]]).all()
    first = found.recourses[0].statistics
    assert first is not None
    assert first["population"]["accepted"] >= first["accepted"]


def test_packed_graphs_give_the_same(data: GraphDataset, fitted: CommonRecourseExplainer) -> None:
    with GraphPacker() as packer:
        for start in range(0, len(data), 90):
            packer.add(data.batch(start, start + 90))
        packed = dataclasses.replace(data, graphs=packer.finish())
    assert explainer().fit(packed).explanation_ == fitted.explanation_


def test_another_choice_is_made_on_all(fitted: CommonRecourseExplainer, tmp_path: Path) -> None:
    found = fitted.explanation_
    found.save(tmp_path)
    again = comrecgc.open_run(tmp_path).explanation
    now, later = found.choose(num_recourses=1), again.choose(num_recourses=1)
    asked = {"expected_true", "jury_confirmed", "jury_share"}  # the jury itself is not kept
    assert {name: value for name, value in now.metrics.items() if name not in asked} == {
        name: value for name, value in later.metrics.items() if name not in asked
    }
    assert later.notes == found.notes


def test_an_interrupted_census_goes_on(
    data: GraphDataset, fitted: CommonRecourseExplainer, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = sorted(kept.glob(BLOCK_FILES))
    assert len(blocks) == -(-len(data) // census.BLOCK)
    blocks[2].unlink()
    counted = []
    count_block = census.count_block

    def noted(work: census.CensusWork, batch: GraphBatch) -> Census:
        counted.append(len(batch))
        return count_block(work, batch)

    monkeypatch.setattr(census, "count_block", noted)
    assert explainer(checkpoint=kept, resume=True).fit(data).explanation_ == fitted.explanation_
    assert counted == [census.BLOCK]
    write_text(blocks[2], "not a block")
    with pytest.raises(InputError, match="is damaged"):
        explainer(checkpoint=kept, resume=True).fit(data)


def test_the_bound_on_what_a_sample_loses(fitted: CommonRecourseExplainer) -> None:
    assert fitted.mined_ is not None
    table = fitted.mined_.table
    share = table.counts.most_left_out / table.num_inputs
    assert share < census.most_lost(table) <= 1
    counts = dataclasses.replace(table.counts, num_left_out=37050, most_left_out=82)
    known = dataclasses.replace(table, base=np.zeros(2500), counts=counts)
    assert census.most_lost(known) == pytest.approx(82 / 2500 + np.sqrt(np.log((len(known) + 37050) / 0.05) / 5000))
