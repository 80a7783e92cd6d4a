"""Rules carried out on other inputs than those they were mined from: which inputs each of them turns, and nothing else.

Mining looks at every change of every input. A census looks only for the rules of a table, so it is a map over inputs: blocks of them
may be counted anywhere and in any order. On the inputs that a table was mined from it finds what the table says.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from comrecgc.algorithms.rules import enumeration_kernels
from comrecgc.algorithms.rules.composition import Composition, Made, composite_keys
from comrecgc.algorithms.rules.matcher import Holders
from comrecgc.algorithms.rules.mining import ACCEPTED, Acceptance, Changes, FloatArray, IntArray, Workshop
from comrecgc.algorithms.rules.reading import read_rules
from comrecgc.algorithms.rules.table import MOST_CHANGES, RuleTable, packed
from comrecgc.algorithms.rules.vocabulary import Vocabulary
from comrecgc.graphs import Graph, Rule
from comrecgc.scoring import change_kernels

Keys = npt.NDArray[np.uint64]


@dataclass(frozen=True, eq=False, kw_only=True)
class Recipes:
    """What it takes to carry the rules of a table out elsewhere.

    Args:
        key: The rules, `[K]`, increasing,
        rules: and what each of them says, `[K]`.
        general: Single rules at radius 0 that are rules of the table or parts of one, increasing,
        exact: and single rules at radius 1 that are rules of the table, or that rules at radius 2 refine.
        narrow: What both are at radius 0, increasing.
        pairs: Single rules that are carried out together, `[P, 2]`.
        triples: Keys of pairs and the single rule beside each, `[T, 2]`.
    """

    key: Keys
    rules: tuple[Rule, ...]
    general: Keys
    exact: Keys
    narrow: Keys
    pairs: Keys
    triples: Keys

    @classmethod
    def of(cls, table: RuleTable, workshop: Workshop) -> Recipes:
        """The recipes of a table, read off the inputs it was mined from."""
        size = table.num_changes
        entries = np.concatenate([table.ptr[:-1], np.flatnonzero(size[table.rule] == MOST_CHANGES)])
        rule = np.concatenate([np.arange(len(table)), table.rule[entries[len(table) :]]])
        change = table.change[entries].astype(np.int32)
        members = _keys_of(table.input[entries], change, workshop)  # [V, 3, 2]: radius 0 and 1
        radius = np.minimum(table.radius[rule], 1).astype(np.int64)
        two, three = (np.flatnonzero(size[rule] == count) for count in (2, 3))
        general, inner = members[:, :, 0], np.concatenate([two, three])
        pair_of_three = composite_keys(general[three, :2], change[three, :2])
        alone = np.flatnonzero(size == 1)
        general_rules = general[alone[radius[alone] == 0], 0]
        exact = alone[radius[alone] == 1]
        every = np.unique(np.concatenate([general_rules, general[two, :2].ravel(), general[three].ravel()]))
        return cls(
            key=table.key,
            rules=tuple(record.rule for record in read_rules(table, workshop, range(len(table)))),
            general=every,
            exact=np.unique(members[exact, 0, 1]),
            narrow=np.union1d(every, general[exact, 0]),
            pairs=np.unique(general[inner, :2], axis=0),
            triples=np.unique(np.stack([pair_of_three, general[three, 2]], axis=1), axis=0),
        )

    @property
    def wanted(self) -> Any:
        """The single changes that carrying the rules out takes, as a `enumeration_kernels.Wanted`."""
        tables = (change_kernels.hash_table(keys) for keys in (self.narrow, self.general, self.exact))
        return enumeration_kernels.Wanted(*tables)


def _keys_of(inputs: npt.NDArray[np.int32], changes: npt.NDArray[np.int32], workshop: Workshop) -> Keys:
    """Keys of the single rule that each change carries out, at radius 0 and 1, `[V, 3, 2]`."""
    keys = np.zeros((len(inputs), MOST_CHANGES, 2), np.uint64)
    for input_ in np.unique(inputs).tolist():
        rows = np.flatnonzero(inputs == input_)
        where = {tuple(row): key for row, key in zip(*workshop.enumerated(input_), strict=True)}
        for row in rows.tolist():
            for place, change in enumerate(map(tuple, changes[row].tolist())):
                if change[0] >= 0:
                    keys[row, place] = where[change][:2]
    return keys


@dataclass(frozen=True, eq=False, kw_only=True)
class Census:
    """What a census says of some inputs.

    Args:
        turned: Inputs that each rule turns, `[K, …]`, eight to a byte; spare bits are 0.
        num_applicable: How many each rule can be carried out on by its own words, `[K]`.
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
    singles = workshop.changes(acceptance, wanted=recipes.wanted)
    composites: list[Made] = []
    if len(recipes.pairs) and len(singles):
        composites = Composition().carry_out(
            recipes.pairs, recipes.triples, singles, acceptance.log_odds(inputs, base), workshop, acceptance
        )
    shape = (len(recipes.key), len(inputs))
    turned = np.zeros((shape[0], -(-shape[1] // 8)), np.uint8)
    for key, input_ in _accepted_keys(singles, composites, workshop, recipes):
        place = np.searchsorted(recipes.key, key)
        listed = recipes.key[np.minimum(place, shape[0] - 1)] == key if shape[0] else np.zeros(len(key), bool)
        turned |= packed(place[listed], input_[listed], shape)
    known = np.unpackbits(turned, axis=1, count=len(inputs)).astype(bool)
    holds = Holders(inputs).hold(recipes.rules, known)
    return Census(turned=turned, num_applicable=holds.sum(axis=1, dtype=np.int64), num_inputs=len(inputs))


def _accepted_keys(
    singles: Changes, composites: Sequence[Made], workshop: Workshop, recipes: Recipes
) -> Iterator[tuple[Keys, IntArray]]:
    """Rules of every radius that are accepted somewhere, and the inputs where that is: keys and inputs, in pairs."""
    rows = np.flatnonzero(singles.accepted)
    narrow, exact = singles.rule[rows].T
    yield narrow, singles.input[rows]
    yield exact, singles.input[rows]
    rows = rows[np.isin(exact, recipes.exact)]
    yield (
        workshop.widened_keys(singles.input[rows], singles.change[rows, 0], singles.rule[rows, 1]),
        singles.input[rows],
    )
    for made in composites:
        rows = np.flatnonzero(made.goal > ACCEPTED)
        yield made.rule[rows], made.input[rows]
        yield workshop.exact_keys(made.input[rows], made.change[rows], made.exact[rows]), made.input[rows]
