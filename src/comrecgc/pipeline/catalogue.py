"""Every rule of the table as a person can read it: the rule itself, its words, and which of its nodes a change speaks of."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from comrecgc.graphs import Rule
from comrecgc.molecules import smirks_of
from comrecgc.pipeline.mined_rules import MinedRules
from comrecgc.wording import Words, describe_rule


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


def catalogue_of(mined: MinedRules, known: Collection[int] = ()) -> list[CataloguedRule]:
    """Every rule of a table, in its order.

    Args:
        mined: The table and what it was mined from.
        known: Rows whose words are known already, from more places than the one that is looked at here.
    """
    table, dataset = mined.table, mined.rejects.dataset
    found = []
    for row, (rule, site) in enumerate(mined.rules):
        entry = int(table.ptr[row])
        graph = mined.rejects.graphs[table.input[entry]]
        words = None
        if row not in known:
            words = describe_rule(
                rule, dataset.label_names, edge_label_names=dataset.edge_label_names, is_molecular=dataset.is_molecular,
                places=[(graph, site)],
            )  # fmt: skip
        rank = {node: k for k, node in enumerate(site)}
        ends = tuple(
            (rank[first], rank.get(second, -1)) for kind, first, second, _ in table.change[entry].tolist() if kind >= 0
        )
        smirks = smirks_of(rule, dataset.label_names, dataset.edge_label_names) if dataset.is_molecular else None
        found.append(CataloguedRule(rule=rule, ends=ends, words=words, smirks=smirks))
    return found
