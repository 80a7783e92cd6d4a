from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from comrecgc.algorithms.registry import PaperWalk, Vectors
from comrecgc.errors import InputError
from comrecgc.evidence import evaluate_run
from comrecgc.explanation import Explanation
from comrecgc.graphs import ChangedGraphs, GraphBatch, Rung
from comrecgc.models import ClassifierTraining, EmbedderTraining, Panel, PanelMember, train_classifier, train_embedder
from comrecgc.molecules import ladder_facts, ladder_from_facts, ladder_of
from comrecgc.runs import explain_dataset, open_run
from tests.stubs import AvoidsLabel, Histogram, explainer_of, small_dataset

DATASET = small_dataset(60)
LADDER = ladder_of(DATASET, DATASET.label_names)


@dataclass(frozen=True)
class AtMost:
    """Accepts graphs of at most so many nodes; of those only what has no C, where it is wary."""

    nodes: int
    wary: bool = False
    num_labels: int = 3

    def accept_probability(self, batch: GraphBatch) -> npt.NDArray[np.float64]:
        small = batch.node_counts() <= self.nodes
        if self.wary:
            small &= AvoidsLabel(2, 3).accept_probability(batch) > 0.5
        return np.where(small, 0.9, 0.1)


LIMITS = (4, 5, 5)
PANEL = Panel(tuple(PanelMember(name=str(nodes), classifier=AtMost(nodes)) for nodes in LIMITS))
WARY = Panel(tuple(PanelMember(name=str(nodes), classifier=AtMost(nodes, wary=True)) for nodes in LIMITS))


def found(**options: Any) -> Explanation:
    asked: dict[str, Any] = {"kind": Vectors, "embedder": Histogram(3), "num_recourses": 5, "theta": 0.3} | options
    return explainer_of(AvoidsLabel(2, 3), **asked).fit(DATASET).explanation_


def rungs(explanation: Explanation) -> npt.NDArray[np.int8]:
    members = [member for recourse in explanation.recourses for member in recourse.covered]
    before = [explanation.inputs[member.input].graph for member in members]
    return LADDER.rungs(ChangedGraphs.from_graphs(before, [member.counterfactual for member in members]))


def test_any_change_says_where_it_stands() -> None:
    explanation = found(changes="any")
    reached = rungs(explanation)
    assert explanation.changes == "any"
    assert explanation.metrics["share_connected"] == pytest.approx((reached >= Rung.CONNECTED).mean())
    assert explanation.metrics["share_plausible"] == pytest.approx((reached >= Rung.PLAUSIBLE).mean())
    assert "share_confirmed" not in explanation.metrics
    assert set(explanation.recourses[0].statistics) == {"share_connected", "share_plausible"}


@pytest.mark.parametrize("walk", [{}, {"kind": PaperWalk, "num_steps": 300}])
@pytest.mark.parametrize("rung", [Rung.CONNECTED, Rung.PLAUSIBLE])
def test_every_counterfactual_is_on_the_rung(rung: Rung, walk: dict[str, Any]) -> None:
    explanation = found(changes=str(rung), delta=0.05, **walk)
    assert explanation.changes == str(rung)
    assert explanation.recourses
    assert (rungs(explanation) >= rung).all()
    assert explanation.metrics[f"share_{rung}"] == 1.0


def by_hand(explanation: Explanation) -> list[bool]:
    """Whether most members of the panel that reject an input accept its counterfactual."""
    said = []
    for member in (member for recourse in explanation.recourses for member in recourse.covered):
        before, after = explanation.inputs[member.input].graph.num_nodes, member.counterfactual.num_nodes
        heard = [limit for limit in LIMITS if before > limit]
        said.append(2 * sum(after <= limit for limit in heard) > len(heard))
    return said


def test_a_panel_decides_what_is_confirmed() -> None:
    explanation = found(changes="confirmed", panel=PANEL)
    assert explanation.recourses
    assert all(by_hand(explanation))
    assert explanation.metrics["share_confirmed"] == 1.0
    assert explanation.metrics["confirmed_coverage"] == explanation.coverage
    assert "A panel of 3 given classifiers was asked too." in explanation.notes


def test_a_panel_is_asked_on_lower_rungs_too() -> None:
    explanation = found(changes="connected", panel=WARY)
    sizes = [member.counterfactual.num_nodes for recourse in explanation.recourses for member in recourse.covered]
    share = sum(size <= 5 for size in sizes) / len(explanation.inputs)  # two of three accept no more
    assert explanation.metrics["confirmed_coverage"] == pytest.approx(share)
    assert 0 < share < explanation.coverage


def test_bad_input() -> None:
    with pytest.raises(InputError, match="changes must be one of any, connected"):
        found(changes="sane")
    with pytest.raises(InputError, match=r"changes='confirmed' needs a panel\. There"):
        found(changes="confirmed", panel=False)
    with pytest.raises(InputError, match="must be as a run stores it"):
        ladder_from_facts({"known": "xyz"}, DATASET.label_names)


def test_a_ladder_survives_a_file() -> None:
    again = ladder_from_facts(ladder_facts(LADDER), DATASET.label_names)
    assert repr(again) == repr(LADDER)
    assert again.familiarity.known.tolist() == LADDER.familiarity.known.tolist()


def test_a_run_keeps_its_rung_and_its_panel(tmp_path: Path) -> None:
    files = {name: tmp_path / f"{name}.safetensors" for name in ("classifier", "embedder", "other")}
    for name, seed in (("classifier", 0), ("other", 1)):
        train_classifier(DATASET, ClassifierTraining(epochs=30, seed=seed), out=files[name])
    train_embedder(DATASET.graphs, 3, EmbedderTraining(effort=0.01), out=files["embedder"])
    run = tmp_path / "run"
    explainer = explainer_of(
        files["classifier"], Vectors, embedder=files["embedder"], theta=0.5, num_recourses=3, panel=[files["other"]]
    )
    explanation = explain_dataset(DATASET, run, explainer)
    figures = {figure.name: figure for figure in evaluate_run(run)}
    for name in ("share_connected", "share_plausible", "share_confirmed", "confirmed_coverage"):
        assert figures[name].stored == pytest.approx(explanation.metrics[name])
        assert figures[name].recomputed == figures[name].stored
    applied = open_run(run).apply(DATASET)
    assert applied.changes == "plausible"
    assert (rungs(applied) >= Rung.PLAUSIBLE).all()
