"""Explanations: records, assembly from rules or vectors, run folders, and their later use."""

from comrecgc.explanation.assembly import (
    NUMBERS,
    VerifiedCounterfactual,
    effect_words,
    explain_nothing,
    number_facts,
    stored_goal,
    trust_in,
    with_run_facts,
)
from comrecgc.explanation.folder import csv_text, frame_of, molecule_rows
from comrecgc.explanation.records import CommonRecourse, CoveredInput, Explanation, Origin, interval_in, number_in
from comrecgc.explanation.rules import RULES, RuleChooser, at_least, catalogue_of, position_words, rule_figures
from comrecgc.explanation.stored import (
    apply_recourses,
    load_explanation,
    rule_chooser,
    stored_rejects,
    stored_task,
    stored_wishes,
)
from comrecgc.explanation.vectors import Verified, distances, explain_recourses, run_figures

__all__ = [
    "NUMBERS", "RULES", "CommonRecourse", "CoveredInput", "Explanation", "Origin", "RuleChooser", "Verified",
    "VerifiedCounterfactual", "apply_recourses", "at_least", "catalogue_of", "csv_text", "distances", "effect_words",
    "explain_nothing", "explain_recourses", "frame_of", "interval_in", "load_explanation", "molecule_rows",
    "number_facts", "number_in", "position_words", "rule_chooser", "rule_figures", "run_figures", "stored_goal",
    "stored_rejects", "stored_task", "stored_wishes", "trust_in", "with_run_facts",
]  # fmt: skip
