"""Rule recourse as an algorithm: mine a table of rules on the rejects; if those are a sample, count the rules on all graphs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from comrecgc.algorithms.base import Algorithm, Task, option
from comrecgc.algorithms.inputs import Rejects
from comrecgc.algorithms.plausibility import Plausibility
from comrecgc.algorithms.rules.choice import KINDS, LEAST_TRUTH, RuleFilter
from comrecgc.algorithms.rules.mined import (
    COUNTED_RULES,
    MOST_RULES,
    MinedRules,
    change_scorer_of,
    mine_rules,
    oracle_of,
)
from comrecgc.algorithms.rules.mining import ChangeScorer
from comrecgc.algorithms.rules.population import CensusWork, FullDataset, RuleIndex, take_census
from comrecgc.algorithms.rules.table import MOST_CHANGES, Entries, MiningCounts, RuleColumns, RuleTable
from comrecgc.algorithms.rules.vocabulary import MAX_NODES, Group, Vocabulary
from comrecgc.errors import InputError
from comrecgc.graphs import Graph, Ladder, Rung, fingerprint
from comrecgc.models import Classifier
from comrecgc.molecules import MolecularChemistry, SmartsWishes, bonding_under
from comrecgc.run import RunContext, load_arrays, refusing_damage, require, save_arrays
from comrecgc.scoring import change_kernels

RULES = "rules.npz"
"""File of the table of rules in a run folder."""


@dataclass(frozen=True, kw_only=True)
class Rules(Algorithm):
    """Rule recourse: changes in a context that a person can carry out, the same for every graph, mined exhaustively."""

    name: ClassVar[str] = "rules"
    recourse: ClassVar[str] = "rules"
    default_recourses: ClassVar[int] = 10

    max_changes: int | None = option(
        None,
        "Most changes made together; by default 2, or 1 for a table of molecules if one change turns half of them.",
        least=1,
        most=3,
    )
    choose: str = option(
        "truth",
        "Aim of the choice of rules: truth (results that models of other kinds expect to come true) or coverage (results that this model accepts).",
        choices=("truth", "coverage"),
        panel="Trust",
    )
    min_success: float = option(
        0.0,
        "Least success of a rule: of the graphs it can be carried out on, the share that it turns.",
        least=0,
        most=1,
    )
    min_support: int = option(1, "Fewest graphs that a rule turns.", least=1)
    max_cost: int | None = option(None, "Most elements that a rule changes.", least=1)
    protect: tuple[str, ...] = option((), "SMARTS of the parts of molecules that must stay.", panel="Molecules")
    forbid: tuple[str, ...] = option((), "SMARTS that no result may gain.", panel="Molecules")
    only: tuple[str, ...] = option((), "SMARTS of the parts of molecules that may change.", panel="Molecules")
    allow_alerts: bool = option(
        False, "Allow changes of molecules that bring structural alerts (Brenk) or fall apart.", panel="Molecules"
    )
    keep_druglike: bool = option(
        False,
        "Refuse results whose weight, logP, polar surface, synthetic accessibility or QED leave the range of drugs.",
        panel="Molecules",
    )
    sample: int = option(
        5000,
        "Size of the sample to mine in larger datasets; the rules are then counted on all graphs.",
        least=1,
        panel="Scale",
    )

    def wishes(self) -> RuleFilter:
        """Conditions on chosen rules."""
        return RuleFilter(
            max_changes=self.max_changes or MOST_CHANGES, min_success=self.min_success, min_support=self.min_support, max_cost=self.max_cost,
            confirmed=self.changes == "confirmed", min_truth=LEAST_TRUTH if self.choose == "truth" else 0.0,
        )  # fmt: skip

    def smarts(self) -> SmartsWishes:
        """SMARTS to keep, to avoid or to change."""
        return SmartsWishes(protect=self.protect, forbid=self.forbid, only=self.only)

    def find(
        self,
        task: Task[Rules],
        classifier: Classifier,
        rejects: Rejects,
        plausibility: Plausibility,
        context: RunContext,
        population: FullDataset | None = None,
    ) -> MinedRules:
        """Mine the rejects; the checkpoint keeps the table as soon as it is complete."""
        path = None if context.folder is None else context.folder / RULES
        if path is not None and context.resume and path.exists():
            mined = stored_rules(task, rejects, plausibility.ladder, path)
        else:
            most_rules = MOST_RULES if population is None else COUNTED_RULES
            mined = mine_rules(task, rejects, classifier, plausibility, context, most_rules=most_rules)
            if path is not None and not mined.table.counts.num_out_of_time:
                save_table(path, mined.table, rejects.graphs, complete=mined.complete)
        context.clock.lap("mining")
        if population is None:
            return mined
        scorer = change_scorer_of(task, mined.rejects, plausibility.ladder, context.num_jobs)
        work = CensusWork(
            index=RuleIndex.of(mined.table, scorer),
            vocabulary=scorer.vocabulary,
            oracle=oracle_of(task, mined.rejects, classifier, plausibility),
            unanimous=plausibility.panel is not None and plausibility.panel.unanimous,
        )
        census = take_census(work, population.dataset, context)
        context.clock.lap("census")
        return replace(mined, census=census)


def stored_rules(task: Task[Rules], rejects: Rejects, ladder: Ladder, path: Path) -> MinedRules:
    """The mined rules of a run, read from a file without any model."""
    names, rung = rejects.dataset.edge_label_names, Rung.parse(task.changes)
    table, complete = load_table(
        path, rejects.graphs, num_labels=rejects.dataset.num_labels, num_edge_labels=len(names or "-")
    )
    chemistry, bonding = ladder.chemistry, None
    if isinstance(chemistry, MolecularChemistry) and rung >= Rung.PLAUSIBLE and len(rejects):
        bonding = bonding_under(chemistry, labelled=rejects.graphs[0].edge_labels is not None)
    vocabulary = Vocabulary(
        groups=table.groups, names=np.zeros(len(table.groups), np.uint64), rung=rung, theta=task.theta,
        num_labels=rejects.dataset.num_labels, num_edge_labels=len(names or "-"), ladder=ladder, bonding=bonding,
        offered=np.ones(len(table.groups), bool),
    )  # fmt: skip
    scorer = ChangeScorer(inputs=rejects.graphs, vocabulary=vocabulary)
    return MinedRules(table=table, scorer=scorer, rejects=rejects, complete=complete)


# The table of rules on disk: written with the run, read without the model, and only if every number in it can be.


_COLUMNS = {
    RuleColumns: {
        "key": "u1", "general": "u1", "radius": "i1", "kinds": "i2", "cost": "i1", "adds": "b2", "removes": "b2", "applicable": "u2",
        "random_success": "f1", "exact": "b1", "strays": "i1",
    },
    Entries: {"rule": "i1", "input": "i1", "change": "i3", "margin": "f1", "votes": "i1", "truth": "i1"},
}  # fmt: skip
_KINDS = {name: kind for columns in _COLUMNS.values() for name, kind in columns.items()} | {
    "base": "f1",
    "needed": "i1",
}
_TYPES = {
    "key": np.uint64, "general": np.uint64, "applicable": np.uint8, "rule": np.int64, "change": np.int16, "margin": np.float32,
    "strays": np.int8, "votes": np.int8, "truth": np.int8, "needed": np.int8,
}  # fmt: skip
_NO_SHARE = -1.0  # stands for NaN, which files do not hold
_MOST_RADIUS = 2
_MOST_VOTES = 100


def save_table(path: Path, table: RuleTable, inputs: Sequence[Graph], *, complete: bool) -> None:
    """Write a table."""
    arrays: dict[str, npt.NDArray[Any]] = {name: getattr(table.rules, name) for name in _COLUMNS[RuleColumns]}
    arrays |= {name: getattr(table.entries, name) for name in _COLUMNS[Entries]}
    arrays |= {
        "base": table.base,
        "needed": table.needed,
        "random_success": np.nan_to_num(table.rules.random_success, nan=_NO_SHARE),
    }
    facts = {
        "inputs": fingerprint(inputs),
        "counts": asdict(table.counts),
        "complete": complete,
        "groups": [[group.labels, group.edges, group.edge_labels, group.bond] for group in table.groups],
    }
    save_arrays(path, arrays, facts, compress=True)


def load_table(
    path: Path, inputs: Sequence[Graph], *, num_labels: int, num_edge_labels: int = 1
) -> tuple[RuleTable, bool]:
    """Read a table, and whether mining was complete."""
    arrays, facts = load_arrays(path, _KINDS, compressed=True, advice="")
    with refusing_damage(path, advice=""):
        theirs = str(facts["inputs"])
    if theirs != fingerprint(inputs):
        raise InputError(f"{path} is a rule table of another dataset: the graphs must be those it was mined from")
    with refusing_damage(path, advice=""):
        groups = tuple(_group(row, num_labels, num_edge_labels) for row in facts["groups"])
        counts = {name: int(value) for name, value in facts["counts"].items()}
        require(min(counts.values()) >= 0, "counts must not be negative")
        arrays = {name: array.astype(_TYPES.get(name, array.dtype)) for name, array in arrays.items()}
        share = arrays["random_success"].astype(np.float32)
        arrays["random_success"] = np.where(share < 0, np.float32(np.nan), share)
        table = RuleTable(
            rules=RuleColumns(**{name: arrays[name] for name in _COLUMNS[RuleColumns]}),
            entries=Entries(**{name: arrays[name] for name in _COLUMNS[Entries]}),
            base=arrays["base"],
            needed=arrays["needed"],
            groups=groups,
            counts=MiningCounts(**counts),
        )
        _check_rules(table, len(inputs), num_labels)
        _check_entries(table, inputs)
        _check_changes(table, inputs, num_labels, num_edge_labels)
        return table, bool(facts["complete"])


def _group(row: Any, num_labels: int, num_edge_labels: int) -> Group:
    labels, edges, edge_labels, bond = row
    group = Group(
        tuple(map(int, labels)), tuple((int(i), int(j)) for i, j in edges), tuple(map(int, edge_labels)), int(bond)
    )
    size = len(group.labels)
    require(1 <= size <= MAX_NODES, "groups are small")
    require(all(0 <= label < num_labels for label in group.labels), "labels of groups must be in the alphabet")
    require(all(0 <= i < j < size for i, j in group.edges), "edges of groups must join their nodes")
    require(len(set(group.edges)) == len(group.edges) == len(group.edge_labels), "edges of groups have one label each")
    require(
        all(0 <= label < num_edge_labels for label in (*group.edge_labels, group.bond)), "edge labels must be known"
    )
    require(1 + sum(map(len, group.children)) == size, "groups must be connected")
    return group


def _check_rules(table: RuleTable, num_inputs: int, num_labels: int) -> None:
    """Check that every array has a row per rule, with values that rules can have."""
    rules, size = table.rules, len(table)
    require((rules.key[1:] > rules.key[:-1]).all(), "keys must increase")
    wide = {"kinds": MOST_CHANGES, "adds": num_labels, "removes": num_labels, "applicable": -(-num_inputs // 8)}
    for name in _COLUMNS[RuleColumns]:
        shape = (size, wide[name]) if name in wide else (size,)
        require(getattr(rules, name).shape == shape, f"{name} must have shape {shape}")
    require(table.base.shape == table.needed.shape == (num_inputs,), "every input has log-odds, and votes it needs")
    require(((table.needed >= 0) & (table.needed <= _MOST_VOTES)).all(), "votes must be votes")
    require(((rules.radius >= 0) & (rules.radius <= _MOST_RADIUS)).all(), "radius must be 0, 1 or 2")
    require(((rules.kinds >= -1) & (rules.kinds < len(KINDS))).all(), "kinds must be known")
    require((rules.kinds[:, 0] >= 0).all(), "a rule has a change")
    require((rules.cost >= 1).all() and (rules.strays >= 0).all(), "a change costs something")
    known = rules.random_success[~np.isnan(rules.random_success)]
    require((known <= 1).all(), "shares must be at most 1")
    spare = np.unpackbits(rules.applicable, axis=1)[:, num_inputs:]
    require(not spare.any(), "inputs must be inputs")


def _check_entries(table: RuleTable, inputs: Sequence[Graph]) -> None:
    """Check that entries name, in order, inputs that match the rule."""
    entries, size = table.entries, len(table.entries)
    for name in _COLUMNS[Entries]:
        shape = (size, MOST_CHANGES, 4) if name == "change" else (size,)
        require(getattr(entries, name).shape == shape, f"{name} must have shape {shape}")
    require(np.array_equal(np.unique(entries.rule), np.arange(len(table))), "a rule turns some input")
    require(((entries.input >= 0) & (entries.input < len(inputs))).all(), "inputs must be inputs")
    rises = np.diff(entries.rule * len(inputs) + entries.input) > 0
    require(rises.all(), "rules, and inputs of a rule, must increase")
    require(((entries.votes >= -1) & (entries.votes <= _MOST_VOTES)).all(), "votes must be votes")
    require(((entries.truth >= -1) & (entries.truth <= 100)).all(), "truth must be a percentage")
    holds = np.unpackbits(table.rules.applicable, axis=1)[entries.rule, entries.input] if size else np.ones(0)
    require(bool(holds.all()), "a rule turns only inputs that hold what it finds")


def _check_changes(table: RuleTable, inputs: Sequence[Graph], num_labels: int, num_edge_labels: int) -> None:
    """Check that changes have the kinds of their rule, at existing nodes and edges; compiled code relies on it."""
    changing = change_kernels
    kind, first, second, value = (table.entries.change[:, :, k].astype(np.int64) for k in range(4))
    kinds = np.sort(table.rules.kinds, axis=1)[table.entries.rule]  # the changes of a rule may stand in any order
    require((np.sort(kind, axis=1) == kinds).all(), "changes must be of the kinds of their rule")
    nodes = np.array([graph.num_nodes for graph in inputs], np.int64)[table.entries.input][:, None]
    made = kind >= 0
    require(((first >= 0) & (first < nodes))[made].all(), "nodes must be nodes")
    alone = np.isin(kind, (changing.RELABEL, changing.ATTACH))
    require((second == -1)[made & alone].all(), "some changes are about one node")
    both = made & ~alone
    require(((second >= 0) & (second < nodes) & (second != first))[both].all(), "nodes must be nodes")
    values = {
        changing.RELABEL: num_labels, changing.ATTACH: len(table.groups), changing.SWAP: len(table.groups),
        changing.JOIN: num_edge_labels, changing.REBOND: num_edge_labels, changing.TIE: len(table.groups),
    }  # fmt: skip
    for which, most in values.items():
        chosen = value[kind == which]
        require(((chosen >= 0) & (chosen < most)).all(), "values must be known")
    tied = {int(group) for group in np.unique(value[kind == changing.TIE])}
    require(all(len(table.groups[group].labels) == 1 for group in tied), "one node is tied to two others")
    most_nodes = int(nodes.max(initial=1)) + 1
    edges = [
        np.sort(graph.edges.astype(np.int64), axis=1) @ [most_nodes, 1] + place * most_nodes**2
        for place, graph in enumerate(inputs)
    ]
    present = np.concatenate([np.zeros(0, np.int64), *edges])
    where = np.broadcast_to(table.entries.input[:, None].astype(np.int64), kind.shape)
    low, high = np.minimum(first, second), np.maximum(first, second)
    names = where * most_nodes**2 + low * most_nodes + high
    needs = np.isin(kind, (changing.DETACH, changing.SWAP, changing.CUT, changing.REBOND))
    require(np.isin(names[needs], present).all(), "only edges that are there can change")
