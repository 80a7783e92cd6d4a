"""Tests of comrecgc.explanation.rules.

Also tests comrecgc.explanation.assembly.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch_geometric.nn import GCNConv, global_add_pool

from comrecgc.algorithms.registry import Rules
from comrecgc.algorithms.rules.mining import Oracle
from comrecgc.cover import Reason
from comrecgc.data import load_dataset
from comrecgc.data.smiles import from_smiles_table
from comrecgc.errors import InputError
from comrecgc.explainer import CommonRecourseExplainer
from comrecgc.explanation.display import works_words
from comrecgc.graphs import GraphBatch
from comrecgc.models import as_classifier
from comrecgc.run import RunContext
from tests.stubs import Always, AvoidsLabel, explainer_of, small_dataset

DATASET = small_dataset(40)


class ThreeClasses(torch.nn.Module):
    """A stranger's model: class 2 for graphs without a C, 1 for those with one, 0 for more."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = GCNConv(3, 3)
        with torch.no_grad():
            self.conv.lin.weight.copy_(torch.eye(3))

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        seen = global_add_pool(x[:, 2] + 0.05 * self.conv(x, edge_index)[:, 2], batch)
        return 4 * torch.stack([seen - 1.5, -(seen - 1).abs() + 0.4, 0.6 - seen], dim=1)


def test_rules_are_what_a_run_finds() -> None:
    made = CommonRecourseExplainer(AvoidsLabel(2, 3), theta=0.3, panel=False, context=RunContext(jobs=1)).fit(DATASET)
    found = made.explanation_
    assert (found.recourse, found.changes) == ("rules", "plausible")
    assert 0 < len(found.recourses) <= 10
    assert found.coverage > 0.2  # few surroundings are familiar in so few graphs
    whole = CommonRecourseExplainer(
        AvoidsLabel(2, 3), Rules(changes="connected"), theta=0.3, panel=False, context=RunContext(jobs=1)
    ).fit(DATASET)
    assert whole.explanation_.coverage > 0.4 > found.coverage
    for recourse in found.recourses:
        for member in recourse.covered:
            assert not (member.counterfactual.labels == 2).any()
    assert made.embedder_ is None


def test_a_strangers_model_of_three_classes_gets_rules() -> None:
    model = as_classifier(ThreeClasses(), DATASET, accept=2)
    made = CommonRecourseExplainer(
        model,
        Rules(changes="connected", max_changes=1),
        theta=0.3,
        num_recourses=3,
        panel=False,
        context=RunContext(jobs=1),
    )
    found = made.fit(DATASET).explanation_
    assert found.coverage > 0.3
    assert "C" in found.recourses[0].summary


def test_a_model_that_can_be_asked_little_says_what_was_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, part = (
        CommonRecourseExplainer(
            AvoidsLabel(2, 3), Rules(changes="connected"), theta=0.3, panel=False, context=RunContext(jobs=1)
        )
        for _ in "ab"
    )
    assert not any("was not asked" in note for note in whole.fit(DATASET).explanation_.notes)
    monkeypatch.setattr("comrecgc.algorithms.rules.mined.MOST_ASKED", 3000)
    found = part.fit(DATASET).explanation_
    assert 0 < found.coverage <= whole.explanation_.coverage
    assert any("It was not asked about" in note for note in found.notes)
    calls = found.metrics["oracle_calls"], whole.explanation_.metrics["oracle_calls"]
    assert calls[0] is not None
    assert calls[1] is not None
    assert calls[0] < calls[1] / 2


def test_a_time_budget_holds_for_single_changes_too() -> None:
    """A slow model, asked about every change, would take minutes."""

    class Slow(AvoidsLabel):
        def accept_probability(self, batch: GraphBatch) -> np.ndarray:
            time.sleep(0.002 * len(batch))
            return super().accept_probability(batch)

    begun = time.monotonic()
    made = CommonRecourseExplainer(
        Slow(2, 3),
        Rules(changes="connected", max_changes=2),
        theta=0.3,
        panel=False,
        context=RunContext(jobs=1, time_budget=4),
    )
    found = made.fit(DATASET).explanation_
    assert found.metrics["oracle_calls"] is not None
    assert found.metrics["oracle_calls"] * 0.002 < 6
    assert time.monotonic() - begun < 20
    assert any("It was not asked about" in note for note in found.notes)


def test_graphs_without_labels_get_rules_about_edges_and_leaves(data_root: Path) -> None:
    """IMDB-BINARY has one label: what can change is how people are joined."""
    whole = load_dataset("imdb-binary", root=data_root)
    some = whole.subset(np.flatnonzero([graph.num_nodes < 15 for graph in whole])[:30].tolist())

    class Sparse:
        num_labels = 1

        def accept_probability(self, batch: object) -> np.ndarray:
            nodes, edges = batch.node_counts(), batch.edge_counts()  # type: ignore[attr-defined]
            return np.asarray(1 / (1 + np.exp(0.5 * (edges - nodes * (nodes - 1) / 2 + 0.5))))

    made = CommonRecourseExplainer(
        Sparse(), Rules(changes="connected", max_changes=1), num_recourses=3, panel=False, context=RunContext(jobs=1)
    )
    found = made.fit(some).explanation_
    assert found.coverage > 0.9  # one tie fewer is no clique
    assert "cut" in found.recourses[0].summary


def test_nothing_that_helps_is_said_plainly() -> None:
    found = (
        CommonRecourseExplainer(Always(0.1, 3), theta=0.3, panel=False, context=RunContext(jobs=1))
        .fit(DATASET[:12])
        .explanation_
    )
    assert found.recourses == ()
    assert {entry.reason for entry in found.uncovered} == {Reason.NO_COUNTERFACTUAL}


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"changes": "sane"}, "changes must be one of any, connected"),
        ({"min_success": 1.5}, "min_success must be a number at"),
        ({"min_success": -1}, "min_success must be a number .*"),
        ({"min_success": "high"}, "min_success must be a number .*"),
        ({"max_changes": 4}, "max_changes must be an integer at"),
        ({"changes": "confirmed", "panel": False}, r"changes='confirmed' needs a panel"),
    ],
)
def test_bad_input_is_one_line(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as refusal:
        explainer_of(AvoidsLabel(2, 3), **{"panel": False} | asked).fit(DATASET)
    assert "\n" not in str(refusal.value)


def test_a_rule_counts_only_where_wishes_let_it_be_carried_out(tmp_path: Path) -> None:
    """Half of the bromides are protected: without the wish they are failures nobody had, with it they are no places at all."""
    pytest.importorskip("rdkit")
    free, kept = (["C" * k + "Br" for k in range(3, 9)], ["O" + "C" * k + "Br" for k in range(2, 8)])
    harmless = [text.removesuffix("Br") for text in (*free, *kept)]
    rows = [*((text, 0) for text in (*free, *kept)), *((text, 1) for text in harmless)]
    table = tmp_path / "bromides.csv"
    table.write_text("smiles,class\n" + "\n".join(f"{text},{value}" for text, value in rows), encoding="utf-8")
    dataset = from_smiles_table(table)
    model = AvoidsLabel(dataset.label_names.index("Br"), dataset.num_labels)
    options: dict[str, Any] = {"theta": 0.4, "max_changes": 1, "panel": False, "num_recourses": 1}
    plain, wished = (
        explainer_of(model, protect=protect, **options).fit(dataset) for protect in ((), ("O" + "C" * 3 + "Br",))
    )
    known = [explainer.explanation_.recourses[0].statistics for explainer in (plain, wished)]
    assert "Br" in wished.explanation_.recourses[0].summary
    assert (known[0]["applicable"], known[0]["accepted"]) == (12, 12)
    assert (known[1]["applicable"], known[1]["accepted"], known[1]["success"]) == (11, 11, 1.0)
    again = wished.explain(dataset).recourses[0].statistics["applicable"]
    assert again == 11


def test_what_the_model_was_asked_is_counted() -> None:
    made = CommonRecourseExplainer(
        AvoidsLabel(2, 3), Rules(max_changes=1), theta=0.3, panel=False, context=RunContext(jobs=1)
    ).fit(DATASET)
    asked = made.explanation_.metrics["oracle_calls"]
    assert made.mined_ is not None
    singles = made.mined_.scorer.changes(Oracle(classifier=AvoidsLabel(2, 3)))
    assert asked == len(made.explanation_.inputs) + len(singles)


@pytest.mark.parametrize(("exact", "words"), [(True, "25 of 57"), (False, "at least 25 of 57")])
def test_a_rule_that_was_not_tried_everywhere_works_for_at_least_so_many(exact: bool, words: str) -> None:
    known = {"accepted": 25, "applicable": 57, "success": 25 / 57, "interval": [0.32, 0.57], "exact": exact}
    assert works_words(known).startswith(words)
