"""Datasets too large to mine: a sample is mined as usual, and its rules are counted on all graphs, block after block.

Mining tries every change of every input. A census tries only the rules of a table, so it is a map over inputs: blocks can be counted anywhere and in
any order. On the inputs of the table it agrees with the table. A block is also the unit that an interrupted run keeps: its result is a file, written
whole or not at all, the same wherever it was made.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from comrecgc.algorithms.base import Task
from comrecgc.algorithms.rules import enumeration_kernels
from comrecgc.algorithms.rules.choice import RuleChoice, RuleFilter, choose_for_all, wilson_interval
from comrecgc.algorithms.rules.composition import ChangeRows, CompositeSearch, Composition, composite_keys
from comrecgc.algorithms.rules.mining import ACCEPTED, Changes, ChangeScorer, FloatArray, Oracle
from comrecgc.algorithms.rules.reading import PatternMatcher, read_rules
from comrecgc.algorithms.rules.table import MOST_CHANGES, RuleTable, pack_bits
from comrecgc.algorithms.rules.vocabulary import Vocabulary
from comrecgc.data import GraphDataset
from comrecgc.graphs import Graph, GraphBatch, IntArray, KeyArray, LongArray, Rule, Rung
from comrecgc.models import Classifier, log_odds, predict
from comrecgc.run import RunContext, check_same_facts, load_arrays, refusing_damage, require, save_arrays
from comrecgc.scoring import change_kernels

# Which inputs each rule of a table turns.


Keys = npt.NDArray[np.uint64]


@dataclass(frozen=True, eq=False, kw_only=True)
class RuleIndex:
    """Keys and patterns by which the rules of a table are found in other graphs."""

    key: Keys  # the rules, `[K]`, increasing,
    rules: tuple[Rule, ...]  # and what each of them says, `[K]`
    general: Keys  # single rules at radius 0 that are rules of the table or parts of one, increasing,
    exact: Keys  # and single rules at radius 1 that are rules of the table, or that rules at radius 2 refine
    narrow: Keys  # what both are at radius 0, increasing
    pairs: Keys  # single rules that are carried out together, `[P, 2]`
    triples: Keys  # keys of pairs and the single rule beside each, `[T, 2]`

    @classmethod
    def of(cls, table: RuleTable, scorer: ChangeScorer) -> RuleIndex:
        """The index of a table, read off the inputs it was mined from."""
        size = table.rules.num_changes
        entries = np.concatenate([table.ptr[:-1], np.flatnonzero(size[table.entries.rule] == MOST_CHANGES)])
        rule = np.concatenate([np.arange(len(table)), table.entries.rule[entries[len(table) :]]])
        change = table.entries.change[entries].astype(np.int32)
        members = _keys_of(table.entries.input[entries], change, scorer)  # [V, 3, 2]: radius 0 and 1
        radius = np.minimum(table.rules.radius[rule], 1).astype(np.int64)
        two, three = (np.flatnonzero(size[rule] == count) for count in (2, 3))
        general, inner = members[:, :, 0], np.concatenate([two, three])
        pair_of_three = composite_keys(general[three, :2], change[three, :2])
        alone = np.flatnonzero(size == 1)
        general_rules = general[alone[radius[alone] == 0], 0]
        exact = alone[radius[alone] == 1]
        every = np.unique(np.concatenate([general_rules, general[two, :2].ravel(), general[three].ravel()]))
        return cls(
            key=table.rules.key,
            rules=tuple(record.rule for record in read_rules(table, scorer, range(len(table)))),
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


def _keys_of(inputs: IntArray, changes: IntArray, scorer: ChangeScorer) -> Keys:
    """Keys of the single rule that each change carries out, at radius 0 and 1, `[V, 3, 2]`."""
    keys = np.zeros((len(inputs), MOST_CHANGES, 2), np.uint64)
    for input_ in np.unique(inputs).tolist():
        rows = np.flatnonzero(inputs == input_)
        where = {tuple(row): key for row, key in zip(*scorer.enumerated(input_), strict=True)}
        for row in rows.tolist():
            for place, change in enumerate(map(tuple, changes[row].tolist())):
                if change[0] >= 0:
                    keys[row, place] = where[change][:2]
    return keys


@dataclass(frozen=True, eq=False, kw_only=True)
class Census:
    """A census of some inputs."""

    turned: npt.NDArray[np.uint8]  # inputs that each rule turns, `[K, …]`, eight to a byte; spare bits are 0
    num_applicable: LongArray  # how many each rule can be carried out on according to its pattern, `[K]`
    num_inputs: int  # how many inputs there are

    @staticmethod
    def joined(parts: Sequence[Census]) -> Census:
        """The census of all inputs, part after part; every part begins at a new byte."""
        return Census(
            turned=np.concatenate([part.turned for part in parts], axis=1),
            num_applicable=np.sum([part.num_applicable for part in parts], axis=0),
            num_inputs=sum(part.num_inputs for part in parts),
        )

    @cached_property
    def num_accepted(self) -> LongArray:
        """Inputs that each rule turns, `[K]`."""
        return np.array([np.bitwise_count(row).sum() for row in self.turned], np.int64)

    @property
    def success(self) -> npt.NDArray[np.float64]:
        """Share of the inputs that match a rule that it turns, `[K]`."""
        return self.num_accepted / np.maximum(self.num_applicable, 1)


def count_rules(
    index: RuleIndex, inputs: Sequence[Graph], base: FloatArray, vocabulary: Vocabulary, oracle: Oracle
) -> Census:
    """Carry rules out on some inputs."""
    scorer = ChangeScorer(inputs=inputs, vocabulary=vocabulary)
    singles = scorer.changes(oracle, wanted=index.wanted)
    composites: list[ChangeRows] = []
    if len(index.pairs) and len(singles):
        search = CompositeSearch(Composition(), singles, oracle.log_odds(inputs, base), scorer, oracle)
        composites = search.carry_out(index.pairs, index.triples)
    shape = (len(index.key), len(inputs))
    turned = np.zeros((shape[0], -(-shape[1] // 8)), np.uint8)
    for key, input_ in _accepted_keys(singles, composites, scorer, index):
        place = np.searchsorted(index.key, key)
        listed = index.key[np.minimum(place, shape[0] - 1)] == key if shape[0] else np.zeros(len(key), bool)
        turned |= pack_bits(place[listed], input_[listed], shape)
    known = np.unpackbits(turned, axis=1, count=len(inputs)).astype(bool)
    holds = PatternMatcher(inputs).hold(index.rules, known)
    return Census(turned=turned, num_applicable=holds.sum(axis=1, dtype=np.int64), num_inputs=len(inputs))


def _accepted_keys(
    singles: Changes, composites: Sequence[ChangeRows], scorer: ChangeScorer, index: RuleIndex
) -> Iterator[tuple[Keys, IntArray]]:
    """Rules of every radius that are accepted somewhere, with the inputs: pairs of a key and an input."""
    for made in (ChangeRows.of(singles), *composites):
        rows = made.take(np.flatnonzero(made.goal > ACCEPTED))
        exact = rows.keys(1, singles, scorer)
        yield rows.key, rows.input
        yield exact, rows.input
        if made.part.shape[1] == 1:
            rows = rows.take(np.flatnonzero(np.isin(exact, index.exact)))
            yield rows.keys(2, singles, scorer), rows.input


# All graphs in blocks, and the choice for all.


CENSUS = "census.npz"
"""File in a run folder of the inputs that each rule turns."""

BLOCK_FILES = "census-*.npz"
"""Files of the blocks of an unfinished census."""

BLOCK = 2000
"""Graphs per block, which take some seconds."""

STAGE = "blocks of graphs"
"""The name of the stage in which rules are carried out on all graphs."""

_MOST_STUDIED = 10  # times the graphs of a sample that are looked at where few are rejected
_CONFIDENCE = 0.95
_KINDS = {"turned": "u2", "num_applicable": "i1"}


@dataclass(frozen=True, eq=False, kw_only=True)
class FullDataset:
    """All graphs of a dataset of which only a sample is mined."""

    dataset: GraphDataset  # the graphs
    studied: LongArray  # indices of those in the sample, `[n]`, increasing

    @property
    def study(self) -> GraphDataset:
        """The sample."""
        return self.dataset.subset(self.studied.tolist())


def first_sample(dataset: GraphDataset, sample: int, seed: int) -> GraphDataset:
    """Graphs to train models on: all, or the first of those that a sample is made of."""
    if len(dataset) <= sample:
        return dataset
    return dataset.subset(np.sort(_shuffled(dataset, seed)[:sample]).tolist())


def population_of(dataset: GraphDataset, classifier: Classifier, sample: int, seed: int) -> FullDataset | None:
    """The dataset and a sample of it; None where the sample is all.

    The first graphs of a shuffle are the sample, and more of them until half as many are rejected.
    """
    if len(dataset) <= sample:
        return None
    order = _shuffled(dataset, seed)
    size, rejected = 0, 0
    while size < min(len(dataset), _MOST_STUDIED * sample) and (size < sample or rejected < sample // 2):
        part = order[size : size + sample]
        rejected += len(predict(classifier, [dataset.graphs[i] for i in part.tolist()]).rejects)
        size += len(part)
    return None if size == len(dataset) else FullDataset(dataset=dataset, studied=np.sort(order[:size]))


def _shuffled(dataset: GraphDataset, seed: int) -> LongArray:
    return np.random.default_rng([seed, 12]).permutation(len(dataset))


@dataclass(frozen=True, eq=False, kw_only=True)
class CensusWork:
    """What every block needs."""

    index: RuleIndex  # keys and patterns of the rules
    vocabulary: Vocabulary  # what they were mined with
    oracle: Oracle  # the models; its panel must reject inputs too where all are explained together
    unanimous: bool = False  # whether that is so


def count_block(work: CensusWork, batch: GraphBatch) -> Census:
    """The census of one block: its rejected graphs and the rules that turn each."""
    probability = np.asarray(work.oracle.classifier.accept_probability(batch), np.float64)
    rejected = probability <= 0.5
    for member in work.oracle.panel if work.unanimous else ():
        rejected &= member.accept_probability(batch) <= 0.5
    places = np.flatnonzero(rejected)
    graphs = [batch[place] for place in places.tolist()]
    return count_rules(work.index, graphs, log_odds(probability[places]), work.vocabulary, work.oracle)


def take_census(work: CensusWork, dataset: GraphDataset, context: RunContext) -> Census:
    """Carry rules out on all graphs."""
    folder, key = context.folder, work.index.key
    blocks = range(-(-len(dataset) // BLOCK))
    kept: dict[int, Census] = {}
    if folder is not None and context.resume:
        kept = {
            block: load_census(_file(folder, block), key, block) for block in blocks if _file(folder, block).exists()
        }
    waiting = [block for block in blocks if block not in kept]
    batches = (dataset.batch(block * BLOCK, (block + 1) * BLOCK) for block in waiting)
    work.vocabulary.compiled  # noqa: B018  # made once, and it travels
    for block, census in zip(waiting, context.engine.map(count_block, work, batches), strict=True):
        if folder is not None:
            save_census(_file(folder, block), census, key, block)
        kept[block] = census
        context.show_progress(STAGE, len(kept), len(blocks))
    return Census.joined([kept[block] for block in sorted(kept)])


def save_census(path: Path, census: Census, key: KeyArray, block: int | None = None) -> None:
    """Write a census of the rules of these keys, of one block or of all."""
    arrays = {name: getattr(census, name) for name in _KINDS}
    save_arrays(path, arrays, [_name(key, block), census.num_inputs], compress=True)


def load_census(path: Path, key: KeyArray, block: int | None = None) -> Census:
    """Read a census, which must be of these rules and this block."""
    arrays, facts = load_arrays(path, _KINDS, compressed=True)
    with refusing_damage(path):
        name, num_inputs = facts
        turned = arrays["turned"]
        require(isinstance(num_inputs, int) and num_inputs >= 0, "a number of inputs")
    check_same_facts(path, name, _name(key, block))
    with refusing_damage(path):
        require(turned.shape[0] == len(key) == len(arrays["num_applicable"]), "a row per rule")
        require(turned.dtype == np.uint8 and turned.shape[1] * 8 >= num_inputs, "a bit per input")
        return Census(turned=turned, num_applicable=arrays["num_applicable"].astype(np.int64), num_inputs=num_inputs)


def _file(folder: Path, block: int) -> Path:
    return folder / BLOCK_FILES.replace("*", f"{block:07d}")


def _name(key: KeyArray, block: int | None) -> list[Any]:
    return [hashlib.sha256(key.tobytes()).hexdigest(), BLOCK, block]


@dataclass(frozen=True, eq=False, kw_only=True)
class FullChoice:
    """A choice of rules for all inputs, of which a sample is shown."""

    choice: RuleChoice  # the rules
    census: Census  # what all rules of the table do to all inputs
    table: RuleTable  # the rules on the sample
    on_sample: RuleChoice  # those that would be chosen on the sample alone

    @classmethod
    def chosen(
        cls, census: Census, table: RuleTable, task: Task[Any], wishes: RuleFilter, *, on_sample: RuleChoice
    ) -> FullChoice | None:
        """What is chosen under some wishes; None where the panel's consent counts and only the sample was asked for it."""
        if wishes.confirmed and task.changes != str(Rung.CONFIRMED):
            return None
        choice = choose_for_all(table, census, task.num_recourses, wishes)
        return cls(choice=choice, census=census, table=table, on_sample=on_sample)

    def figures(self) -> dict[str, float | None]:
        """Figures of the choice on all inputs."""
        reached = np.bitwise_or.reduce(self.census.turned[self.on_sample.rules], axis=0, initial=0)
        num = max(self.census.num_inputs, 1)
        return {
            "population_inputs": self.census.num_inputs,
            "population_coverage": self.choice.coverage,
            "population_bound": self.choice.bound / num,
            "population_coverage_of_sample_choice": float(np.bitwise_count(reached).sum()) / num,
            "population_most_lost": most_lost(self.table),
        }

    def statistics(self) -> list[dict[str, Any]]:
        """What each chosen rule does to all inputs."""
        found = []
        for row, gain in zip(self.choice.rules.tolist(), self.choice.gains.tolist(), strict=True):
            accepted, applicable = int(self.census.num_accepted[row]), int(self.census.num_applicable[row])
            success, interval = accepted / max(applicable, 1), list(wilson_interval(accepted, applicable))
            known = {"applicable": applicable, "accepted": accepted, "success": success, "interval": interval}
            found.append(known | {"gain": gain})
        return found


def most_lost(table: RuleTable) -> float:
    """Share of all inputs that any rule outside the table of a sample turns at most, with 95% confidence.

    Rules that the table leaves out turn few of the n inputs of the sample; by Hoeffding's inequality and a union bound over all rules that
    were seen, none turns more of all inputs than that share and `sqrt(log(rules / 0.05) / 2n)`. A rule of such a share that no input of the
    sample shows has a chance of `(1 - share)^n`, which is next to nothing.
    """
    num, rules = max(table.num_inputs, 1), len(table) + table.counts.num_left_out
    return min(
        1.0, table.counts.most_left_out / num + math.sqrt(math.log(max(rules, 1) / (1 - _CONFIDENCE)) / (2 * num))
    )


def sample_note(table: RuleTable, census: Census) -> str:
    """What a reader must know of a sample."""
    return (
        f"Rules were mined on a sample of {table.num_inputs:,} of {census.num_inputs:,} rejected graphs, and carried out on all to choose among "
        f"them; the graphs shown are those of the sample. With 95% confidence no rule outside the table turns more than {most_lost(table):.1%} "
        "of all."
    )
