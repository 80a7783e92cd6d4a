"""Rules carried out on other inputs than those they were mined from: which inputs each of them turns, and nothing else.

Mining looks at every change of every input. A census looks only for the rules of a table, so it is a map over inputs: blocks of them
may be counted anywhere and in any order. On the inputs that a table was mined from it finds what the table says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from comrecgc.graphs import Graph
from comrecgc.rules.composition import Composition, Made, composite_keys
from comrecgc.rules.mining import Acceptance, FloatArray, Workshop
from comrecgc.rules.table import MOST_CHANGES, WIDE, RuleTable, accepted_rows, holding, packed
from comrecgc.rules.vocabulary import Vocabulary

Keys = npt.NDArray[np.uint64]


@dataclass(frozen=True, eq=False, kw_only=True)
class Recipes:
    """What it takes to carry the rules of a table out elsewhere.

    Args:
        key: The rules, `[K]`, increasing.
        found: Keys of what each change of a rule finds, `[K, 3]`; 0 where it has fewer.
        general: Single rules at radius 0 that are rules of the table or parts of one, increasing,
        exact: and single rules at radius 1 that are rules of the table, or that rules at radius 2 refine.
        wider: Keys at radius 1 of what rules at radius 2 find, increasing.
        pairs: Single rules that are carried out together, `[P, 2]`.
        triples: Keys of pairs and the single rule beside each, `[T, 2]`.
    """

    key: Keys
    found: Keys
    general: Keys
    exact: Keys
    wider: Keys
    pairs: Keys
    triples: Keys

    @classmethod
    def of(cls, table: RuleTable, workshop: Workshop) -> Recipes:
        """The recipes of a table, read off the inputs it was mined from."""
        size = table.num_changes
        entries = np.concatenate([table.ptr[:-1], np.flatnonzero(size[table.rule] == MOST_CHANGES)])
        rule = np.concatenate([np.arange(len(table)), table.rule[entries[len(table) :]]])
        change = table.change[entries].astype(np.int32)
        members, found = _keys_of(table.input[entries], change, workshop)  # [V, 3, 2] each: radius 0 and 1
        radius = np.minimum(table.radius[rule], 1).astype(np.int64)
        two, three = (np.flatnonzero(size[rule] == count) for count in (2, 3))
        general, inner = members[:, :, 0], np.concatenate([two, three])
        pair_of_three = composite_keys(general[three, :2], change[three, :2])
        alone = np.flatnonzero(size == 1)
        general_rules = general[alone[radius[alone] == 0], 0]
        found = found[np.arange(len(table)), :, radius[: len(table)]]
        wide = np.flatnonzero(table.radius == WIDE)
        wider = np.unique(found[wide, 0])
        found[wide, 0] = workshop.widened_keys(table.input[entries[wide]], change[wide, 0], found[wide, 0])
        return cls(
            key=table.key,
            found=found,
            general=np.unique(np.concatenate([general_rules, general[two, :2].ravel(), general[three].ravel()])),
            exact=np.unique(members[alone[radius[alone] == 1], 0, 1]),
            wider=wider,
            pairs=np.unique(general[inner, :2], axis=0),
            triples=np.unique(np.stack([pair_of_three, general[three, 2]], axis=1), axis=0),
        )


def _keys_of(inputs: npt.NDArray[np.int32], changes: npt.NDArray[np.int32], workshop: Workshop) -> tuple[Keys, Keys]:
    """Keys of the single rule that each change carries out, and of what it finds, at radius 0 and 1, `[V, 3, 2]` each."""
    keys = np.zeros((len(inputs), MOST_CHANGES, 4), np.uint64)
    for input_ in np.unique(inputs).tolist():
        rows = np.flatnonzero(inputs == input_)
        where = {tuple(row): key for row, key in zip(*workshop.enumerated(input_), strict=True)}
        for row in rows.tolist():
            for place, change in enumerate(map(tuple, changes[row].tolist())):
                if change[0] >= 0:
                    keys[row, place] = where[change]
    return keys[:, :, :2], keys[:, :, 2:]


@dataclass(frozen=True, eq=False, kw_only=True)
class Census:
    """What a census says of some inputs.

    Args:
        turned: Inputs that each rule turns, `[K, …]`, eight to a byte; spare bits are 0.
        num_applicable: How many hold what each change of a rule finds, `[K]`.
        num_inputs: How many inputs there are.
    """

    turned: npt.NDArray[np.uint8]
    num_applicable: npt.NDArray[np.int64]
    num_inputs: int

    @staticmethod
    def joined(parts: Sequence[Census]) -> Census:
        """Of all inputs, part after part; every part begins a byte of its own."""
        return Census(
            turned=np.concatenate([part.turned for part in parts], axis=1),
            num_applicable=np.sum([part.num_applicable for part in parts], axis=0),
            num_inputs=sum(part.num_inputs for part in parts),
        )

    @cached_property
    def num_accepted(self) -> npt.NDArray[np.int64]:
        """Inputs that each rule turns, `[K]`."""
        return np.array([np.bitwise_count(row).sum() for row in self.turned], np.int64)

    @property
    def success(self) -> npt.NDArray[np.float64]:
        """Share of the inputs that hold what a rule finds that it turns, `[K]`."""
        return self.num_accepted / np.maximum(self.num_applicable, 1)


def count_rules(
    recipes: Recipes, inputs: Sequence[Graph], base: FloatArray, vocabulary: Vocabulary, acceptance: Acceptance
) -> Census:
    """Carry rules out on some inputs.

    Args:
        recipes: The rules.
        inputs: The graphs.
        base: Log-odds of accept of each, `[N]`.
        vocabulary: What the rules were mined with.
        acceptance: Who was asked.
    """
    workshop = Workshop(inputs=inputs, vocabulary=vocabulary)
    singles = workshop.changes(acceptance, wanted=(recipes.general, recipes.exact))
    composites: list[Made] = []
    if len(recipes.pairs) and len(singles):
        composites = Composition().carry_out(
            recipes.pairs, recipes.triples, singles, acceptance.log_odds(inputs, base), workshop, acceptance
        )
    rows = accepted_rows(singles, composites, workshop, 1, definite=False)
    known = np.isin(rows.key, recipes.key)
    return Census(
        turned=packed(
            np.searchsorted(recipes.key, rows.key[known]), rows.input[known], (len(recipes.key), len(inputs))
        ),
        num_applicable=np.bitwise_count(holding(recipes.found, recipes.wider, workshop, len(inputs))).sum(
            axis=1, dtype=np.int64
        ),
        num_inputs=len(inputs),
    )
