"""Rules mined from a dataset, or read back from a run folder: enough to choose from again and again."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from comrecgc.algorithms.base import Task
from comrecgc.algorithms.inputs import Rejects
from comrecgc.algorithms.judges import Judges
from comrecgc.algorithms.rules.census import Census
from comrecgc.algorithms.rules.composition import Composition
from comrecgc.algorithms.rules.files import load_table
from comrecgc.algorithms.rules.matcher import Holders
from comrecgc.algorithms.rules.mining import Acceptance, Workshop, log_odds
from comrecgc.algorithms.rules.permission import MolecularPermission
from comrecgc.algorithms.rules.reading import MinedRule, entry_sites, read_rules
from comrecgc.algorithms.rules.table import RuleTable, tabulate
from comrecgc.algorithms.rules.vocabulary import Vocabulary
from comrecgc.errors import InputError
from comrecgc.graphs import GraphBatch, Ladder, Rung, Site
from comrecgc.models import Classifier
from comrecgc.molecules import MolecularChemistry, bonding_under, has_rdkit
from comrecgc.run import RunContext

if TYPE_CHECKING:
    from comrecgc.algorithms.rules.algorithm import Rules

MOST_RULES, COUNTED_RULES = 3000, 600
"""Rules that a table keeps; the second where each is carried out on far more graphs than it was mined from."""

MOST_ASKED = 60_000_000
"""Nodes of graphs with one change that a model is shown, if only a forward pass can score them, and as many again of graphs with two, or three: about
a minute each. A few graphs of some hundred nodes reach it, where any two nodes may be joined."""

_SHARE_OF_SINGLES = 0.4  # of the time for the search that such a model is shown graphs with one change
_TIMED = 64  # inputs on which its speed is measured

LEAST_CONFIRMED = 0.5
"""Share of the molecules a rule turns for which most of the panel must agree, where molecules come with charges and aromaticity: whoever reads such rules
means to make something, and what moves one model alone is not worth it."""


@dataclass(frozen=True, eq=False, kw_only=True)
class MinedRules:
    """What mining a dataset ends with: enough to choose rules again and again.

    Args:
        table: The rules and the inputs each turns.
        workshop: Carries out changes.
        rejects: The inputs.
        complete: Whether there was time for all that was to be tried.
        census: What the rules do to all inputs, where those here are a sample; None where they are all.
        records: Rules that were read off the table already, by their rows.
    """

    table: RuleTable
    workshop: Workshop
    rejects: Rejects
    complete: bool = True
    census: Census | None = None
    records: dict[int, MinedRule] = field(default_factory=dict)

    def rules(self, rows: Sequence[int] | None = None) -> list[MinedRule]:
        """Rules of the table by their rows; None for all."""
        rows = range(len(self.table)) if rows is None else rows
        new = [row for row in rows if row not in self.records]
        self.records.update(zip(new, read_rules(self.table, self.workshop, new), strict=True))
        return [self.records[row] for row in rows]

    def sites(self, row: int, inputs: Sequence[int]) -> list[Site]:
        """Where a rule is carried out in inputs that it turns, in the order of its nodes: the very places of the table."""
        entries = np.array([self.table.entry(row, place) for place in inputs], np.int64)
        found = entry_sites(self.table, self.workshop, self.rules([row])[0].rule, entries)
        assert all(site is not None for site in found), "the entries of a counted rule carry out its pattern"
        return [site for site in found if site is not None]


def mine_rules(
    task: Task[Rules],
    rejects: Rejects,
    classifier: Classifier,
    judges: Judges,
    context: RunContext,
    *,
    most_rules: int = MOST_RULES,
) -> MinedRules:
    """Mine every change of every reject, and combinations of the promising ones.

    With a time budget, composite rules stop being tried when the search must end, and models that only a forward pass can score are asked about
    as many single changes as there is time for.

    Args:
        task: What is asked.
        rejects: The inputs.
        classifier: The model.
        judges: The ladder and the panel.
        context: Time and progress.
        most_rules: Rules that the table keeps.
    """
    deadline, progress = context.clock.search_deadline(len(rejects)), context.report
    acceptance = acceptance_of(task, classifier, judges)
    workshop = workshop_of(task, rejects, judges.ladder, context.num_jobs)
    base = log_odds(rejects.scores.probability)
    counting = acceptance.log_odds(rejects.graphs, base)
    most_nodes = most_nodes_of(acceptance, rejects, deadline)
    singles = workshop.changes(acceptance, progress, base=counting, most_nodes=most_nodes, deadline=deadline)
    composites, complete = Composition(most_changes=task.algorithm.max_changes).search(
        singles, counting, workshop, acceptance, most_nodes=most_nodes, deadline=deadline, progress=progress
    )
    chemistry = _typed_chemistry(judges.ladder) if Rung.parse(task.changes) >= Rung.PLAUSIBLE else None
    table = tabulate(
        singles, composites, workshop, base, acceptance=acceptance, most_rules=most_rules,
        definite=None if chemistry is None else chemistry.aromatic, least_confirmed=0.0 if chemistry is None else LEAST_CONFIRMED,
    )  # fmt: skip
    mined = MinedRules(table=table, workshop=workshop, rejects=rejects, complete=complete)
    return _exactly_applicable(mined, context.num_jobs)


def most_nodes_of(acceptance: Acceptance, rejects: Rejects, deadline: float | None) -> float:
    """Nodes of changed graphs that the model can be shown; with a deadline, as its speed allows. No limit for the package's own networks."""
    if not acceptance.is_asked:
        return np.inf
    if deadline is None or not len(rejects):
        return MOST_ASKED
    sample = GraphBatch.from_graphs(rejects.graphs[:: -(-len(rejects) // _TIMED)])
    begun = time.monotonic()
    acceptance.classifier.accept_probability(sample)
    now = time.monotonic()
    per_second = len(sample.labels) / max(now - begun, 1e-3)
    return min(MOST_ASKED, _SHARE_OF_SINGLES * max(deadline - now, 0.0) * per_second)


def _exactly_applicable(mined: MinedRules, jobs: int) -> MinedRules:
    """The same, with the inputs that every rule can be carried out on according to its pattern.

    Mining knows where each of its changes can be made. Together they may need more room, and nodes that a rule finds may be joined otherwise too.
    """
    rules = [record.rule for record in mined.rules()]
    held = Holders(mined.rejects.graphs).hold(rules, mined.table.incidence().toarray(), jobs)
    return replace(mined, table=replace(mined.table, applicable=np.packbits(held, axis=1)))


def _typed_chemistry(ladder: Ladder) -> MolecularChemistry | None:
    """The chemistry of molecules whose labels say charges and aromaticity, as those of a table do; None of other graphs."""
    chemistry = ladder.chemistry
    return chemistry if isinstance(chemistry, MolecularChemistry) and chemistry.has_types else None


def workshop_of(task: Task[Rules], rejects: Rejects, ladder: Ladder, jobs: int) -> Workshop:
    """Makes and scores changes of the inputs."""
    rung = Rung.parse(task.changes)
    vocabulary = Vocabulary.of(rejects.dataset, rung=rung, theta=task.theta, ladder=ladder)
    return Workshop(inputs=rejects.graphs, vocabulary=vocabulary, jobs=jobs)


def acceptance_of(task: Task[Rules], classifier: Classifier, judges: Judges) -> Acceptance:
    """Who is asked about changed inputs."""
    confirm = Rung.parse(task.changes) == Rung.CONFIRMED
    panel = () if judges.panel is None else tuple(member.classifier for member in judges.panel.members)
    if confirm and not panel:
        raise InputError(f"changes='confirmed' needs a panel. {judges.why_no_panel}")
    needed = None if judges.panel is None else judges.panel.majority
    permission = permission_of(task.algorithm, judges.ladder)
    return Acceptance(classifier=classifier, panel=panel, confirm=confirm, needed=needed, permission=permission)


def permission_of(rules: Rules, ladder: Ladder) -> MolecularPermission | None:
    """What besides the rung limits changes of molecules; None where nothing does.

    Kernels check valences. What is aromatic and charged is looked at where labels say so, and wishes wherever they are stated.
    """
    chemistry, wishes = ladder.chemistry, rules.smarts()
    if not isinstance(chemistry, MolecularChemistry):
        if wishes:
            raise InputError(
                "protect, forbid and only are SMARTS, and for molecules with known atoms (got other graphs)"
            )
        return None
    is_typed = chemistry.has_types and Rung.parse(rules.changes) >= Rung.PLAUSIBLE and has_rdkit()
    if not wishes and not is_typed:
        return None
    avoid_alerts = chemistry.has_types and not rules.allow_alerts and has_rdkit()
    return MolecularPermission(chemistry=chemistry, wishes=wishes, avoid_alerts=avoid_alerts)


def stored_rules(task: Task[Rules], rejects: Rejects, ladder: Ladder, path: Path) -> MinedRules:
    """What mining ended with, read from a file; no model is needed.

    Args:
        task: What was asked.
        rejects: The inputs.
        ladder: The ladder of the dataset.
        path: The table.
    """
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
    workshop = Workshop(inputs=rejects.graphs, vocabulary=vocabulary)
    return MinedRules(table=table, workshop=workshop, rejects=rejects, complete=complete)
