"""Methods on small trees: a search is shared by all rows that differ in the choice alone."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from comrecgc.algorithms.baselines.baseline import Counterfactual, Counterfactuals
from comrecgc.data import GraphDataset
from comrecgc.graphs import Graph
from comrecgc.models import Classifier, Embedder
from comrecgc_reproduction import scale_of
from comrecgc_reproduction.methods import (
    Method,
    in_common_without_clusters,
    moving_walk,
    published,
    source,
    subject_of,
    summary,
    without_isolated_nodes,
)
from comrecgc_reproduction.setups import Setup
from tests.algorithms.baselines.subjects import Killed, killing
from tests.stubs import AvoidsLabel, Histogram, small_dataset

SCALE = replace(scale_of("quick"), most_graphs=None, num_steps=200)


class Trees(Setup):
    """Trees over A, B and C; those with a C are rejected."""

    @cached_property
    def whole(self) -> GraphDataset:
        return small_dataset(24)

    @cached_property
    def classifier(self) -> Classifier:
        return AvoidsLabel(2, self.whole.num_labels)

    @cached_property
    def embedder(self) -> Embedder:
        return Histogram(self.whole.num_labels)


def trees(tmp_path: Path, **options: Any) -> Trees:
    return Trees(name="trees", model="gcn", scale=SCALE, models=tmp_path / "models", **options)


def figures(method: Method, setup: Setup, kept: Path | None = None) -> dict[str, Any]:
    return {name: value for name, value in method.figures(setup, 0, kept).items() if name != "stages"}


@pytest.mark.parametrize(
    "method",
    [
        published(3, problem="fc"),
        published(3, delta=0.04),
        published(3, delta=0.04, teleport=0.2, min_samples=3),
        source("gcf-nearest", problem="fc"),
        source("gcfexplainer", problem="fc"),
        summary("gcfexplainer"),
        moving_walk(3, problem="fc"),
    ],
    ids=lambda method: method.name,
)
def test_a_shared_search_gives_what_a_search_of_its_own_gives(method: Method, tmp_path: Path) -> None:
    setup, kept = trees(tmp_path), tmp_path / "kept"
    assert method.searched_by is not None
    method.searched_by.figures(setup, 0, kept)
    left = {path.name: path.read_bytes() for path in kept.iterdir()}
    assert left
    assert figures(method, setup, kept) == figures(method, setup)
    assert left == {path.name: path.read_bytes() for path in kept.iterdir()}  # nobody walked on


def test_what_is_left_of_a_killed_search_changes_nothing(tmp_path: Path) -> None:
    whole = figures(source("gcfexplainer"), trees(tmp_path))
    kept = tmp_path / "kept"
    with pytest.raises(Killed):
        source("gcfexplainer").figures(trees(tmp_path, progress=killing), 0, kept)
    assert figures(source("gcfexplainer"), trees(tmp_path), kept) == whole


def test_without_clusters_a_recourse_is_that_of_one_step(tmp_path: Path) -> None:
    setup = trees(tmp_path)
    found = in_common_without_clusters(setup, 0)
    assert 0 < found["coverage"] <= min(1.0, 5 * found["sets"] / found["inputs"])
    assert found["inputs"] == figures(published(3), setup)["inputs"]


def test_isolated_nodes_are_dropped_and_the_rest_is_classified_again(tmp_path: Path) -> None:
    setup = trees(tmp_path)
    subject = subject_of(setup)
    tied, loose = Graph([0, 2, 1], [(0, 2)]), Graph([0, 1, 1], [(0, 1)])  # the model rejects label 2
    bare = Graph([2, 2], [])  # nothing is left of it
    still_rejected = Graph([2, 0, 1], [(0, 1)])
    found = Counterfactuals(
        tuple(
            Counterfactual(graph=graph, probability=0.9, input=place)
            for place, graph in enumerate((tied, loose, bare, still_rejected))
        )
    )
    kept = without_isolated_nodes(subject, found).found
    assert [each.input for each in kept] == [0, 1]
    assert [each.graph for each in kept] == [Graph([0, 1], [(0, 1)]), Graph([0, 1], [(0, 1)])]


def test_a_cell_is_named_after_all_it_depends_on(tmp_path: Path) -> None:
    setup = trees(tmp_path)
    assert published(5).cell(setup, 1) == "published 5 heads fcr delta 0.02 theta 0.1 trees gcn seed 1 quick"
    assert published(5, theta=0.1).cell(setup, 1) == published(5).cell(setup, 1)
    assert published(5, theta=0.15).cell(setup, 1) != published(5).cell(setup, 1)
    other = published(5, delta=0.04, teleport=0.1, min_samples=3)
    assert other.name == "published 5 heads fcr delta 0.04 teleport 0.1 min_samples 3"
    assert other.searched_by == published(5, teleport=0.1)
    assert published(5, teleport=0.1).searched_by is None
    assert published(5, min_samples=3).searched_by == published(5)
    assert source("cfgnnexplainer", min_samples=1).name == "cfgnnexplainer fcr min_samples 1"
    assert source("cfgnnexplainer", min_samples=1).searched_by == source("cfgnnexplainer")
    assert source("cfgnnexplainer", momentum=0.9).searched_by is None
    assert source("gcfexplainer", problem="fc").name == "gcfexplainer fc"
