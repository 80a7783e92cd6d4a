"""More graphs than can be mined: a sample of them is studied as usual, and the rules it gives are carried out on all, block after block.

A block is the unit of everything: of work on threads or on a cluster, and of what an interrupted run keeps. Its result is a
file, written whole or not at all, and does not depend on where it was made.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from comrecgc.algorithms.base import Task
from comrecgc.algorithms.rules.census import Census, Recipes, count_rules
from comrecgc.algorithms.rules.choice import RuleChoice, Wishes, choose_for_all, wilson_interval
from comrecgc.algorithms.rules.mining import Acceptance, log_odds
from comrecgc.algorithms.rules.table import RuleTable
from comrecgc.algorithms.rules.vocabulary import Vocabulary
from comrecgc.data import GraphDataset
from comrecgc.graphs import GraphBatch, Rung
from comrecgc.models import Classifier, predict
from comrecgc.run import RunContext, check_same_facts, load_arrays, refusing_damage, require, save_arrays

CENSUS = "census.npz"
"""File in a run folder of the inputs that each rule turns."""

BLOCK_FILES = "census-*.npz"
"""Files of the blocks of an unfinished census."""

BLOCK = 2000
"""Graphs of a block: some seconds of work."""

STAGE = "blocks of graphs"
"""What progress is told while rules are carried out on all graphs."""

_MOST_STUDIED = 10  # times the graphs of a sample that are looked at where few are rejected
_CONFIDENCE = 0.95
_KINDS = {"turned": "u2", "num_applicable": "i1"}


@dataclass(frozen=True, eq=False, kw_only=True)
class Population:
    """All graphs, where only a sample of them is studied.

    Args:
        dataset: The graphs.
        studied: Indices of those in the sample, `[n]`, increasing.
    """

    dataset: GraphDataset
    studied: npt.NDArray[np.int64]

    @property
    def study(self) -> GraphDataset:
        """The sample."""
        return self.dataset.subset(self.studied.tolist())


def first_sample(dataset: GraphDataset, sample: int, seed: int) -> GraphDataset:
    """Graphs to train models on: all, or the first of those that a sample is made of."""
    if len(dataset) <= sample:
        return dataset
    return dataset.subset(np.sort(_shuffled(dataset, seed)[:sample]).tolist())


def population_of(dataset: GraphDataset, classifier: Classifier, sample: int, seed: int) -> Population | None:
    """The dataset and a sample of it; None where the sample is all.

    The first graphs of a shuffle are the sample, and more of them until half as many are rejected.

    Args:
        dataset: The graphs.
        classifier: The model.
        sample: How large the sample is.
        seed: Of the shuffle.
    """
    if len(dataset) <= sample:
        return None
    order = _shuffled(dataset, seed)
    size, rejected = 0, 0
    while size < min(len(dataset), _MOST_STUDIED * sample) and (size < sample or rejected < sample // 2):
        part = order[size : size + sample]
        rejected += len(predict(classifier, [dataset.graphs[i] for i in part.tolist()]).rejects)
        size += len(part)
    return Population(dataset=dataset, studied=np.sort(order[:size]))


def _shuffled(dataset: GraphDataset, seed: int) -> npt.NDArray[np.int64]:
    return np.random.default_rng([seed, 12]).permutation(len(dataset))


@dataclass(frozen=True, eq=False, kw_only=True)
class CensusWork:
    """What every block needs.

    Args:
        recipes: The rules.
        vocabulary: What they were mined with.
        acceptance: Who is asked; its panel must reject inputs too where all are explained together.
        unanimous: Whether that is so.
    """

    recipes: Recipes
    vocabulary: Vocabulary
    acceptance: Acceptance
    unanimous: bool = False


def count_block(work: CensusWork, batch: GraphBatch) -> Census:
    """The census of one block: its rejected graphs and the rules that turn each."""
    probability = np.asarray(work.acceptance.classifier.accept_probability(batch), np.float64)
    rejected = probability <= 0.5
    for member in work.acceptance.panel if work.unanimous else ():
        rejected &= member.accept_probability(batch) <= 0.5
    places = np.flatnonzero(rejected)
    graphs = [batch[place] for place in places.tolist()]
    return count_rules(work.recipes, graphs, log_odds(probability[places]), work.vocabulary, work.acceptance)


def take_census(work: CensusWork, dataset: GraphDataset, context: RunContext) -> Census:
    """Carry rules out on all graphs.

    Args:
        work: What every block needs.
        dataset: All graphs.
        context: Where blocks are counted, and the folder that keeps a file for every block.
    """
    folder, key = context.folder, work.recipes.key
    blocks = range(num_blocks_of(len(dataset)))
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
        context.tell(STAGE, len(kept), len(blocks))
    return Census.joined([kept[block] for block in sorted(kept)])


def num_blocks_of(num_graphs: int) -> int:
    """Blocks that so many graphs make."""
    return -(-num_graphs // BLOCK)


def save_census(path: Path, census: Census, key: npt.NDArray[np.uint64], block: int | None = None) -> None:
    """Write a census.

    Args:
        path: The `.npz` file.
        census: The census.
        key: Keys of its rules.
        block: Which block it is of; None for all.
    """
    arrays = {name: getattr(census, name) for name in _KINDS}
    save_arrays(path, arrays, [_name(key, block), census.num_inputs], compress=True)


def load_census(path: Path, key: npt.NDArray[np.uint64], block: int | None = None) -> Census:
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


def _name(key: npt.NDArray[np.uint64], block: int | None) -> list[Any]:
    return [hashlib.sha256(key.tobytes()).hexdigest(), BLOCK, block]


@dataclass(frozen=True, eq=False, kw_only=True)
class Whole:
    """A choice of rules for all inputs, of which a sample is shown.

    Args:
        choice: The rules.
        census: What all rules of the table do to all inputs.
        table: The rules on the sample.
        on_sample: Those that would be chosen on the sample alone.
    """

    choice: RuleChoice
    census: Census
    table: RuleTable
    on_sample: RuleChoice

    @classmethod
    def chosen(
        cls, census: Census, table: RuleTable, task: Task[Any], wishes: Wishes, *, on_sample: RuleChoice
    ) -> Whole | None:
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
            found.append(
                {
                    "applicable": applicable,
                    "accepted": accepted,
                    "success": accepted / max(applicable, 1),
                    "interval": list(wilson_interval(accepted, applicable)),
                    "gain": gain,
                }
            )
        return found


def most_lost(table: RuleTable) -> float:
    """Share of all inputs that any rule outside the table of a sample turns at most, with 95% confidence.

    Rules that the table leaves out turn few of the n inputs of the sample; by Hoeffding's inequality and a union bound over all rules that
    were seen, none turns more of all inputs than that share and `sqrt(log(rules / 0.05) / 2n)`. A rule of such a share that no input of the
    sample shows has a chance of `(1 - share)^n`, which is next to nothing.
    """
    num, rules = max(table.num_inputs, 1), len(table) + table.num_left_out
    return min(1.0, table.most_left_out / num + math.sqrt(math.log(max(rules, 1) / (1 - _CONFIDENCE)) / (2 * num)))


def sample_note(table: RuleTable, census: Census) -> str:
    """What a reader must know of a sample."""
    return (
        f"Rules were mined on a sample of {table.num_inputs:,} of {census.num_inputs:,} rejected graphs, and carried out on all to choose among "
        f"them; the graphs shown are those of the sample. With 95% confidence no rule outside the table turns more than {most_lost(table):.1%} "
        "of all."
    )
