"""Every rule of the table as a person can read it: the rule itself, its words, and which of its nodes a change speaks of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from comrecgc.graphs import Rule
from comrecgc.molecules import smirks_of
from comrecgc.pipeline.mined_rules import MinedRules
from comrecgc.wording import RuleAt, Words, describe_rules


@dataclass(frozen=True, eq=False, kw_only=True)
class CataloguedRule:
    """A rule of the table.

    Args:
        rule: The rule.
        ends: For each of its changes, as the rule's first entry in the table has them: the nodes of `rule.before` that the change names
            first and second; -1 where it names none.
        words: The rule in words; None where they are known otherwise.
        smirks: The rule as SMIRKS, for molecules.
    """

    rule: Rule
    ends: tuple[tuple[int, int], ...]
    words: Words | None
    smirks: str | None


def catalogue_of(mined: MinedRules, known: Mapping[int, str] | None = None) -> list[CataloguedRule]:
    """Every rule of a table, in its order.

    Args:
        mined: The table and what it was mined from.
        known: Lines of rows that are in words already, from more places than the one that is looked at here.
    """
    table, dataset, known = mined.table, mined.rejects.dataset, known or {}
    rows = [row for row in range(len(table)) if row not in known]
    first = [mined.rejects.graphs[table.input[table.ptr[row]]] for row in range(len(table))]
    words = describe_rules(
        [RuleAt(mined.rules[row][0], [(first[row], mined.rules[row][1])]) for row in rows],
        dataset.label_names,
        edge_label_names=dataset.edge_label_names,
        is_molecular=dataset.is_molecular,
        taken=frozenset(known.values()),
    )
    told = dict(zip(rows, words, strict=True))
    found = []
    for row, (rule, site) in enumerate(mined.rules):
        rank = {node: k for k, node in enumerate(site)}
        changes = table.change[int(table.ptr[row])].tolist()
        ends = tuple((rank[one], rank.get(other, -1)) for kind, one, other, _ in changes if kind >= 0)
        smirks = smirks_of(rule, dataset.label_names, dataset.edge_label_names) if dataset.is_molecular else None
        found.append(CataloguedRule(rule=rule, ends=ends, words=told.get(row), smirks=smirks))
    return found
