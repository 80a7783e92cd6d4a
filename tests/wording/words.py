"""One rule in words."""

from __future__ import annotations

from collections.abc import Sequence

from comrecgc.graphs import Graph, Rule, Schema, Site
from comrecgc.wording import RuleAt, Words, describe_rules


def describe_rule(rule: Rule, schema: Schema, *, places: Sequence[tuple[Graph, Site]] = ()) -> Words:
    return describe_rules([RuleAt(rule, places)], schema)[0]
