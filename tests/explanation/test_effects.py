"""What a rule does to a number: predicted and measured."""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import comrecgc
from comrecgc.algorithms.matched_pairs import LabelledGraphs
from comrecgc.data import Goal, TableReading, load_dataset
from comrecgc.errors import InputError
from comrecgc.explanation.assembly import describe_measured, disagreement, effect_of, effect_words

CHAINS = ["CCCCCC", "CCCCCCC", "CCCOCCC", "CCCNCCCC", "c1ccccc1CC", "c1ccccc1CCC", "c1ccncc1CCC", "CC(C)CCCC"]
CHANGES = ["", "Cl", "F", "O", "N", "C(F)(F)F"]


def test_measured_changes_are_described_as_statistics_books_do() -> None:
    changes = np.array([0.3, 0.8, -0.1, 0.9, 0.4, 0.6])
    said = describe_measured(changes, Goal(raise_by=0.5))
    low, high = stats.ttest_1samp(changes, 0).confidence_interval(0.95)
    assert said["interval"] == pytest.approx([low, high])
    assert said["sign_test"] == pytest.approx(2 * (1 + 6) / 2**6)  # five of six or more, either way
    assert (said["up"], said["down"]) == (5, 1)
    assert said["reached"] == pytest.approx(3 / 6)


def test_few_pairs_have_no_interval_and_none_nothing() -> None:
    assert "interval" not in describe_measured(np.array([0.5, 0.6]), Goal(raise_by=0.5))
    assert describe_measured(np.zeros(0), Goal(raise_by=0.5)) == {"pairs": 0}


@pytest.mark.parametrize(("predicted", "word"), [(0.5, None), (-1.0, "other way"), (3.0, "smaller"), (0.01, "larger")])
def test_disagreement_is_said(predicted: float, word: str | None) -> None:
    measured = describe_measured(np.array([0.4, 0.5, 0.6, 0.5, 0.45, 0.55]), Goal(raise_by=0.5))
    sentence = disagreement(measured, predicted)
    assert sentence is None if word is None else sentence is not None and word in sentence


def chlorines(folder: Path) -> Path:
    """Molecules whose number is 5, and 1 more for a chlorine, with a little noise."""
    rng = np.random.default_rng(0)
    rows = [
        f"{chain}C{change},{5 + ('Cl' in change) + 0.05 * rng.normal():.3f}" for chain in CHAINS for change in CHANGES
    ]
    path = folder / "chlorines.csv"
    path.write_text("smiles,pKi\n" + "\n".join(rows) + "\n")
    return path


def counting(smiles: list[str]) -> list[float]:
    return [5.0 + one.count("Cl") for one in smiles]


def test_a_rule_is_found_with_what_was_measured_beside_what_is_predicted(tmp_path: Path) -> None:
    dataset = load_dataset(str(chlorines(tmp_path)), reading=TableReading(target="pKi", raise_by=0.5))
    model = comrecgc.as_classifier(counting, dataset, call="smiles", threshold=5.0)
    explainer = comrecgc.CommonRecourseExplainer(
        model, comrecgc.Rules(max_changes=1, choose="coverage", allow_alerts=True), theta=0.3, num_recourses=5
    ).fit(dataset)
    explanation = explainer.explanation_
    assert explanation.recourses
    for recourse in explanation.recourses:
        effect = recourse.statistics["effect"]
        assert effect["predicted"]["model"]["median"] == pytest.approx(1.0, abs=1e-6)
        for member in recourse.covered:
            before, after = (
                int((graph.labels == dataset.label_names.index("Cl")).sum())
                for graph in (explanation.inputs[member.input].graph, member.counterfactual)
            )
            assert after == before + 1
    graphs, mined = LabelledGraphs(explainer.dataset_), explainer.mined_
    assert mined is not None
    record, pairs = max(((it, graphs.pairs(it.rule)) for it in mined.rules()), key=lambda found: len(found[1].listed))
    effect = effect_of(record, mined, explainer.classifier_, None, pairs, graphs)["effect"]
    assert effect["measured"]["pairs"] >= 3
    assert effect["measured"]["mean"] == pytest.approx(1.0, abs=0.2)
    assert effect["measured"]["reached"] == 1.0
    assert effect_words(explanation.recourses[0].statistics)
    explainer.save(tmp_path / "run")
    rows = (tmp_path / "run" / "molecules.csv").read_text().splitlines()
    place = rows[0].split(",").index("predicted_before")
    assert rows[0].split(",")[place - 1] == "value"
    stored = comrecgc.open_run(tmp_path / "run")
    assert stored.explanation.facts.facts["numbers"]["goal"] == {"raise_by": 0.5}


def test_graphs_at_the_goal_leave_nothing_to_explain(tmp_path: Path) -> None:
    dataset = load_dataset(str(chlorines(tmp_path)), reading=TableReading(target="pKi", to=5.5))
    explainer = comrecgc.CommonRecourseExplainer(lambda graphs: [9.0 for _ in graphs], accept=Goal(to=5.5)).fit(dataset)
    assert not explainer.explanation_.recourses
    assert any("at the goal already" in warning for warning in explainer.explanation_.warnings)


def test_a_goal_is_for_rules(tmp_path: Path) -> None:
    dataset = load_dataset(str(chlorines(tmp_path)), reading=TableReading(target="pKi", raise_by=0.5))
    with pytest.raises(InputError, match="goal"):
        comrecgc.CommonRecourseExplainer(counting, comrecgc.Vectors(), accept=Goal(raise_by=0.5)).fit(dataset)
