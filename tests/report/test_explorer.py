from __future__ import annotations

import base64
import gzip
import json
from typing import Any

import numpy as np
import pytest

from comrecgc.explanation import Explanation
from comrecgc.graphs import NeighbourIndex
from comrecgc.graphs.rewriting import find_sites
from comrecgc.report import explorer as module
from comrecgc.report.explorer import _most_entries, loaded_chooser, packed_table
from comrecgc.report.pages import render_report
from tests.explanations import planted_rules
from tests.report.live import chooser_of, live_explanation


@pytest.fixture(scope="module")
def live() -> Explanation:
    return live_explanation()


@pytest.fixture(scope="module")
def packed(live: Explanation) -> dict[str, Any]:
    return unpacked(packed_table(live, chooser_of(live)))


def unpacked(text: str) -> dict[str, Any]:
    """What the page's script reads, arrays among the facts."""
    content = gzip.decompress(base64.b64decode(text))
    size = int.from_bytes(content[:4], "little")
    facts: dict[str, Any] = json.loads(content[4 : 4 + size])
    for name, (kind, start, length) in facts["arrays"].items():
        facts[name] = np.frombuffer(content, np.dtype(kind).newbyteorder("<"), length, 4 + size + start)
    return facts


def test_the_packed_table_is_the_table(live: Explanation, packed: dict[str, Any]) -> None:
    chooser = chooser_of(live)
    table = chooser.mined.table
    turned = np.unpackbits(packed["turned"].reshape(len(table), -1), axis=1, count=table.num_inputs)
    assert all(np.flatnonzero(row).tolist() == table.inputs_of(k).tolist() for k, row in enumerate(turned))
    assert (packed["applicable"].reshape(table.rules.applicable.shape) == table.rules.applicable).all()
    assert packed["votes"].tolist() == table.entries.votes.tolist()
    assert packed["cost"].tolist() == table.rules.cost.tolist()
    assert np.abs(packed["afterwards"] / 255 - 1 / (1 + np.exp(-table.entries.margin))).max() < 0.003
    assert len(packed["rules"]) == len(table)
    assert packed["index"].tolist() == chooser.mined.rejects.indices.tolist()


def test_nodes_that_changes_name_stand_where_the_rule_says(live: Explanation, packed: dict[str, Any]) -> None:
    chooser = chooser_of(live)
    table, graphs = chooser.mined.table, chooser.mined.rejects.graphs
    start = 0
    for row, catalogued in enumerate(chooser.mined.rules()):
        num, width = int(packed["numPlaces"][row]), 2 * len(catalogued.ends)
        columns = packed["places"][start : start + num * width].reshape(width, num)
        start += num * width
        wanted = [node for ends in catalogued.ends for node in ends]
        graph = graphs[table.entries.input[table.ptr[row]]]
        fixed = {node: int(columns[k, 0]) for k, node in enumerate(wanted) if node >= 0}
        assert any(
            all(site[node] == target for node, target in fixed.items())
            for site in find_sites(catalogued.rule, NeighbourIndex(graph))
        )
    assert start == len(packed["places"])


def test_the_words_of_chosen_rules_are_those_of_the_explanation(live: Explanation, packed: dict[str, Any]) -> None:
    rows = packed["chosen"]
    assert rows == [recourse.row for recourse in live.recourses]
    assert [packed["rules"][row][0] for row in rows] == [recourse.summary for recourse in live.recourses]
    assert all(rule[0] and rule[1] for rule in packed["rules"])


def test_rows_are_those_that_the_explanation_keeps_not_those_of_a_new_choice(live: Explanation) -> None:
    others = live.choose(radii=[2])
    rows = [recourse.row for recourse in others.recourses]
    assert rows
    assert not {*rows} & {recourse.row for recourse in live.recourses}
    facts = unpacked(packed_table(others, chooser_of(live)))
    assert facts["chosen"] == rows
    known = [facts["known"][str(row)]["applicable"] for row in rows]
    assert known == [recourse.statistics["applicable"] for recourse in others.recourses]


def test_failures_are_no_successes(live: Explanation, packed: dict[str, Any]) -> None:
    chooser = chooser_of(live)
    table = chooser.mined.table
    assert packed["failures"]
    for row, failures in packed["failures"].items():
        for place, reason, site in failures:
            assert reason in ("rung", "rejected")
            assert table.can_be_carried_out(int(row))[place]
            assert table.entry(int(row), place) == -1
            assert len(site) == len(packed["rules"][int(row)][3][0])


def test_a_large_table_keeps_fewer_places(live: Explanation, monkeypatch: pytest.MonkeyPatch) -> None:
    table = chooser_of(live).mined.table
    widths = 2 * table.rules.num_changes
    assert _most_entries(table.num_accepted, widths) == table.num_accepted.max()
    monkeypatch.setattr(module, "MOST_PLACES", 1)
    assert _most_entries(table.num_accepted, widths) == 8  # enough to show some


def test_the_page_is_the_same_every_time(live: Explanation, packed: dict[str, Any]) -> None:
    again = unpacked(packed_table(live, chooser_of(live)))
    assert {name: repr(value) for name, value in again.items()} == {name: repr(value) for name, value in packed.items()}


def test_without_a_table_the_page_is_not_alive(live: Explanation) -> None:
    assert loaded_chooser(planted_rules()) is None
    still = live.using(chooser=None)
    assert 'id="packed"' not in render_report(still)
