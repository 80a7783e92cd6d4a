"""Chosen rules by their patterns: where they are shown, and how many inputs they turn, recounted by networkx and plain forward passes.

Also tests comrecgc.algorithms.rules.counting.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import comrecgc
from comrecgc.algorithms.rules import composition
from comrecgc.algorithms.rules.algorithm import Rules
from comrecgc.algorithms.rules.choice import choose
from comrecgc.algorithms.rules.mined import count_places
from comrecgc.algorithms.rules.mining import Oracle
from comrecgc.algorithms.rules.reading import PatternMatcher
from comrecgc.data import GraphDataset
from comrecgc.evidence.rule_evaluation import all_places, as_graph, as_networkx, carried_out
from comrecgc.explainer import CommonRecourseExplainer
from comrecgc.explanation import load_explanation, position_words
from comrecgc.graphs import Graph, GraphBatch
from comrecgc.report import compare
from comrecgc.scoring import change_kernels
from known_truth import fitted_subject
from tests.algorithms.rules import oracles

THETA = 0.12  # small enough that rules are too far in some inputs


class LikesBonds:
    """Accepts graphs with enough nodes of the last label and double bonds for their size."""

    num_labels = 3

    def accept_probability(self, batch: GraphBatch) -> np.ndarray:
        liked = [
            (graph.labels == 2).sum() + (0 if graph.edge_labels is None else (graph.edge_labels == 1).sum())
            for graph in batch
        ]
        return np.asarray(1 / (1 + np.exp(-(2.2 * np.array(liked) - 1.1 * batch.node_counts()))))


@cache
def fitted() -> CommonRecourseExplainer:
    rng = np.random.default_rng(4)
    graphs = [oracles.small_graph(rng, edge_labels=True, most_nodes=12) for _ in range(60)]
    graphs = [graph for graph in graphs if graph.num_nodes > 5 and graph.num_edges > 3]
    dataset = GraphDataset(
        name="small", graphs=tuple(graphs), classes=rng.integers(0, 2, len(graphs)).astype(np.int8),
        label_names=("X", "Y", "Z"), edge_label_names=("-", "="),
    )  # fmt: skip
    explainer = CommonRecourseExplainer(
        LikesBonds(), Rules(changes="connected"), theta=THETA, num_recourses=12, panel=False
    )
    with pytest.MonkeyPatch.context() as patch:  # as with graphs of many places
        patch.setattr(composition, "_PLACES", 1)
        patch.setattr(composition, "_MORE_PLACES", 1)
        return explainer.fit(dataset)


def test_every_entry_is_shown_at_the_site_that_was_mined() -> None:
    explainer = fitted()
    explanation, mined = explainer.explanation_, explainer.mined_
    assert mined is not None
    place_of = {index: place for place, index in enumerate(explanation.inputs)}
    assert any(recourse.rule is not None and recourse.rule.num_changes > 1 for recourse in explanation.recourses)
    for recourse in explanation.recourses:
        assert recourse.row is not None
        for member in recourse.covered:
            entry = mined.table.entry(recourse.row, place_of[member.input])
            assert entry >= 0
            built, origins = mined.scorer.built(
                mined.table.entries.input[[entry]], mined.table.entries.change[[entry]].astype(np.int32)
            )
            after = as_networkx(built[0])
            names = {k: int(old) if old >= 0 else ("new", k) for k, old in enumerate(origins[0])}
            # Nodes of a group that another replaces are new to the table and may be kept by the rule.
            kept = {node for node in names.values() if not isinstance(node, tuple)}
            ids = member.counterfactual.ids.tolist()
            shown = nx.relabel_nodes(
                as_networkx(member.counterfactual), {k: one if one in kept else ("new", k) for k, one in enumerate(ids)}
            )
            after = nx.relabel_nodes(after, names)
            for graph in (shown, after):
                for node in graph:
                    graph.nodes[node]["kept"] = -1 if isinstance(node, tuple) else node
            assert nx.is_isomorphic(shown, after, node_match=lambda a, b: a == b, edge_match=lambda a, b: a == b)


def test_chosen_rules_are_counted_at_all_places() -> None:
    explainer = fitted()
    explanation, model = explainer.explanation_, LikesBonds()
    composite = 0
    for recourse in explanation.recourses:
        rule, known = recourse.rule, recourse.statistics
        assert rule is not None
        can, turned, far, places, works = 0, set(), 0, 0, 0
        for index, it in explanation.inputs.items():
            plain = as_networkx(it.graph)
            outcomes = [carried_out(rule, plain, place) for place in all_places(rule, plain)]
            can += bool(outcomes)
            results = [as_graph(outcome.graph, it.graph) for outcome in outcomes]
            near = [
                result for result, outcome in zip(results, outcomes, strict=True)
                if outcome.cost <= THETA * (it.graph.size + result.size)
                and nx.number_connected_components(outcome.graph) <= nx.number_connected_components(plain)
            ]  # fmt: skip
            far += bool(outcomes) and outcomes[0].cost > THETA * (it.graph.size + results[0].size)
            accepted = model.accept_probability(GraphBatch.from_graphs(near)) > 0.5 if near else np.zeros(0, bool)
            if accepted.any():
                turned.add(index)
            places, works = places + len(near), works + int(accepted.sum())
        counted = known["places"]
        assert (counted["inputs"], counted["too_far"]) == (can - far, far)
        assert len(turned) <= counted["accepted"] <= min(works, counted["places"])
        if len(rule.before.labels) == 1:  # every node of the label is a place
            assert (counted["accepted"], counted["places"]) == (works, places)
        listed = {*(member.input for member in recourse.covered), *recourse.also_covers}
        assert (known["applicable"], known["accepted"]) == (can, len(listed))
        assert listed == turned if known["exact"] else listed < turned
        composite += rule.num_changes > 1 and known["exact"]
    assert composite > 0


def test_a_rule_keeps_its_row_through_files(tmp_path: Path) -> None:
    explainer = fitted()
    explainer.explanation_.save(tmp_path)
    rows = [recourse.row for recourse in explainer.explanation_.recourses]
    assert [recourse.row for recourse in load_explanation(tmp_path).recourses] == rows
    assert [recourse.row for recourse in load_explanation(tmp_path).choose().recourses] == rows


def test_sites_are_all_that_networkx_finds_up_to_what_looks_alike() -> None:
    explainer = fitted()
    mined = explainer.mined_
    assert mined is not None
    matcher, graphs = PatternMatcher(mined.rejects.graphs), mined.rejects.graphs
    for record in mined.rules(range(0, len(mined.table), 60)):
        inputs, sites = matcher.sites(record.rule, np.ones(len(graphs), bool), 10_000)
        for place, graph in enumerate(graphs):
            plain = as_networkx(graph)
            wanted = [
                as_graph(carried_out(record.rule, plain, at).graph, graph) for at in all_places(record.rule, plain)
            ]
            found = [
                as_graph(carried_out(record.rule, plain, dict(enumerate(site.tolist()))).graph, graph)
                for site in sites[inputs == place]
            ]
            assert all(any(is_same_up_to_names(one, other) for other in found) for one in wanted)
            assert len(found) <= len(wanted)


def is_same_up_to_names(one: Graph, other: Graph) -> bool:
    return oracles.same(oracles.to_networkx(one), oracles.to_networkx(other))


def test_with_a_census_everything_speaks_of_the_rules_that_were_chosen(tmp_path: Path) -> None:
    """Rules are chosen for all graphs; a choice for the sample alone may be another."""
    rng = np.random.default_rng(1)
    for seed in range(6):
        graphs = tuple(oracles.small_graph(rng, edge_labels=False, most_nodes=8) for _ in range(300))
        dataset = GraphDataset(name="many", graphs=graphs, classes=np.zeros(300, np.int8), label_names=("X", "Y", "Z"))
        explainer = CommonRecourseExplainer(
            LikesBonds(), Rules(changes="connected", max_changes=1, sample=30), theta=THETA, num_recourses=3, panel=False,
            random_state=seed,
        )  # fmt: skip
        explanation, mined = explainer.fit(dataset).explanation_, explainer.mined_
        assert mined is not None
        rows = [recourse.row for recourse in explanation.recourses]
        if rows != choose(mined.table, 3).rules.tolist():
            break
    else:
        pytest.fail("the sample and all graphs always lead to the same rules")
    subject = fitted_subject(explainer)
    assert subject.rows is not None
    assert subject.rows.tolist() == rows
    for recourse, results in zip(explanation.recourses, subject.results, strict=True):
        assert recourse.rule is not None
        for before, after in results[:5]:
            plain = as_networkx(before)
            made = [carried_out(recourse.rule, plain, at).graph for at in all_places(recourse.rule, plain)]
            assert any(is_same_up_to_names(as_graph(one, before), after) for one in made)
    explanation.save(tmp_path)
    compared = compare(explanation, load_explanation(tmp_path))
    for place, one in enumerate(compared.recourses):
        assert one.recourse.summary == explanation.recourses[place].summary
        assert [standing.place for standing in one.standings] == [place + 1] * 2
        assert one.standings[0].accepted == explanation.recourses[place].statistics["accepted"]


def test_the_position_that_decides_is_named(tmp_path: Path) -> None:
    chem = pytest.importorskip("rdkit.Chem")
    wanted = chem.MolFromSmarts("Fc:n")
    chains = ["C" * length for length in range(1, 16)]
    rows = [f"{chain}{ring},0" for chain in chains for ring in ("c1ccncc1", "c1cccnc1", "c1ccccc1")]
    accepted = [f"{chain}c1ccnc(F)c1,1" for chain in chains]
    (tmp_path / "rings.csv").write_text("\n".join(["smiles,binds", *rows, *accepted, ""]))
    dataset = comrecgc.load_dataset(str(tmp_path / "rings.csv"))
    model = comrecgc.as_classifier(
        lambda molecules: [float(it.HasSubstructMatch(wanted)) for it in molecules], dataset, call="molecules", return_type="probs"
    )  # fmt: skip
    rules = comrecgc.Rules(max_changes=1, choose="coverage", allow_alerts=True)
    explainer = comrecgc.CommonRecourseExplainer(model, rules, theta=0.3, num_recourses=10, panel=False, jury=False)
    mined = explainer.fit(dataset).mined_
    assert mined is not None
    rules_ = mined.table.rules
    row = int(np.flatnonzero((rules_.radius == 0) & (rules_.kinds[:, 0] == change_kernels.ATTACH))[0])
    counted = count_places(mined, [row], Oracle(classifier=explainer.classifier_)).places[row]
    assert counted.where is not None
    place, number, inside, outside = counted.where
    assert (place, inside, outside) == ("ortho to a ring nitrogen", 1.0, 0.0)
    assert number == counted.accepted < counted.places
    assert place in position_words(counted._asdict())
