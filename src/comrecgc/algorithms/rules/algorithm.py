"""Rule recourse as an algorithm: mine a table of rules on the rejects, and carry them out on all graphs where the rejects are a sample."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from comrecgc.algorithms.base import Algorithm, Task, option
from comrecgc.algorithms.inputs import Rejects
from comrecgc.algorithms.plausibility import Plausibility
from comrecgc.algorithms.rules.choice import LEAST_TRUTH, RuleFilter
from comrecgc.algorithms.rules.files import save_table
from comrecgc.algorithms.rules.mined import (
    COUNTED_RULES,
    MOST_RULES,
    MinedRules,
    change_scorer_of,
    mine_rules,
    oracle_of,
    stored_rules,
)
from comrecgc.algorithms.rules.population import CensusWork, FullDataset, RuleIndex, take_census
from comrecgc.algorithms.rules.table import MOST_CHANGES
from comrecgc.models import Classifier
from comrecgc.molecules import SmartsWishes
from comrecgc.run import RunContext

RULES = "rules.npz"
"""File of the table of rules in a run folder."""


@dataclass(frozen=True, kw_only=True)
class Rules(Algorithm):
    """Rules: changes in a context, the same for every graph, which a person can carry out; mined exhaustively."""

    name: ClassVar[str] = "rules"
    recourse: ClassVar[str] = "rules"
    default_recourses: ClassVar[int] = 10

    max_changes: int | None = option(
        None,
        "Changes made together, at most; by default 2, and 1 for tables of molecules of which one change turns half.",
        least=1,
        most=3,
    )
    choose: str = option(
        "truth",
        "What rules are chosen for: truth (results that models of other kinds expect to come true) or coverage (results that this model accepts).",
        choices=("truth", "coverage"),
        panel="Trust",
    )
    min_success: float = option(
        0.0, "Least share of the graphs a rule can be carried out on that it turns.", least=0, most=1
    )
    min_support: int = option(1, "Fewest graphs that a rule turns.", least=1)
    max_cost: int | None = option(None, "Most elements that a rule changes.", least=1)
    protect: tuple[str, ...] = option((), "SMARTS of what must stay in a molecule.", panel="Molecules")
    forbid: tuple[str, ...] = option((), "SMARTS of what no result may have.", panel="Molecules")
    only: tuple[str, ...] = option((), "SMARTS of where molecules may change.", panel="Molecules")
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
        "Graphs that are studied where there are more; the rules found are carried out on all.",
        least=1,
        panel="Scale",
    )

    def wishes(self) -> RuleFilter:
        """What chosen rules must be like."""
        return RuleFilter(
            max_changes=self.max_changes or MOST_CHANGES, min_success=self.min_success, min_support=self.min_support, max_cost=self.max_cost,
            confirmed=self.changes == "confirmed", min_truth=LEAST_TRUTH if self.choose == "truth" else 0.0,
        )  # fmt: skip

    def smarts(self) -> SmartsWishes:
        """What a chemist wants kept, avoided or changed."""
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
        """Mine the rejects; the table is kept as soon as there is one."""
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
