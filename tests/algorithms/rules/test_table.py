"""The table of rules and inputs: every entry holds when worked out again, graph by graph."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest
import torch

from comrecgc.algorithms.rules.composition import CompositeSearch, Composition
from comrecgc.algorithms.rules.mining import ACCEPTED, ChangeScorer, Oracle
from comrecgc.algorithms.rules.reading import read_rule
from comrecgc.algorithms.rules.table import RuleTable, Tabulation
from comrecgc.graphs import Graph, GraphBatch, Rule, Rung, can_be_carried_out, carry_out
from comrecgc.models import log_odds
from tests.algorithms.rules import oracles
from tests.algorithms.rules.test_mining import random_network

THETA = 0.3


class Mined:
    """Single and composite rules of random graphs, tabulated."""

    def __init__(self, *, edge_labels: bool, jobs: int = 1, seed: int = 4) -> None:
        rng = np.random.default_rng(seed)
        self.data = oracles.small_data(rng, edge_labels=edge_labels, num_graphs=60)
        self.model = random_network("gcn", rng)
        batch = GraphBatch.from_graphs(self.data.graphs)
        with torch.no_grad():  # half of the graphs are rejects, most of them by little
            self.model.fc.bias[1] -= float(np.median(log_odds(self.model.accept_probability(batch))))
        probability = self.model.accept_probability(batch)
        rejects = np.flatnonzero(probability < 0.5)
        self.base = log_odds(probability[rejects])
        self.inputs = [self.data.graphs[i] for i in rejects.tolist()]
        self.scorer = ChangeScorer(
            inputs=self.inputs, vocabulary=oracles.small_vocabulary(self.data, Rung.CONNECTED, THETA), jobs=jobs
        )
        oracle = Oracle(classifier=self.model)
        self.singles = self.scorer.changes(oracle)
        composition = Composition(num_parts=30, num_tried=20, num_rounds=2, num_extended=10)
        self.composites, self.finished = CompositeSearch(
            composition, self.singles, self.base, self.scorer, oracle
        ).search()
        self.table: RuleTable = Tabulation(scorer=self.scorer, oracle=oracle).table(
            self.singles, self.composites, self.base
        )

    def read(self, entry: int) -> tuple[Rule, Graph, Graph, tuple[int, ...]]:
        """Rule, graph, result and place of an entry."""
        place, row = int(self.table.entries.input[entry]), self.table.entries.change[entry].astype(np.int32)
        batch, origins = self.scorer.built(np.array([place]), row[None])
        radius = int(self.table.rules.radius[self.table.entries.rule[entry]])
        rule, site = read_rule(
            self.inputs[place], batch[0], origins[0].tolist(), row, self.scorer.vocabulary.groups, radius
        )
        return rule, self.inputs[place], batch[0], site


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "edge labels"])
def mined(request: pytest.FixtureRequest) -> Mined:
    return Mined(edge_labels=request.param)


def test_every_entry_holds(mined: Mined) -> None:
    table = mined.table
    assert set(table.rules.num_changes.tolist()) == {1, 2, 3}
    entries = np.random.default_rng(0).permutation(len(table.entries.input))[:200]
    results = []
    for entry in entries:
        rule, graph, changed, site = mined.read(entry)
        result = carry_out(rule, graph, site)
        assert oracles.same(oracles.to_networkx(result), oracles.to_networkx(changed))
        assert rule.cost == table.rules.cost[table.entries.rule[entry]]
        assert rule.num_changes == table.rules.num_changes[table.entries.rule[entry]]
        assert rule.distance(graph, result) <= THETA
        results.append(result)
    margin = log_odds(mined.model.accept_probability(GraphBatch.from_graphs(results)))
    assert (margin > 0).all()
    assert np.allclose(margin, table.entries.margin[entries], atol=1e-3)


def test_entries_are_all_that_is_accepted(mined: Mined) -> None:
    singles, table = mined.singles, mined.table
    wide = mined.scorer.widened_keys(singles.input, singles.change[:, 0], singles.rule[:, 1])
    keys = np.column_stack([singles.rule, wide])
    assert set(table.rules.radius[table.rules.num_changes == 1].tolist()) == {0, 1, 2}
    for rule in np.flatnonzero(table.rules.num_changes == 1):
        rows = keys[:, table.rules.radius[rule]] == table.rules.key[rule]
        wanted = np.unique(singles.input[rows & (singles.margin > ACCEPTED)])
        entries = slice(table.ptr[rule], table.ptr[rule + 1])
        assert np.array_equal(table.entries.input[entries], wanted)
        best = [singles.margin[rows & (singles.input == i)].max() for i in wanted]
        assert np.allclose(table.entries.margin[entries], best, atol=1e-6)


def test_a_rule_can_be_carried_out_where_its_pattern_fits(mined: Mined) -> None:
    table = mined.table
    for rule in np.random.default_rng(1).permutation(len(table))[:150]:
        pattern = mined.read(int(table.ptr[rule]))[0]
        fits = np.array([can_be_carried_out(pattern, graph) for graph in mined.inputs])
        counted = table.can_be_carried_out(rule)
        assert table.rules.num_applicable[rule] == counted.sum()
        turned = table.inputs_of(rule)
        assert fits[turned].all()
        assert counted[turned].all()
        if table.rules.num_changes[rule] == 1:  # of composite rules all parts are found, though perhaps not together
            assert fits[counted].all()
            if not any(
                pattern.closed
            ):  # a closed node may have neighbours within the map that the pattern does not name
                assert np.array_equal(fits, counted)
        assert table.success[rule] == pytest.approx(len(turned) / counted.sum())


def test_labels_added_and_removed_are_the_difference_of_both_sides(mined: Mined) -> None:
    table = mined.table
    for rule in range(len(table)):
        pattern = mined.read(int(table.ptr[rule]))[0]
        before, after = (np.bincount(side.labels, minlength=3) for side in (pattern.before, pattern.after))
        assert np.array_equal(table.rules.adds[rule], after > before)
        assert np.array_equal(table.rules.removes[rule], after < before)


def test_random_success_is_that_of_all_changes_of_the_kind(mined: Mined) -> None:
    table, singles = mined.table, mined.singles
    for rule in range(0, len(table), 7):
        if table.rules.num_changes[rule] > 1:
            assert np.isnan(table.rules.random_success[rule])
            continue
        shares = []
        for i in np.flatnonzero(table.can_be_carried_out(rule)):
            rows = (singles.input == i) & (singles.change[:, 0, 0] == table.rules.kinds[rule, 0])
            shares.append(singles.accepted[rows].mean() if rows.any() else 0.0)
        assert table.rules.random_success[rule] == pytest.approx(np.mean(shares), abs=1e-5)


def test_incidence_and_entries_say_the_same(mined: Mined) -> None:
    table = mined.table
    dense = table.incidence().toarray()
    assert np.array_equal(dense.sum(axis=1), table.num_accepted)
    assert (np.diff(table.rules.key.astype(object)) > 0).all()
    for rule in range(0, len(table), 11):
        for i in range(table.num_inputs):
            entry = table.entry(rule, i)
            assert (entry >= 0) == dense[rule, i]
            assert entry < 0 or (table.entries.rule[entry], table.entries.input[entry]) == (rule, i)


def test_fewer_rules_keep_those_that_turn_most_and_some_that_seldom_fail(mined: Mined) -> None:
    few = Tabulation(scorer=mined.scorer, oracle=Oracle(classifier=mined.model), most_rules=10).table(
        mined.singles, mined.composites, mined.base
    )
    every = np.sort(mined.table.num_accepted)[::-1]
    order = np.argsort(-few.num_accepted, kind="stable")
    assert np.array_equal(few.num_accepted[order[:8]], every[:8])
    assert (few.success[order[8:]] >= 0.5).all()
    assert few.counts.num_left_out == len(mined.table) - 10 + mined.table.counts.num_left_out
    assert few.counts.most_left_out == mined.table.num_accepted[~np.isin(mined.table.rules.key, few.rules.key)].max()


def test_definite_rules_say_where_they_are_made(mined: Mined) -> None:
    enough = np.zeros(len(mined.data.label_names), bool)
    enough[0] = True
    whole, definite = (
        Tabulation(scorer=mined.scorer, oracle=Oracle(classifier=mined.model), most_rules=100_000, definite=labels).table(
        mined.singles, mined.composites, mined.base
    )
        for labels in (None, enough)
    )  # fmt: skip
    assert 0 < len(definite) < len(whole)
    assert set(definite.rules.key.tolist()) <= set(whole.rules.key.tolist())
    attached_to_leaves = 0
    for row in range(len(whole)):
        entry = int(whole.ptr[row])
        graph = mined.scorer.inputs[whole.entries.input[entry]]
        rows = [change for change in whole.entries.change[entry].tolist() if change[0] >= 0]
        vague = any(kind in (0, 4, 5, 6) or graph.labels[first] != 0 for kind, first, _, _ in rows)  # relabels, edges
        on_leaf = any(kind == 1 and graph.degrees()[first] < 2 for kind, first, _, _ in rows)
        radius = whole.rules.radius[row]
        attached_to_leaves += on_leaf and radius == 1
        assert (whole.rules.key[row] in definite.rules.key) == (
            radius == 2 or (not on_leaf if radius == 1 else not vague)
        )
    assert attached_to_leaves > 0


def test_a_jury_estimates_every_entry(mined: Mined) -> None:
    oracle = Oracle(classifier=mined.model, jury=jury_by_size(), folds=np.arange(len(mined.scorer.inputs)) % 2)
    table = Tabulation(scorer=mined.scorer, oracle=oracle).table(mined.singles, mined.composites, mined.base)
    built = mined.scorer.built(table.entries.input, table.entries.change.astype(np.int32))[0]
    wanted = np.rint(100 * by_size(built, table.entries.input % 2))
    assert len(np.unique(wanted)) > 3
    assert np.array_equal(table.entries.truth, wanted)
    assert table.has_jury
    assert not mined.table.has_jury
    first = table.entries_of(0)
    assert table.mean_truth[0] == pytest.approx(wanted[first].mean() / 100)


def by_size(batch: GraphBatch, folds: Any, starts: Any = None) -> Any:
    del starts
    return 1 / (1 + batch.node_counts() + folds)


def jury_by_size() -> Any:
    class BySize:
        truth = staticmethod(by_size)

    return BySize()


def test_the_table_does_not_depend_on_the_number_of_threads(mined: Mined) -> None:
    other = Mined(edge_labels=mined.data.edge_label_names is not None, jobs=2).table
    for ours, theirs in ((mined.table.rules, other.rules), (mined.table.entries, other.entries)):
        for field in fields(ours):
            assert np.array_equal(
                getattr(ours, field.name), getattr(theirs, field.name), equal_nan=field.name == "random_success"
            )
