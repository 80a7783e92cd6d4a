"""Tests of comrecgc.explainer.

Also tests comrecgc.algorithms.inputs, comrecgc.explanation.stored.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from comrecgc.algorithms.base import Algorithm
from comrecgc.algorithms.registry import PaperWalk, Rules, Vectors
from comrecgc.cover import Reason
from comrecgc.data import GraphDataset, from_pyg
from comrecgc.errors import InputError
from comrecgc.explainer import CommonRecourseExplainer
from comrecgc.explanation import Explanation
from comrecgc.graphs import EditKind, Graph, GraphBatch, apply_path, graph_key
from comrecgc.graphs.edits import AllowKinds
from comrecgc.models import EmbedderTraining, ModelFile
from comrecgc.run import RunContext
from comrecgc.runs import explain_dataset, open_run
from tests.evidence.scenes import Shortcut, trees
from tests.stubs import Always, AvoidsLabel, Histogram, explainer_of, small_dataset

BAD = 2
DATASET = small_dataset()
MODEL = AvoidsLabel(BAD, DATASET.num_labels)
EMBEDDER = Histogram(DATASET.num_labels)
REJECTS = [i for i, graph in enumerate(DATASET) if (graph.labels == BAD).any()]


def explainer(**changes: Any) -> CommonRecourseExplainer:
    options: dict[str, Any] = {
        "model": MODEL, "kind": Vectors, "embedder": EMBEDDER, "changes": "any", "num_recourses": 5, "theta": 0.3,
    }  # fmt: skip
    return explainer_of(**options | changes)


@pytest.fixture(scope="module")
def explanation() -> Explanation:
    return explainer().fit(DATASET).explanation_


def check_claims(found: Explanation) -> None:
    """Every entry worked out again, graph by graph, from what the stubs are."""
    theta, delta = found.parameters["theta"], found.parameters["delta"]
    for recourse in found.recourses:
        for member in recourse.covered:
            graph = found.inputs[member.input].graph
            end = apply_path(graph, member.edits)
            assert end == member.counterfactual
            assert not (end.labels == BAD).any()
            step = EMBEDDER.vector(graph, end)
            assert member.distance == pytest.approx(np.linalg.norm(step), abs=1e-6)
            assert member.distance <= theta
            assert np.linalg.norm(step - np.array(recourse.vector)) <= delta
            assert member.probability == pytest.approx(0.9 - 0.001 * end.num_nodes)
            assert member.num_edits == len(member.edits)


def test_it_finds_what_the_model_looks_at(explanation: Explanation) -> None:
    assert sorted(explanation.inputs) == REJECTS
    assert explanation.coverage > 0.9
    assert "C" in explanation.recourses[0].summary
    check_claims(explanation)


def test_figures_are_those_of_the_recourses(explanation: Explanation) -> None:
    figures = explanation.metrics
    covering = {
        index: [
            recourse.norm or 0.0
            for recourse in explanation.recourses
            if index in (*recourse.also_covers, *(member.input for member in recourse.covered))
        ]
        for index in explanation.inputs
    }
    assert figures["total_length"] == pytest.approx(sum(recourse.norm or 0.0 for recourse in explanation.recourses))
    assert figures["cost"] == pytest.approx(sum(min(norms) for norms in covering.values() if norms))
    assert figures["directional_coverage"] == figures["coverage"]
    assert explanation.facts.seconds.keys() == {"inputs", "embedder", "search", "selection", "verification", "words"}


def test_the_constructor_only_keeps_its_arguments() -> None:
    made = CommonRecourseExplainer("no model", theta=-1, num_recourses="many")  # type: ignore[arg-type]
    assert made.theta == -1
    assert repr(made) == "CommonRecourseExplainer(str, theta=-1, num_recourses='many')"
    assert not hasattr(made, "explanation_")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"theta": 0}, "theta must be a positive number"),
        ({"theta": float("nan")}, "theta must be a positive number"),
        ({"theta": "0.1"}, "theta must be a positive number"),
        ({"delta": -0.1}, "delta must be a number above 0"),
        ({"delta": "small"}, "delta must be a positive number"),
        ({"num_recourses": 0}, "num_recourses must be an integer"),
        ({"num_recourses": 2.5}, "num_recourses must be an integer"),
        ({"problem": "fcx"}, "problem must be one of fcr, fc"),
        ({"selection": "kmeans"}, "selection must be one of ball"),
        ({"directional": 1}, "directional must be True or False"),
        ({"constraint": "mine"}, "constraint must be 'valence'"),
        ({"kind": PaperWalk, "num_heads": 0}, "num_heads must be an integer at"),
        ({"kind": PaperWalk, "teleport": 1}, "teleport must be a number above"),
        ({"time_budget": 0}, "time_budget must be a positive number"),
        ({"jobs": 0}, "jobs must be an integer"),
        ({"random_state": -1}, "random_state must be an integer"),
        ({"model": 3}, "model must be a torch module"),
        ({"embedder": 3}, "An embedder is a model"),
        ({"model": AvoidsLabel(0, 7)}, "must know the 3 node labels"),
    ],
)
def test_bad_parameters_are_named_in_one_line(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        explainer(**changes).fit(DATASET)
    assert "\n" not in str(caught.value)


def test_graphs_may_be_a_dataset_or_pyg_data_and_stay_as_they_are(explanation: Explanation) -> None:
    data = DATASET.to_pyg()
    before = [(graph.x.clone(), graph.edge_index.clone()) for graph in data]
    found = explainer().fit(data).explanation_
    assert all(
        torch.equal(graph.x, x) and torch.equal(graph.edge_index, edges)
        for graph, (x, edges) in zip(data, before, strict=True)
    )
    plain = [recourse.vector for recourse in explanation.recourses]
    assert [recourse.vector for recourse in found.recourses] == plain
    assert found.facts.model_accuracy == explanation.facts.model_accuracy
    for graph in data:
        del graph.y
    unlabelled = explainer().fit(data).explanation_
    assert unlabelled.facts.model_accuracy is None
    assert replace(unlabelled, notes=()).to_json() == replace(found, notes=()).to_json()  # which tell of its classes


def test_graphs_of_a_dataset_are_not_modified() -> None:
    before = [(graph.labels.tobytes(), graph.edges.tobytes(), graph.ids.tobytes()) for graph in DATASET]
    explainer(num_recourses=2).fit(DATASET)
    assert before == [(graph.labels.tobytes(), graph.edges.tobytes(), graph.ids.tobytes()) for graph in DATASET]


def test_nothing_rejected_is_an_answer() -> None:
    found = explainer(model=Always(0.9, 3)).fit(DATASET).explanation_
    assert (found.recourses, len(found.inputs), found.coverage) == ((), 0, 0.0)
    assert "no rejects to explain" in found.warnings[0]


def test_no_embedder_is_trained_where_nothing_is_rejected(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("an embedder was trained for nothing")

    monkeypatch.setattr("comrecgc.models.train_embedder", refuse)
    monkeypatch.setattr("comrecgc.models.greed.train_embedder", refuse)
    found = CommonRecourseExplainer(Always(0.9, 3), Vectors(changes="any")).fit(DATASET)
    assert found.explanation_.recourses == ()
    assert found.embedder_ is None
    monkeypatch.setattr("comrecgc.models.obtain_classifier", lambda *_, **__: (Always(0.9, 3), ModelFile("c", "0")))
    explanation = explain_dataset(DATASET, tmp_path, explainer_of(None, Vectors, changes="any"))
    assert "no rejects to explain" in explanation.warnings[0]


def test_rejects_are_reported_before_the_embedder_is_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    stages: list[tuple[str, int, int, str]] = []

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("comrecgc.models.train_embedder", stop)
    with pytest.raises(KeyboardInterrupt):
        explainer_of(Always(0.1, 3), Vectors, progress=lambda *at: stages.append(at)).fit(DATASET)
    assert [stage[:3] for stage in stages] == [("rejected graphs", 24, 24)]
    assert "rejects all 24 graphs" in stages[0][3]


@pytest.mark.parametrize("options", [{}, {"kind": PaperWalk, "num_steps": 20}])
def test_everything_rejected_is_an_answer(options: dict[str, Any]) -> None:
    made = explainer(model=Always(0.1, 3), **options)
    found = made.fit(DATASET[:6]).explanation_
    assert found.recourses == ()
    assert {entry.reason for entry in found.uncovered} == {Reason.NO_COUNTERFACTUAL}
    assert len(found.uncovered) == len(found.inputs) == 6
    assert "rejects all 6 graphs" in found.warnings[0]
    applied = made.explain(DATASET[6:9])
    assert len(applied.uncovered) == 3


def test_one_small_graph_is_enough() -> None:
    alone = GraphDataset(
        name="one", graphs=(Graph([2, 0], [[0, 1]]),), classes=np.array([0], np.int8), label_names=DATASET.label_names
    )
    found = explainer(theta=0.9).fit(alone).explanation_
    assert found.coverage == 1
    check_claims(found)


def test_the_number_of_cores_and_the_seed() -> None:
    one = explainer(jobs=1).fit(DATASET).explanation_.to_json()
    assert explainer(jobs=2).fit(DATASET).explanation_.to_json() == one
    assert explainer(jobs=1).fit(DATASET).explanation_.to_json() == one
    walk: dict[str, Any] = {"kind": PaperWalk, "num_steps": 60, "num_heads": 3}
    first, again, other = (explainer(**walk, random_state=seed).fit(DATASET).explanation_ for seed in (0, 0, 1))
    assert first.to_json() == again.to_json()
    assert [one.vector for one in first.recourses] != [one.vector for one in other.recourses]


def test_the_papers_method_walks_and_clusters() -> None:
    found = explainer(kind=PaperWalk, num_steps=150, num_heads=3).fit(DATASET).explanation_
    assert found.parameters["delta"] == 0.02
    assert found.parameters["selection"] == "dbscan"
    assert found.parameters["directional"] is False
    assert found.parameters["num_steps"] == 150
    assert found.coverage > 0.1
    check_claims(found)


@pytest.mark.parametrize("seed", [0, 1])
def test_balls_cover_at_least_what_clusters_do(seed: int) -> None:
    walk: dict[str, Any] = {"kind": PaperWalk, "num_steps": 150, "num_heads": 3, "random_state": seed}
    clusters, balls = (explainer(**walk, selection=name).fit(DATASET).explanation_ for name in ("dbscan", "ball"))
    assert balls.coverage >= clusters.coverage > 0


@pytest.mark.parametrize("selection", ["ball", "dbscan"])
def test_fc_takes_its_counterfactuals_from_a_small_set(selection: str) -> None:
    found = explainer(problem="fc", selection=selection, delta=0.02).fit(DATASET)
    check_claims(found.explanation_)
    assert found.verified_ is not None
    used = found.verified_.pairs.candidates[found.verified_.cover.pairs[found.verified_.cover.covers]]
    assert 0 < len(np.unique(used)) <= len(REJECTS)
    if selection == "ball":
        assert found.explanation_.coverage == explainer(delta=0.02).fit(DATASET).explanation_.coverage
    few = explainer(problem="fc", selection=selection, delta=0.02, num_counterfactuals=2).fit(DATASET).explanation_
    targets = {graph_key(member.counterfactual) for recourse in few.recourses for member in recourse.covered}
    assert 0 < len(targets) <= 2
    with pytest.raises(InputError, match="T of problem='fc'"):
        explainer(num_counterfactuals=2).fit(DATASET)


def test_an_automatic_delta_is_half_a_typical_edit_and_excludes_doing_nothing(explanation: Explanation) -> None:
    delta = explanation.parameters["delta"]
    assert 0 < delta < 0.1
    assert explanation.parameters["directional"] is True
    assert all((recourse.norm or 0) > delta for recourse in explanation.recourses)
    assert any("half the median length" in note for note in explanation.notes)
    named = explainer(delta=0.02, num_recourses=1).fit(DATASET).explanation_
    assert named.parameters["directional"] is False
    assert not any("half the median length" in note for note in named.notes)


def test_a_large_delta_is_warned_of() -> None:
    found = explainer(delta=0.3).fit(DATASET).explanation_
    assert found.metrics["trivial_coverage"] == found.coverage > 0.4
    assert "Changing nothing already covers" in found.warnings[-1]


def test_constraints_hold_for_every_edit() -> None:
    rule = AllowKinds({"relabel"})
    found = explainer(constraint=rule).fit(DATASET).explanation_
    kinds = {edit.kind for r in found.recourses for member in r.covered for edit in member.edits}
    assert kinds == {EditKind.RELABEL}
    assert found.parameters["constraint"] == repr(rule)


def test_a_time_budget_ends_the_search_and_says_so() -> None:
    found = explainer(time_budget=1e-6).fit(DATASET).explanation_
    assert {entry.reason for entry in found.uncovered} == {Reason.OUT_OF_TIME}
    assert any("time budget" in note for note in found.notes)


def test_an_interrupted_search_resumes_to_the_same_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, explanation: Explanation
) -> None:
    monkeypatch.setattr("comrecgc.algorithms.checkpoint.SECONDS", 0.0)

    def interrupt(what: str, *_: object) -> None:
        if what == "round 1":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        explainer(checkpoint=tmp_path, progress=interrupt).fit(DATASET)
    assert (tmp_path / "search.npz").exists()
    stages: list[str] = []
    found = explainer(checkpoint=tmp_path, resume=True, progress=lambda *at: stages.append(at[0])).fit(DATASET)
    assert "sweep" not in stages
    assert found.explanation_.to_json() == explanation.to_json()


def test_unseen_graphs_get_the_same_recourses() -> None:
    made = explainer().fit(DATASET[:16])
    applied = made.explain(DATASET[16:])
    assert [r.vector for r in applied.recourses] == [r.vector for r in made.explanation_.recourses]
    assert [r.summary for r in applied.recourses] == [r.summary for r in made.explanation_.recourses]
    assert sorted(applied.inputs) == [i - 16 for i in REJECTS if i >= 16]
    assert applied.coverage > 0.5
    check_claims(applied)
    empty = made.explain(DATASET.subset([i for i in range(24) if i not in REJECTS]))
    assert len(empty.inputs) == 0


def test_models_explained_at_once_all_accept_what_all_rejected() -> None:
    dataset, first, second = trees(120), Shortcut(), Shortcut(unless=1)
    options: dict[str, Any] = {"theta": 0.4, "num_recourses": 2, "max_changes": 1, "jury": False}
    alone = explainer_of(first, panel=False, changes="connected", **options).fit(dataset).explanation_
    both = explainer_of(first, agree=[second], **options).fit(dataset).explanation_
    assert both.changes == "confirmed"
    assert 0 < len(both.inputs) < len(alone.inputs)
    assert any("2 classifiers are explained at once" in note for note in both.notes)
    graphs = [it.graph for it in both.inputs.values()]
    results = [member.counterfactual for recourse in both.recourses for member in recourse.covered]
    assert len(results) > 0.5 * len(graphs)
    for model in (first, second):
        assert (model.accept_probability(GraphBatch.from_graphs(graphs)) <= 0.5).all()
        assert (model.accept_probability(GraphBatch.from_graphs(results)) > 0.5).all()
    shown = [member.counterfactual for recourse in alone.recourses for member in recourse.covered]
    assert (second.accept_probability(GraphBatch.from_graphs(shown)) <= 0.5).any()  # alone, a shortcut is enough


def test_models_explained_at_once_keep_the_names_of_molecules() -> None:
    dataset, second = trees(40), Shortcut(unless=1)
    named = replace(dataset, names=tuple(f"molecule {index}" for index in range(len(dataset))))
    found = explainer_of(Shortcut(), agree=[second], theta=0.4, max_changes=1).fit(named).explanation_
    assert 0 < len(found.inputs) < len(dataset)
    assert all(it.name == f"molecule {index}" for index, it in found.inputs.items())


def test_models_that_agree_on_no_reject_leave_nothing_to_explain() -> None:
    dataset = trees(40)
    nothing = CommonRecourseExplainer(Shortcut(), agree=[Always(0.9, 4)]).fit(dataset).explanation_
    assert nothing.recourses == ()
    assert len(nothing.inputs) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"changes": "any"}, r"agree asks for changes='confirmed' \(got 'any'\)"),
        ({"panel": True}, "replaces the panel"),
    ],
)
def test_agreement_stands_alone(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        explainer_of(Shortcut(), agree=[Shortcut(unless=1)], **options).fit(trees(40))


def test_unseen_graphs_must_be_over_the_same_labels() -> None:
    with pytest.raises(InputError, match="call fit first"):
        explainer().explain(DATASET)
    made = explainer(num_recourses=1).fit(DATASET[:10].to_pyg())
    narrow = DATASET[10:12].to_pyg()
    for graph in narrow:
        graph.x = graph.x[:, :2].clone()
        graph.x[:, 0] = 1
    with pytest.raises(InputError, match="node features of width 3"):
        made.explain(narrow)
    strange = DATASET[10:12].to_pyg()
    strange[1].x[0] = 0.5
    with pytest.raises(InputError, match="node features seen in fit"):
        made.explain(strange)


def test_the_budget_binds_the_training_of_the_embedder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    deadlines: list[float] = []

    def train(*_: object, deadline: float, **__: object) -> None:
        deadlines.append(deadline - time.monotonic())
        raise KeyboardInterrupt

    monkeypatch.setattr("comrecgc.models.train_embedder", train)
    monkeypatch.setattr("comrecgc.models.greed.train_embedder", train)
    monkeypatch.setattr("comrecgc.models.training.user_cache_path", lambda name: tmp_path / name)
    with pytest.raises(KeyboardInterrupt):
        CommonRecourseExplainer(MODEL, Vectors(), context=RunContext(time_budget=100)).fit(DATASET)
    monkeypatch.setattr("comrecgc.models.obtain_classifier", lambda *_, **__: (MODEL, ModelFile("c", "0")))
    with pytest.raises(KeyboardInterrupt):
        explain_dataset(DATASET, tmp_path / "run", explainer_of(None, Vectors, time_budget=100))
    assert all(40 < seconds <= 50 for seconds in deadlines)
    assert len(deadlines) == 2


def test_an_embedder_is_trained_where_none_is_given() -> None:
    stages: list[str] = []
    training = EmbedderTraining(effort=0.001)
    made = explainer(embedder=training, num_recourses=3, theta=0.1, progress=lambda *at: stages.append(at[0]))
    found = made.fit(DATASET).explanation_
    assert "training" in stages
    assert found.recourses
    assert len(found.recourses[0].vector or ()) == 64


@pytest.mark.parametrize("kind", [Rules, Vectors])
def test_a_saved_explainer_goes_on(tmp_path: Path, kind: type[Algorithm]) -> None:
    whole = small_dataset(60)
    seen, unseen = (
        replace(whole, graphs=whole.graphs[part], classes=whole.classes[part]) for part in (slice(40), slice(40, None))
    )
    model, embedder = AvoidsLabel(2, 3), Histogram(DATASET.num_labels) if kind is Vectors else None
    own: dict[str, Any] = {"changes": "connected"} | ({} if embedder is None else {"embedder": embedder})
    made = explainer_of(model, kind, theta=0.3, num_recourses=3, panel=False, **own).fit(seen)
    made.save(tmp_path / "kept")
    run = open_run(tmp_path / "kept", classifier=model, embedder=embedder)
    assert run.explanation == made.explanation_
    assert run.apply(unseen) == made.explain(unseen)
    assert replace(run.apply(unseen.to_pyg()), schema=unseen.schema) == made.explain(unseen)
    if kind is Rules:
        assert run.choose(num_recourses=1).coverage == made.explanation_.coverage_curve[0]
    with pytest.raises(InputError, match="does not name its classifier"):
        open_run(tmp_path / "kept").apply(unseen)
    with pytest.raises(InputError, match="call fit first"):
        CommonRecourseExplainer(AvoidsLabel(2, 3)).save(tmp_path)


def test_a_model_of_several_classes_is_explained_from_one_to_another() -> None:
    """The class of a graph is its first label; only graphs of label 2 are to become of label 0."""
    graphs = [graph for graph in DATASET.to_pyg() if graph.num_nodes > 2]

    def first_label(data: list[Any]) -> list[list[float]]:
        return [
            [float(label == int(graph.x[0].argmax())) + 2.0 for label in range(DATASET.num_labels)] for graph in data
        ]

    truth = [int(graph.x[0].argmax()) for graph in graphs]
    for graph, label in zip(graphs, truth, strict=True):
        graph.y = torch.tensor([label])
    fitted = CommonRecourseExplainer(
        first_label,
        Rules(changes="any", max_changes=1),
        accept=0,
        reject=2,
        panel=False,
        theta=0.5,
        context=RunContext(jobs=1),
    ).fit(graphs)
    assert list(fitted.explanation_.inputs) == [index for index, label in enumerate(truth) if label == 2]
    assert fitted.explanation_.coverage == 1.0
    assert fitted.explanation_.facts.model_accuracy == 1.0  # its classes are those of y, the target against the rest
    with pytest.raises(InputError, match="accept must choose the class"):
        CommonRecourseExplainer(first_label).fit(graphs)
    with pytest.raises(InputError, match="accept is for models"):
        explainer(accept=1).fit(DATASET)


def test_numbers_at_nodes_are_cut_into_ranges_for_fit_and_for_unseen_graphs() -> None:
    rng = np.random.default_rng(0)
    graphs = DATASET.to_pyg()
    for graph in graphs:
        graph.x = torch.tensor(rng.normal(size=(graph.num_nodes, 1)), dtype=torch.float32)

    def highest(data: list[Any]) -> list[float]:
        return [float(graph.x.max()) for graph in data]

    seen = from_pyg(graphs[:20], bins=4)
    fitted = explainer_of(highest, threshold=0.5, panel=False, changes="any", theta=0.5, max_changes=1).fit(seen)
    assert fitted.dataset_.num_labels == 4
    assert fitted.explanation_.coverage > 0.5
    assert fitted.explain(from_pyg(graphs[20:], like=seen)).coverage > 0.5


def test_one_number_without_a_threshold_is_read_as_a_logit_and_noted() -> None:
    graphs = DATASET.to_pyg()[:12]
    middle = float(np.median([graph.num_nodes for graph in graphs])) + 0.25
    for graph in graphs:
        del graph.y

    def larger(data: list[Any]) -> list[float]:
        return [graph.num_nodes - middle for graph in data]

    def notes(**more: Any) -> tuple[str, ...]:
        return (
            CommonRecourseExplainer(larger, Rules(max_changes=1), panel=False, context=RunContext(jobs=1), **more)
            .fit(graphs)
            .explanation_.notes
        )

    assert any("read as a logit" in note for note in notes())
    assert not any("read as a logit" in note for note in notes(threshold=0.0))


def test_an_embedder_that_fit_did_not_need_is_trained_for_unseen_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    trained: list[int] = []

    def train(_graphs: object, num_labels: int, *_: object, **__: object) -> object:
        trained.append(num_labels)
        raise KeyboardInterrupt

    found = CommonRecourseExplainer(Always(0.9, 3), Vectors(changes="any")).fit(DATASET)
    monkeypatch.setattr("comrecgc.models.train_embedder", train)
    with pytest.raises(KeyboardInterrupt):
        found.explain(DATASET)
    assert trained == [3]
