"""Figures: which rule stands for a picture of the paper, and how it is drawn."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from comrecgc.graphs import Graph, Pattern, Rule, Schema
from comrecgc_reproduction.figures import WANTED, best_rules, difference, with_examples

NAMES = ("C", "H", "O", "N")
CARBON = next(wanted for wanted in WANTED if wanted.name == "carbon")  # a carbon and two hydrogens less


def test_hydrogens_count_in_a_difference() -> None:
    methyl = Pattern(labels=(0, 0, 1, 1, 1), edges=((0, 1), (1, 2), (1, 3), (1, 4)), edge_labels=None)
    hydrogen = Pattern(labels=(0, 1), edges=((0, 1),), edge_labels=None)
    closed = (False, True, True, True, True)
    rule = Rule(before=methyl, after=hydrogen, kept=((0, 0),), closed=closed)
    assert difference(rule, NAMES) == CARBON.difference == (("C", -1), ("H", -2))


def test_the_same_hydrogens_come_first_then_few_changes_then_success() -> None:
    differences = [
        (("C", -1),),  # other hydrogens
        (("C", -1), ("H", -2)),
        (("C", -1), ("O", -1)),  # another change
        (("C", -1), ("H", -2)),
        (("C", -1), ("H", -2)),
    ]
    assert best_rules(CARBON, differences, [1, 2, 1, 1, 1], [99, 50, 99, 3, 4]) == [4, 3, 1, 0]


def test_molecules_stand_below_their_rule() -> None:
    schema = Schema(label_names=NAMES, is_molecular=True)
    ethanol = Graph([0, 0, 2], [(0, 1), (1, 2)])
    amine = Graph([0, 0, 3], [(0, 1), (1, 2)])
    rule = '<svg width="400" height="30" xmlns="http://www.w3.org/2000/svg"/>'
    picture = ET.fromstring(with_examples(rule, [(ethanol, amine), (ethanol, amine)], schema))
    whole = [float(picture.attrib[name]) for name in ("width", "height")]
    parts = [part.attrib for part in picture if part.tag.endswith("svg")]
    assert len(parts) == 1 + 2 * 3  # a rule; before, arrow and after
    rows = [float(parts[place]["y"]) for place in (0, 1, 4)]
    assert rows == sorted(set(rows))
    for part in parts:
        assert float(part["x"]) + float(part["width"]) <= whole[0]
        assert float(part["y"]) + float(part["height"]) <= whole[1]
